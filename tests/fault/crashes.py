"""Processes that die between two writes: at every point, one after another, under load.

The points are not listed by hand. First everybody writes down which points it passes; then each
member of a role dies at one point after the other, as long as there are any. A process that does
not come to its point is asked to leave, which leads through the points of a drain; if it still
does not die, the point gets another chance, and then counts as missed.

Of engines and servers there is one at a time: another would do what this one is to die of.
"""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Set

from mainspring import Client
from tests.checker.evidence import Fault, now
from tests.fault.cluster import Cluster, Member, Role
from tests.fault.feeding import Feeder
from tests.fault.workload import Books

_BEATS = 12
"""So often has the engine to beat before a process is asked to leave: for longer than a lease."""
_RECORD_BEATS = 120
"""So often at most while everything is written down that there is to pass."""
_CHANCES = 4

Feed = Callable[[], Awaitable[None]]


class Crashes:
    def __init__(self, role: Role, points: Set[str], wanted: Set[str]) -> None:
        """`points` to die at, if they are passed; `wanted` are those that surely are, at work."""
        self._role = role
        self._points = points
        self._wanted = wanted
        self.passed: set[str] = set()
        """Those of the points that processes of this role pass."""
        self._while_leaving: set[str] = set()
        """Those that they pass when they leave, and not before."""
        self.died: set[str] = set()
        self._leaving: list[asyncio.Task[None]] = []

    @property
    def missed(self) -> set[str]:
        return self.passed - self.died

    async def play(self, cluster: Cluster, books: Books) -> None:
        members = [member for member in cluster.members if member.role == self._role]
        several = self._role in ("worker", "far")
        assert several or len(members) == 1, f"{self._role}s would do each other's work"
        for member in members:
            member.tended = False
        async with Client(cluster.client_url, name="feeder") as client:
            feed = Feeder(cluster, books, client).feed if self._role == "engine" else _nothing
            await asyncio.gather(*(_leave(member) for member in members))
            await asyncio.gather(*(self._record(cluster, member, feed) for member in members))
            self.passed &= self._points
            todo = deque((point, _CHANCES) for point in sorted(self.passed))
            await asyncio.gather(
                *(self._die_often(cluster, member, feed, todo) for member in members)
            )
        for member in members:
            member.start()
            member.tended = True
        await asyncio.gather(*self._leaving)

    async def _record(self, cluster: Cluster, member: Member, feed: Feed) -> None:
        """One life of a process from its start to its leave, written down point by point."""
        path = cluster.folder / f"points of {member.name}"
        await feed()
        path.touch()
        member.start(f"record {path}")
        self._come_and_go(cluster)

        def passed() -> set[str]:
            return set(path.read_text("utf-8").splitlines())

        await _live(cluster, member, beats=_RECORD_BEATS, enough=lambda: passed() >= self._wanted)
        at_work = passed()
        await _leave(member)
        everything = passed()
        self._while_leaving |= everything - at_work
        self.passed |= everything

    def _come_and_go(self, cluster: Cluster) -> None:
        """In each life of a server its workers leave, and others come; who cannot waits for it."""
        if self._role == "server":
            self._leaving += [
                asyncio.create_task(_replace(cluster, worker)) for worker in cluster.far
            ]

    async def _die_often(
        self, cluster: Cluster, member: Member, feed: Feed, todo: deque[tuple[str, int]]
    ) -> None:
        while todo:
            point, chances = todo.popleft()
            # One that was met only while leaving, when it was recorded, may be of work after all.
            leaving = point in self._while_leaving and chances == _CHANCES
            await feed()
            # On a slow machine it may take longer: who has lost a chance lives twice as long.
            beats = 1 if leaving else _BEATS * 2 ** (_CHANCES - chances)
            if await self._dies_at(cluster, member, point, beats=beats):
                self.died.add(point)
            elif chances > 1:
                todo.append((point, chances - 1))

    async def _dies_at(self, cluster: Cluster, member: Member, point: str, *, beats: int) -> bool:
        began = now()
        member.start(f"die {point} 1")
        pid = member.pid
        self._come_and_go(cluster)
        await _live(cluster, member, beats=beats)
        killed = await _leave(member) == -signal.SIGKILL
        if killed:
            cluster.faults.write(Fault(began, now(), "crash_point", member.name, pid, point))
            await _bury(cluster, pid)
        return killed


async def _replace(cluster: Cluster, worker: Member) -> None:
    began, pid = now(), worker.pid
    if pid is None:
        return

    async def has_left() -> bool:
        if worker.pid == pid:
            worker.signal(signal.SIGTERM)  # Each one after the first hurries it.
        return worker.pid != pid

    await cluster.until(has_left)
    cluster.faults.write(Fault(began, now(), "drain", worker.name, pid))


async def _nothing() -> None:
    """Workers are fed by callers."""


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
        if began_at is None and (member.role != "engine" or holder == str(member.pid)):
            began_at = shard["beat"]
        at_work = began_at is not None and shard["beat"] >= began_at + beats
        return member.pid is None or at_work or enough()

    await cluster.until(lived)


async def _leave(member: Member) -> int:
    """Ask it to leave, if it is still there; its exit status."""
    member.signal(signal.SIGTERM)
    return await member.ended()
