"""Follow: what the end of a run means for the schedule that made it.

Only for schedules that ask: with an overlap policy, or a limit on failures. Fires that wait in the
buffer start when there is room; runs that a later fire is to replace are stopped; a schedule whose
runs fail again and again is paused. Runs are looked up, not counted at their ends: the hot path
knows nothing of schedules. Each move is a transaction of its own, as at the tick: an engine that
freezes here holds no schedule.
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime

import msgspec

from mainspring.schedule.specs import Overlap, ScheduleSpec
from mainspring.store.connection import Connection, Line
from mainspring.store.runs import Stop, stop_runs
from mainspring.store.schedules import (
    BEGINNING_OF_ROUND,
    StandingSchedule,
    followed_schedules,
    standing_schedules,
)
from mainspring.store.settling import Settler
from mainspring.store.wakeups import Bell

_decode = msgspec.json.Decoder(ScheduleSpec).decode
_STOPS: dict[Overlap, Stop] = {
    Overlap.CANCEL_OTHER: "cancel",
    Overlap.TERMINATE_OTHER: "terminate",
}


_LIMIT = 200
_REST_SECONDS = 0.1


class FollowRuns:
    def __init__(self, line: Line, bell: Bell) -> None:
        self._line = line
        self._bell = bell
        self._settler = Settler()
        self._above = BEGINNING_OF_ROUND

    async def run(self) -> None:
        while True:
            began = time.monotonic()
            await self._line.call(self.step)
            # With very many runs to look at it takes at most a third of the time.
            rest = _REST_SECONDS if self._above == BEGINNING_OF_ROUND else 0.0
            await asyncio.sleep(max(rest, 2 * (time.monotonic() - began)))

    async def step(self, connection: Connection, now: datetime | None = None) -> int:
        """Look at some schedules of which a run has closed or a fire waits; says at how many."""
        followed = await followed_schedules(connection, self._above, _LIMIT)
        self._above = followed.last or BEGINNING_OF_ROUND
        if not followed.schedules:
            return 0
        standing = await standing_schedules(connection, now, followed.schedules)
        moved = await self._settler.settle(connection, standing, now)
        self._bell.ready(moved.lanes)
        for schedule in standing:
            await self._stop_replaced(connection, schedule)
        return len(standing)

    async def _stop_replaced(self, connection: Connection, schedule: StandingSchedule) -> None:
        """Runs that a fire in the buffer is to replace. Asked again until they have closed."""
        waits = schedule.buffered_ids and schedule.open_runs
        stop = _STOPS.get(_decode(schedule.spec).overlap) if waits else None
        if stop is None:
            return
        assert schedule.open_runs is not None
        if await stop_runs(connection, schedule.open_runs, stop):
            self._bell.stop()
