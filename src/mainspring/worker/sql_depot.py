"""The depot of a worker beside the database: its calls are SQL.

Each kind of call has a line of its own, so that none waits for another: one statement in flight,
and whatever piles up meanwhile is the next one's batch.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import time
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import structlog

from mainspring.config import Config
from mainspring.domain.draining import Drain
from mainspring.domain.lanes import EVERY_QUEUE, SlotKind
from mainspring.domain.outcomes import decide
from mainspring.domain.specs import DagSpec
from mainspring.logs.places import Places
from mainspring.store.attempts import (
    Completion,
    complete_attempts,
    end_worker,
    mark_started,
    record_progress,
    register_worker,
    renew_lease,
)
from mainspring.store.connection import Connection, Line
from mainspring.store.dags import ensure_queues, list_queue_ids, read_snapshots, read_versions
from mainspring.store.duties import raise_epoch
from mainspring.store.giving_back import give_back_claims
from mainspring.store.logs import append_log
from mainspring.store.payloads import read_parameters, read_results
from mainspring.store.reading import read_clock
from mainspring.store.schedule_reading import read_schedule_names
from mainspring.store.snapshots import fetch_snapshot
from mainspring.store.uses import Uses
from mainspring.store.wakeups import Bell, listen
from mainspring.worker.clock import DatabaseClock
from mainspring.worker.depot import Beat, Report, Reported, Taker
from mainspring.worker.sql_claims import SqlClaims

log = structlog.get_logger(__name__)

_NEW_QUEUES_SECONDS = 1.0


class SqlDepot:
    def __init__(self, config: Config, url: str, *, name: str) -> None:
        self._leases = config.leases
        self._places = Places(config.home)
        self._url = url
        self._name = name
        self._claim_line = Line(url, name=f"{name} claim", stable_plans=True, greet=raise_epoch)
        self._complete_line = Line(
            url, name=f"{name} complete", stable_plans=True, greet=raise_epoch
        )
        # A line that went dead without a word is given up while there is time for another beat.
        self._beat_line = Line(
            url, name=f"{name} beat", patience_seconds=self._leases.trusted_seconds / 2
        )
        self._aside_line = Line(url, name=f"{name} aside")
        self._log_line = Line(url, name=f"{name} log")
        self._bell_line = Line(url, name=f"{name} notify")
        self._bell = Bell(self._bell_line)
        self._uses = Uses(self._aside_line)
        self._claims = SqlClaims(self._claim_line)
        self._clock = DatabaseClock()
        self._worker_id = 0
        self._queues: list[str] = []
        self._kinds: list[SlotKind] = []

    async def join(
        self,
        *,
        name: str,
        queues: Sequence[str],
        slots: Mapping[SlotKind, int],
        drain: Drain | None = None,
    ) -> int:
        self._queues = list(queues)
        self._kinds = list(slots)
        self._worker_id = await self._beat_line.call(
            register_worker,
            uuid4(),
            name=name,
            host=socket.gethostname(),
            pid=os.getpid(),
            queues=self._queues,
            slots=slots,
            lease_seconds=self._leases.lease_seconds,
            drain=drain,
        )
        if self._queues == [EVERY_QUEUE]:
            await self._serve_new_queues()
        else:
            known = await self._beat_line.call(ensure_queues, self._queues)
            self._claims.serve(known.values(), self._kinds)
        return self._worker_id

    # --- claim -----------------------------------------------------------------------------

    async def supply(self, taker: Taker) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._claims.run(taker, self._worker_id))
            group.create_task(self._bell.run())
            group.create_task(self._uses.run())
            if self._queues == [EVERY_QUEUE]:
                group.create_task(self._queue_loop())

    def slots_freed(self) -> None:
        self._claims.slots_freed()

    async def listen(self, stop: Callable[[], None]) -> None:
        await listen(self._url, ready=self._claims.ready, stop=stop, name=self._name)

    async def _serve_new_queues(self) -> None:
        self._claims.serve(await self._aside_line.call(list_queue_ids), self._kinds)

    async def _queue_loop(self) -> None:
        """Who serves all queues looks for new ones."""
        while True:
            await asyncio.sleep(_NEW_QUEUES_SECONDS)
            await self._serve_new_queues()

    # --- renew -----------------------------------------------------------------------------

    async def renew(
        self,
        known_claims: Callable[[], Sequence[UUID]],
        *,
        draining: bool,
        rates: Mapping[int, float],
    ) -> Beat:
        return await self._beat_line.call(self._beat, known_claims, draining, rates)

    async def _beat(
        self,
        connection: Connection,
        known_claims: Callable[[], Sequence[UUID]],
        draining: bool,
        rates: Mapping[int, float],
    ) -> Beat:
        # What tells the time writes nothing: a renewal answers when its commit is on disk.
        asked_ns = time.time_ns()
        now = await read_clock(connection)
        answered_ns = time.time_ns()
        self._clock.learn(now, asked_ns, answered_ns)
        sent_at = time.monotonic()
        renewed = await renew_lease(
            connection,
            self._worker_id,
            known_claims(),
            draining=draining,
            claims_known_after=timedelta(seconds=self._leases.renew_seconds),
            rates=rates,
        )
        return Beat(
            now,
            renewed.unknown_claims,
            renewed.stops,
            renewed.drain,
            sent_at,
            asked_ns,
            answered_ns,
        )

    async def give_back(
        self, claims: Sequence[UUID], reason: str, begun: Set[tuple[int, int]] = frozenset()
    ) -> None:
        self._wake(
            await give_back_claims(
                self._beat_line, self._worker_id, claims, reason, self._clock.now_us(), begun
            )
        )

    async def leave(self) -> None:
        await self._uses.flush()
        try:
            await self._beat_line.call(end_worker, self._worker_id, "stopped")
        except asyncpg.ForeignKeyViolationError:
            # A claim whose answer was lost is still there; the reaper will find it.
            log.warning("the lease is left to the engine")

    # --- complete --------------------------------------------------------------------------

    async def complete(
        self,
        reports: Sequence[Report],
        *,
        emptied: Sequence[UUID],
        grant_claim: UUID,
        offered: Mapping[SlotKind, int],
    ) -> Reported:
        completed = await self._complete_line.call(
            complete_attempts,
            self._worker_id,
            [_completion(report) for report in reports],
            emptied=emptied,
            grant_claim=grant_claim,
            grant_slots=self._shared_out(offered),
        )
        self._wake(completed.lanes)
        refused = completed.refused
        self._uses.add(
            (claimed.task_id, claimed.term, use)
            for claimed, use in ((report.claimed, report.use) for report in reports)
            if use is not None and (claimed.task_id, claimed.term) not in refused
        )
        superseded = [key for key, reason in refused.items() if reason == "superseded"]
        return Reported(superseded, refused, completed.grants)

    def lanes_of(self, kind: SlotKind) -> int:
        return sum(1 for its_kind in self._claims.lanes.values() if its_kind == kind)

    def _shared_out(self, offered: Mapping[SlotKind, int]) -> dict[int, int]:
        """Slots by lane: as many in each lane of a kind, or one in each while there are any."""
        slots: dict[int, int] = {}
        for kind, count in offered.items():
            lanes = [lane for lane, its_kind in self._claims.lanes.items() if its_kind == kind]
            share = max(count // len(lanes), 1)
            for lane in lanes:
                if given := min(share, count):
                    slots[lane] = given
                    count -= given
        return slots

    def _wake(self, lanes: set[int]) -> None:
        self._bell.ready(lanes)
        self._claims.ready(lanes)

    # --- tell ------------------------------------------------------------------------------

    async def mark_started(self, started: Sequence[tuple[int, int, int]]) -> None:
        await self._aside_line.call(mark_started, self._worker_id, started)

    async def record_progress(self, told: Mapping[tuple[int, int], tuple[float, str]]) -> None:
        await self._aside_line.call(record_progress, told)

    async def append_log(self, chunks: Sequence[tuple[int, int, int, bytes]]) -> None:
        await self._log_line.call(append_log, chunks)

    # --- read ------------------------------------------------------------------------------

    async def read_versions(self, ids: Sequence[int]) -> Mapping[int, DagSpec]:
        return await self._aside_line.call(read_versions, ids)

    async def read_schedule_names(self, ids: Sequence[int]) -> Mapping[int, str]:
        return await self._aside_line.call(read_schedule_names, ids)

    async def read_results(self, task_ids: Sequence[int]) -> Mapping[int, bytes | None]:
        return await self._aside_line.call(read_results, task_ids)

    async def read_parameters(self, run_ids: Sequence[int]) -> Mapping[int, bytes]:
        return await self._aside_line.call(read_parameters, run_ids)

    async def read_snapshots(self, ids: Sequence[int]) -> Mapping[int, str]:
        return await self._aside_line.call(read_snapshots, ids)

    async def fetch_snapshot(self, snapshot_id: int) -> bytes | None:
        return await fetch_snapshot(self._aside_line.call, snapshot_id, self._places.read)

    async def close(self) -> None:
        for line in (
            self._claim_line,
            self._complete_line,
            self._beat_line,
            self._aside_line,
            self._log_line,
            self._bell_line,
        ):
            await line.close()


def _completion(report: Report) -> Completion:
    claimed = report.claimed
    return Completion(
        claimed.task_id,
        claimed.term,
        claimed.claim_id,
        claimed.run_id if claimed.many else None,
        decide(report.outcome, report.task, claimed.attempt, claimed.lost, random.random()),
        report.started_us,
        report.finished_us,
        chained=report.chained,
    )
