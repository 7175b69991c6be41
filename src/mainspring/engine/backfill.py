"""Backfill: instants of the past become runs, as many at a time as their backfill allows.

Each step of a backfill is a transaction of one statement, guarded by the turn that was read, so an
engine that freezes here holds nothing and one that dies leaves nothing half done: whoever comes
next reads how far it is and goes on. Runs are looked up, not counted at their ends, as for
schedules.
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime

from mainspring import faults
from mainspring.store.backfilling import Stepper
from mainspring.store.backfills import going_backfills
from mainspring.store.connection import Connection, Line
from mainspring.store.wakeups import Bell

_LIMIT = 100
_REST_SECONDS = 0.1
_STEPS_IN_A_ROW = 10
"""So that a backfill with much to pass by does not keep others waiting."""


class Backfill:
    def __init__(self, line: Line, bell: Bell) -> None:
        self._line = line
        self._bell = bell
        self._stepper = Stepper()
        self._above = 0

    async def run(self) -> None:
        while True:
            began = time.monotonic()
            again = await self._line.call(self.step)
            # With very many runs to look at it takes at most a third of the time.
            rest = 0.0 if again else _REST_SECONDS
            await asyncio.sleep(max(rest, 2 * (time.monotonic() - began)))

    async def step(self, connection: Connection, now: datetime | None = None) -> bool:
        """Step some backfills; says whether there is more to do at once."""
        ids = await going_backfills(connection, self._above, _LIMIT)
        self._above = ids[-1] if len(ids) >= _LIMIT else 0
        again = False
        for backfill_id in ids:
            again |= await self._go_on(connection, backfill_id, now)
        return again

    async def _go_on(self, connection: Connection, backfill_id: int, now: datetime | None) -> bool:
        for _ in range(_STEPS_IN_A_ROW):
            stepped = await self._stepper.step(connection, backfill_id, now)
            faults.point("a backfill has moved and nobody was woken")
            self._bell.ready(stepped.lanes)
            if not (stepped.moved and stepped.more):
                return False
        return True
