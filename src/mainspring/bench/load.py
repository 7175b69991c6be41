"""Who makes the runs: a flood that keeps a queue full, or so many a second."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from mainspring.bench import tables
from mainspring.store.connection import Connection
from mainspring.store.dags import DagRow
from mainspring.store.ids import Ids
from mainspring.store.runs import NewRun, create_runs
from mainspring.store.wakeups import notify_ready

TICK_SECONDS = 0.01
_LOOK_SECONDS = 0.1
_BATCH_MAX = 2_000


class Load:
    """Makes runs over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ids = Ids()
        self.made = 0

    async def make(
        self,
        dag: DagRow,
        count: int,
        *,
        due_at: Sequence[datetime] = (),
        parameters: bytes | None = None,
    ) -> list[int]:
        """`count` runs of one dag, each with a parameter `x` if it takes one; their ids."""
        width = len(dag.spec.tasks)
        first = await self._ids.take(self._connection, count * width)
        ids = [first + number * width for number in range(count)]
        takes_x = parameters is None and bool(dag.spec.parameters)
        created = await create_runs(
            self._connection,
            [
                NewRun(
                    run_id,
                    dag.version_id,
                    dag.snapshot_id,
                    parameters=b'{"x":%d}' % (run_id % 1000) if takes_x else parameters,
                    due_at=due,
                )
                for run_id, due in itertools.zip_longest(ids, due_at)
            ],
        )
        await notify_ready(self._connection, created.lanes)
        self.made += count
        return ids


class Flood:
    """Keeps about `queued` runs waiting.

    How many are left is judged by the last run of every batch: they end nearly in order, so the
    error is less than a batch, and looking costs a few lookups by id.
    """

    def __init__(
        self,
        load: Load,
        watch: Connection,
        dags: Sequence[DagRow],
        *,
        queued: int,
        batch: int,
    ) -> None:
        self._load = load
        self._watch = watch
        self._dags = itertools.cycle(dags)
        self._queued = queued
        self._batch = batch
        self._open: deque[tuple[int, int]] = deque()
        """Last run and size of each batch that is not done."""
        self._room = asyncio.Event()
        self.waiting = 0
        self.done = 0

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look())
            group.create_task(self._pour())

    async def _pour(self) -> None:
        while True:
            while self.waiting >= self._queued:
                self._room.clear()
                await self._room.wait()
            ids = await self._load.make(next(self._dags), self._batch)
            self._open.append((ids[-1], self._batch))
            self.waiting += self._batch

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            closed = await tables.closed_runs(self._watch, [last for last, _ in self._open])
            gone = sum(size for last, size in self._open if last in closed)
            self._open = deque(batch for batch in self._open if batch[0] not in closed)
            self.waiting -= gone
            self.done += gone
            self._room.set()


class Offer:
    """So many runs a second, in ticks.

    A run is due at its tick whether the generator is on time or not: when it falls behind, that
    counts as lag and is not hidden by a later start.
    """

    def __init__(self, load: Load, dag: DagRow, rate: int) -> None:
        self._load = load
        self._dag = dag
        self._rate = rate

    async def run(self, clock_ahead_seconds: float, stop: Callable[[], bool]) -> None:
        began = time.monotonic()
        # By the database's clock, and never ahead of it: what is due later goes by another road.
        epoch = datetime.fromtimestamp(time.time() + clock_ahead_seconds, UTC)
        tick = 0
        due: deque[datetime] = deque()
        while not stop():
            current = int((time.monotonic() - began) / TICK_SECONDS)
            while tick < current:
                tick += 1
                share = _made_by(tick, self._rate) - _made_by(tick - 1, self._rate)
                due.extend([epoch + timedelta(seconds=tick * TICK_SECONDS)] * share)
            if due:
                batch = [due.popleft() for _ in range(min(len(due), _BATCH_MAX))]
                await self._load.make(self._dag, len(batch), due_at=batch)
            if not due:
                wait = began + (tick + 1) * TICK_SECONDS - time.monotonic()
                await asyncio.sleep(max(wait, 0))


def _made_by(tick: int, rate: int) -> int:
    """Runs that are due up to a tick."""
    return int(tick * TICK_SECONDS * rate + 1e-9)


async def clock_ahead_seconds(connection: Connection, tries: int = 20) -> float:
    """How far the database's clock is ahead of ours, at least: never too much."""
    best: tuple[float, float] | None = None
    for _ in range(tries):
        asked = time.time()
        there = await tables.now(connection)
        answered = time.time()
        ahead = there.timestamp() - answered
        if best is None or answered - asked < best[0]:
            best = (answered - asked, ahead)
    assert best is not None
    return best[1]
