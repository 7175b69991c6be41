"""Retain: history that is too old goes, and periods for the ids to come are opened."""

from __future__ import annotations

from datetime import datetime, timedelta

from mainspring.store.connection import Connection
from mainspring.store.history import KEYS_KEPT, open_periods, prune_step
from mainspring.store.reading import read_clock


class Retain:
    name = "retain"
    limit = 1000
    # Periods reach 20 million ids ahead: at 100,000 ids a second that is 200 s.
    rest_seconds = 10.0

    def __init__(self, keep: timedelta) -> None:
        self._keep = keep

    async def step(self, tx: Connection, now: datetime | None, limit: int) -> int:
        now = now or await read_clock(tx)
        await open_periods(tx)
        pruned = await prune_step(
            tx,
            finished_before=now - self._keep,
            keys_before=now - min(self._keep, KEYS_KEPT),
            limit=limit,
        )
        # A dropped period may be followed by another at once.
        return limit if pruned.periods else max(pruned.keys, pruned.runs)

    def settle(self) -> None:
        """Nobody waits for what is gone."""
