"""Processes that die between two writes: at every point, one after another, under load.

The points are not listed by hand. First everybody writes down which points it passes; then each
member of a role dies at one point after the other, as long as there are any. A process that does
not come to its point is asked to leave, which leads through the points of a drain; if it still
does not die, the point gets another chance, and then counts as missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

from mainspring.schedule.backfilling import Reprocess
from mainspring.schedule.specs import IntervalSpec, ScheduleSpec
from mainspring.store.backfill_orders import BackfillOrder, create_backfill, reserve_backfill
from mainspring.store.connection import Connection
from tests.checker.evidence import Fault, now
from tests.fault.cluster import Cluster, Member, Role

_BEATS = 12
"""So often has the engine to beat before a process is asked to leave: for longer than a lease."""
_RECORD_BEATS = 80
"""So often at most while everything is written down that there is to pass."""
_CHANCES = 4
_KILL_SECONDS = 3.0


class Crashes:
    def __init__(self, role: Role, points: set[str], wanted: set[str]) -> None:
        """`points` to die at, if they are passed; `wanted` are those that surely are."""
        self._role = role
        self._points = points
        self._wanted = wanted
        self._numbers = itertools.count(1)
        self.passed: set[str] = set()
        """Those of the points that processes of this role pass."""
        self._while_leaving: set[str] = set()
        """Those that they pass when they leave, and not before."""
        self.died: set[str] = set()

    @property
    def missed(self) -> set[str]:
        return self.passed - self.died

    async def play(self, cluster: Cluster) -> None:
        members = [member for member in cluster.members if member.role == self._role]
        for member in members:
            member.tended = False
        async with self._enough_to_do(cluster):
            # Of engines one does the duties at a time: the others would wait for it to leave.
            recording = members[:1] if self._role == "engine" else members
            await asyncio.gather(*(_leave(member) for member in members))
            await asyncio.gather(*(self._record(cluster, member) for member in recording))
            self.passed &= self._points
            todo = deque((point, _CHANCES) for point in sorted(self.passed))
            await asyncio.gather(*(self._die_often(cluster, member, todo) for member in members))
        for member in members:
            member.start()
            member.tended = True

    async def _record(self, cluster: Cluster, member: Member) -> None:
        """One life of a process from its start to its leave, written down point by point."""
        path = cluster.folder / f"points of {member.name}"
        await self._feed(cluster)
        path.touch()
        member.start(f"record {path}")

        def passed() -> set[str]:
            return set(path.read_text("utf-8").splitlines())

        await _live(cluster, member)
        if self._role == "engine":
            # A worker has to be reaped meanwhile.
            enough = lambda: passed() >= self._wanted  # noqa: E731
            await _live(cluster, member, beats=_RECORD_BEATS, enough=enough)
        at_work = passed()
        await _leave(member)
        everything = passed()
        self._while_leaving |= everything - at_work
        self.passed |= everything

    async def _die_often(
        self, cluster: Cluster, member: Member, todo: deque[tuple[str, int]]
    ) -> None:
        while todo:
            point, chances = todo.popleft()
            # One that was met only while leaving, when it was recorded, may be of work after all.
            leaving = point in self._while_leaving and chances == _CHANCES
            if await self._dies_at(cluster, member, point, beats=1 if leaving else _BEATS):
                self.died.add(point)
            elif chances > 1:
                todo.append((point, chances - 1))

    async def _dies_at(self, cluster: Cluster, member: Member, point: str, *, beats: int) -> bool:
        await self._feed(cluster)
        began = now()
        member.start(f"die {point} 1")
        pid = member.pid
        await _live(cluster, member, beats=beats)
        killed = await _leave(member) == -signal.SIGKILL
        if killed:
            cluster.faults.write(Fault(began, now(), "crash_point", member.name, pid, point))
            await _bury(cluster, pid)
        return killed

    # --- what seldom happens by itself -----------------------------------------------------

    @contextlib.asynccontextmanager
    async def _enough_to_do(self, cluster: Cluster) -> AsyncIterator[None]:
        """Engines have workers to reap."""
        killing = asyncio.create_task(self._kill_workers(cluster))
        try:
            yield
        finally:
            killing.cancel()
            await asyncio.gather(killing, return_exceptions=True)

    async def _kill_workers(self, cluster: Cluster) -> None:
        if self._role == "engine":
            for worker in itertools.cycle(cluster.workers):
                await asyncio.sleep(_KILL_SECONDS)
                at, pid = now(), worker.signal(signal.SIGKILL)
                if pid is not None:
                    cluster.faults.write(Fault(at, now(), "kill", worker.name, pid))

    async def _feed(self, cluster: Cluster) -> None:
        """Engines find a new dag, a backfill, and ids near the end of the last period."""
        if self._role == "engine":
            number = next(self._numbers)
            cluster.write_dags(f"fresh_{number}.py", _FRESH.format(number=number))
            await cluster.line.call(_backfill)
            # Forward only: ids must never be handed out twice.
            await cluster.rows(
                "select setval('mainspring.id_block',"
                " greatest(nextval('mainspring.id_block'), max(until_id) - 10000000))"
                " from mainspring.period"
            )


async def _backfill(connection: Connection) -> None:
    """A few runs of the past, one after the other."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    order = BackfillOrder(
        since=begin,
        until=begin + timedelta(hours=4),
        dag="single_async",
        spec=ScheduleSpec(when=(IntervalSpec(3600),)),
        parameters={"seconds": 0.01},
        reprocess=Reprocess.ALL,
        priority=9,
    )
    await create_backfill(connection, await reserve_backfill(connection), order, by="crashes")


async def _bury(cluster: Cluster, pid: int | None) -> None:
    """What the dead held is free: how long others wait for it is for the storms to find out."""
    await cluster.rows(
        "update mainspring.shard set holder = null, holder_name = null, beat = beat + 1"
        " where holder_name like '%:' || $1::int",
        pid,
    )


async def _live(
    cluster: Cluster,
    member: Member,
    *,
    beats: int = _BEATS,
    enough: Callable[[], bool] = lambda: False,
) -> None:
    """Until it is dead, or has been at work for long enough to have met everything."""
    began_at: int | None = None

    async def lived() -> bool:
        nonlocal began_at
        [shard] = await cluster.rows(
            "select beat, holder_name from mainspring.shard where number = 0"
        )
        holder = str(shard["holder_name"]).rpartition(":")[2]
        if began_at is None and (member.role == "worker" or holder == str(member.pid)):
            began_at = shard["beat"]
        at_work = began_at is not None and shard["beat"] >= began_at + beats
        return member.pid is None or at_work or enough()

    await cluster.until(lived)


async def _leave(member: Member) -> int:
    """Ask it to leave, if it is still there; its exit status."""
    member.signal(signal.SIGTERM)
    return await member.ended()


_FRESH = """\
from mainspring import dag, task

@task(queue="fresh_{number}")
async def first():
    pass

@task
async def second():
    pass

@dag
def fresh_{number}():
    first() >> second()
"""
