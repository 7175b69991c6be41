"""Wake: what is due becomes ready. Backoffs that are over, runs whose start time has come."""

from __future__ import annotations

from datetime import datetime

from mainspring.store.connection import Connection
from mainspring.store.duties import wake_backoff, wake_starts
from mainspring.store.wakeups import Notifier


class Wake:
    name = "wake"
    limit = 500
    # The lateness that a due task can meet when nothing else is in the way.
    rest_seconds = 0.05

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._lanes: set[int] = set()

    async def step(self, tx: Connection, now: datetime | None, limit: int) -> int:
        backoff = await wake_backoff(tx, now, limit)
        starts = await wake_starts(tx, now, limit)
        self._lanes = backoff.lanes | starts.lanes
        return max(backoff.due, starts.due)

    def settle(self) -> None:
        self._notifier.ready(self._lanes)
