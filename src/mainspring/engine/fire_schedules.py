"""Fire: what is due becomes runs, at the instant that it is due.

Every engine does this, for the shards that it holds and for whatever is overdue. It does so over
two connections, each for half of the shards: while the database carries out what one has decided,
the other decides. Between two looks
it sleeps until the next fire, but not for long: somebody may have made an earlier one. A frozen
engine holds nothing, since each move is one statement in a transaction of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from mainspring import faults
from mainspring.engine.shards import Shards
from mainspring.store.connection import Connection, Line
from mainspring.store.schedules import due_schedules, next_due
from mainspring.store.settling import Settler
from mainspring.store.shards import ALL_SHARDS
from mainspring.store.wakeups import Bell

_REST_SECONDS = 0.1
LINES = 2
_LIMIT = 500
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_LOOKS_BETWEEN_RESCANS = 20


class FireSchedules:
    def __init__(
        self, line: Line, shards: Shards, bell: Bell, among: Collection[int] = ALL_SHARDS
    ) -> None:
        self._line = line
        self._shards = shards
        self._bell = bell
        self._among = among
        """The shards that this one looks at, if they are held or overdue."""
        self._settler = Settler()
        self._looks = 0
        self._look_from = _BEGINNING

    async def run(self) -> None:
        while True:
            if await self._line.call(self.step) < _LIMIT:
                await asyncio.sleep(await self._line.call(_rest_seconds))

    async def step(self, connection: Connection, now: datetime | None = None) -> int:
        """Move schedules that are due; says how many were."""
        held = [number for number in self._shards.held() if number in self._among]
        due = await due_schedules(
            connection, now, held, self._floor(now), _LIMIT, among=self._among
        )
        if due:
            moved = await self._settler.settle(connection, due, now)
            faults.point("schedules have moved and nobody was woken")
            self._bell.ready(moved.lanes)
            self._look_from = due[0].next_fire_at or _BEGINNING
        return len(due)

    def _floor(self, now: datetime | None) -> datetime:
        """A hint, as with claims: what lies before are dead rows, mostly. A change by hand or a
        late commit may lie there, too, so now and then it looks from the beginning."""
        self._looks += 1
        if now is not None or self._looks % _LOOKS_BETWEEN_RESCANS == 0:
            return _BEGINNING
        return self._look_from - timedelta(seconds=2)


async def _rest_seconds(connection: Connection) -> float:
    now, next_fire_at = await next_due(connection, None)
    if next_fire_at is None:
        return _REST_SECONDS
    return min(_REST_SECONDS, max(0.0, (next_fire_at - now).total_seconds()))
