"""Wake: what is due becomes ready. Backoffs that are over, runs whose start time has come.

Each step is for one kind of timer. Both in one transaction would lock tasks out of the order of
their ids, and wait in a circle with whoever stops several runs.
"""

from __future__ import annotations

import itertools
from datetime import datetime

from mainspring.store.connection import Connection
from mainspring.store.duties import wake_backoff, wake_starts
from mainspring.store.wakeups import Bell


class Wake:
    name = "wake"
    limit = 500
    # The lateness that a due task can meet when nothing else is in the way.
    rest_seconds = 0.05

    def __init__(self, bell: Bell) -> None:
        self._bell = bell
        self._kinds = itertools.cycle((wake_backoff, wake_starts))
        self._lanes: set[int] = set()

    async def step(self, tx: Connection, now: datetime | None, limit: int) -> int:
        wake = next(self._kinds)
        woken = await wake(tx, now, limit)
        self._lanes = woken.lanes
        # It rests after the second kind only.
        return limit if wake is wake_backoff else woken.due

    def settle(self) -> None:
        self._bell.ready(self._lanes)
