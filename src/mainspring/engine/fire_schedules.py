"""Fire: what is due becomes runs, at the instant that it is due.

Every engine does this, for the shards that it holds and for whatever is overdue. It does so over
two connections, each for half of the shards: while the database carries out what one has decided,
the other decides. Between two looks it sleeps until the next fire, but not for long: somebody may
have made an earlier one. A frozen engine holds nothing, since each move is one statement in a
transaction of its own.

What was due within the last minute comes first, and then a few of those that are further behind:
however many schedules have much to catch up, the others are on time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from mainspring import faults
from mainspring.engine.shards import Shards
from mainspring.observe.measures import Measures
from mainspring.store.connection import Connection, Line
from mainspring.store.schedules import Moved, StandingSchedule, due_schedules, next_due
from mainspring.store.settling import Settler
from mainspring.store.shards import ALL_SHARDS
from mainspring.store.wakeups import Bell

_REST_SECONDS = 0.1
LINES = 2
_LIMIT = 500
BEHIND_LIMIT = 20
"""Of those that have more to catch up: each may make a hundred runs at a time."""
_BEHIND = timedelta(seconds=60)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_LOOKS_BETWEEN_RESCANS = 20


class FireSchedules:
    def __init__(
        self,
        line: Line,
        shards: Shards,
        bell: Bell,
        among: Collection[int] = ALL_SHARDS,
        measures: Measures | None = None,
    ) -> None:
        self._line = line
        self._shards = shards
        self._bell = bell
        self._among = among
        """The shards that this one looks at, if they are held or overdue."""
        self._measures = measures or Measures("engine")
        self._settler = Settler()
        self._looks = 0
        self._recent = _BEGINNING
        """A minute before the database's time, as far as we know it."""
        self._more_behind = True

    async def run(self) -> None:
        while True:
            found = await self._line.call(self.step)
            if found < _LIMIT and not self._more_behind:
                await asyncio.sleep(await self._line.call(self._rest_seconds))

    async def step(self, connection: Connection, now: datetime | None = None) -> int:
        """Move schedules that are due; says how many were."""
        if now is not None:
            self._recent = now - _BEHIND
        due, _ = await self._look(connection, now, self._recent, None, _LIMIT)
        return due + await self._catch_up(connection, now)

    async def _catch_up(self, connection: Connection, now: datetime | None) -> int:
        """Some of those that are further behind.

        While there are none it looks now and then: what lies there are dead rows, mostly, and
        nobody should wade through these at each tick.
        """
        self._looks += 1
        rescan = now is not None or self._looks % _LOOKS_BETWEEN_RESCANS == 0
        if not rescan and not self._more_behind:
            return 0
        behind, moved = await self._look(connection, now, _BEGINNING, self._recent, BEHIND_LIMIT)
        self._more_behind = moved > 0
        return behind

    async def _look(
        self,
        connection: Connection,
        now: datetime | None,
        look_from: datetime,
        look_until: datetime | None,
        limit: int,
    ) -> tuple[int, int]:
        """How many were due, and how many of them have moved."""
        held = [number for number in self._shards.held() if number in self._among]
        due = await due_schedules(
            connection, now, held, look_from, limit, among=self._among, look_until=look_until
        )
        if not due:
            return 0, 0
        self._recent = due[0].now - _BEHIND
        read_at = time.monotonic()
        moved = await self._settler.settle(connection, due, now)
        self._measure(due, moved, time.monotonic() - read_at)
        faults.point("schedules have moved and nobody was woken")
        self._bell.ready(moved.lanes)
        return sum(each.many for each in due), len(moved.schedules)

    def _measure(
        self, due: Sequence[StandingSchedule], moved: Moved, settling_seconds: float
    ) -> None:
        self._measures.add("mainspring_fires_total", len(moved.schedules))
        for each in due:
            if each.schedule_id in moved.schedules and each.next_fire_at is not None:
                late = (each.now - each.next_fire_at).total_seconds() + settling_seconds
                self._measures.took("mainspring_fire_late_seconds", late, each.many)

    async def _rest_seconds(self, connection: Connection) -> float:
        now, next_fire_at = await next_due(connection, None)
        self._recent = now - _BEHIND
        if next_fire_at is None:
            return _REST_SECONDS
        return min(_REST_SECONDS, max(0.0, (next_fire_at - now).total_seconds()))
