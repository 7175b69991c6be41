"""Fires schedules, and runs the single duties while this engine holds their shard.

Any number of engines fire at the same time, each for its share of the schedules. The duties are
for one: others stand by.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Sequence
from uuid import uuid4

import structlog

from mainspring.config import Config
from mainspring.engine.archive import Archive
from mainspring.engine.audit import Audit
from mainspring.engine.backfill import Backfill
from mainspring.engine.deadlines import Deadlines
from mainspring.engine.duty import Duty, run_duty
from mainspring.engine.fire_schedules import LINES, FireSchedules
from mainspring.engine.follow_runs import FollowRuns
from mainspring.engine.move_logs import MoveLogs
from mainspring.engine.notify import Notify
from mainspring.engine.read_dags import ReadDags
from mainspring.engine.reap import Reap
from mainspring.engine.retain import Retain
from mainspring.engine.shard import ShardLease
from mainspring.engine.shards import Shards
from mainspring.engine.shift import Shift
from mainspring.engine.wake import Wake
from mainspring.observe.measures import Measures
from mainspring.store.connection import Line
from mainspring.store.duties import raise_epoch
from mainspring.store.shards import ALL_SHARDS
from mainspring.store.wakeups import Bell

log = structlog.get_logger(__name__)


class Engine:
    def __init__(self, config: Config, url: str, measures: Measures) -> None:
        self._config = config
        self._url = url
        self._measures = measures
        self._leads = False
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        """Until `stop` is called: hold the shard and do the duties, or wait for the shard."""
        name, engine = f"{socket.gethostname()}:{os.getpid()}", uuid4()
        line = Line(self._url, name="engine shard", greet=raise_epoch)
        bell_line = Line(self._url, name="engine bell")
        fire_lines = [Line(self._url, name="engine fire", stable_plans=True) for _ in range(LINES)]
        bell = Bell(bell_line)
        shard, shards = ShardLease(line, engine, name), Shards(line, engine, name)
        self._measures.show("mainspring_shards_held", lambda: len(shards.held()))
        self._measures.show("mainspring_engine_leads", lambda: float(self._leads))
        always = [
            asyncio.create_task(bell.run()),
            asyncio.create_task(shards.run()),
            asyncio.create_task(ReadDags(self._config, self._url).run()),
            *(
                asyncio.create_task(
                    FireSchedules(each, shards, bell, ALL_SHARDS[i::LINES], self._measures).run()
                )
                for i, each in enumerate(fire_lines)
            ),
        ]
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            while not self._stopping.is_set():
                if await _first(asyncio.create_task(shard.acquire()), stopping, always):
                    log.info("engine holds the shard", engine=name)
                    await self._do_duties(shard, bell, stopping, always)
        finally:
            await _cancel(always)
            if self._stopping.is_set():
                # Without an answer the shards free themselves when their lease is over.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(5):
                        await shards.free()
                    async with asyncio.timeout(5):
                        await shard.free()
            for each in (line, bell_line, *fire_lines):
                await each.close()

    async def _do_duties(
        self,
        shard: ShardLease,
        bell: Bell,
        stopping: asyncio.Task[bool],
        always: Sequence[asyncio.Task[None]],
    ) -> None:
        reap_line = Line(self._url, name="engine reap", greet=raise_epoch)
        duties: list[tuple[Duty, Line]] = [
            (Wake(bell), Line(self._url, name="engine wake", stable_plans=True)),
            (Deadlines(bell), Line(self._url, name="engine deadlines")),
            (self._reap(bell, reap_line), reap_line),
            (Audit(bell), Line(self._url, name="engine audit")),
            (Shift(bell), Line(self._url, name="engine shift")),
            (Archive(), Line(self._url, name="engine archive")),
            (Retain(self._config.keep), Line(self._url, name="engine retain")),
        ]
        move_line = Line(self._url, name="engine logs")
        notify_line = Line(self._url, name="engine notify")
        follow_line = Line(self._url, name="engine follow", stable_plans=True)
        backfill_line = Line(self._url, name="engine backfill", stable_plans=True)
        tasks = [
            asyncio.create_task(FollowRuns(follow_line, bell).run()),
            asyncio.create_task(Backfill(backfill_line, bell).run()),
            asyncio.create_task(MoveLogs(self._config, move_line).run()),
            asyncio.create_task(Notify(notify_line).run()),
            *(asyncio.create_task(run_duty(duty, line)) for duty, line in duties),
        ]
        self._leads = True
        keeping = asyncio.create_task(shard.keep())
        watching = asyncio.create_task(shard.until_distrusted())
        try:
            # A duty never returns; if one dies, so does the engine, loudly.
            await asyncio.wait(
                [keeping, watching, stopping, *tasks, *_lasting(always)],
                return_when=asyncio.FIRST_COMPLETED,
            )
            _raise_failure([*tasks, *always])
        finally:
            self._leads = False
            await _cancel([keeping, watching, *tasks])
            for _, line in duties:
                await line.close()
            for each in (move_line, notify_line, follow_line, backfill_line):
                await each.close()

    def _reap(self, bell: Bell, line: Line) -> Reap:
        return Reap(bell, connection_losses=lambda: line.broken, measures=self._measures)


async def _first(
    wanted: asyncio.Task[None],
    stopping: asyncio.Task[bool],
    always: Sequence[asyncio.Task[None]],
) -> bool:
    """Whether `wanted` came before the stop."""
    try:
        await asyncio.wait(
            [wanted, stopping, *_lasting(always)], return_when=asyncio.FIRST_COMPLETED
        )
        _raise_failure(always)
        if wanted.done():
            wanted.result()
            return True
        return False
    finally:
        await _cancel([wanted])


def _lasting(tasks: Sequence[asyncio.Task[None]]) -> list[asyncio.Task[None]]:
    """Those that are not over, as the reading of a folder that nobody has set is."""
    return [task for task in tasks if not task.done()]


def _raise_failure(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done():
            task.result()


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
