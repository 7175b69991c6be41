"""Deadlines: runs that took longer than their timeout are stopped and fail."""

from __future__ import annotations

from datetime import datetime

from mainspring.store.connection import Connection
from mainspring.store.duties import due_deadlines
from mainspring.store.runs import stop_runs
from mainspring.store.wakeups import Bell


class Deadlines:
    name = "deadlines"
    limit = 50
    rest_seconds = 0.25

    def __init__(self, bell: Bell) -> None:
        self._bell = bell
        self._noted = 0

    async def step(self, tx: Connection, now: datetime | None, limit: int) -> int:
        overdue = await due_deadlines(tx, now, limit)
        self._noted = 0
        if overdue.runs:
            self._noted = await stop_runs(tx, overdue.runs, "deadline", now=now)
        return overdue.due

    def settle(self) -> None:
        if self._noted:
            self._bell.stop()
