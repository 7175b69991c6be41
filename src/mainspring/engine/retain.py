"""Retain: history that is too old goes, and periods for the ids to come are opened.

Statistics of old minutes become part of those of hours, and then of days.

With it goes the progress of attempts that are over, which nobody shows any more, jobs that are over
when their last run is gone, and the code that nobody could run any more.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from mainspring.store.attempts import forget_progress
from mainspring.store.backfills import forget_backfills
from mainspring.store.connection import Connection
from mainspring.store.history import KEYS_KEPT, open_periods, prune_step
from mainspring.store.jobs import forget_jobs
from mainspring.store.reading import read_clock
from mainspring.store.rollups import fold_rollups
from mainspring.store.snapshots import UNUSED_KEPT, forget_snapshots

_JOBS_EVERY = timedelta(minutes=1)
_ROLLUPS_EVERY = timedelta(minutes=1)
_SNAPSHOTS_EVERY = timedelta(minutes=10)
_SNAPSHOTS_MAX = 10
"""Let go of at a time; each may be 20 MB."""


class Retain:
    name = "retain"
    limit = 1000
    # Periods reach 20 million ids ahead: at 100,000 ids a second that is 200 s.
    rest_seconds = 10.0

    def __init__(self, keep: timedelta) -> None:
        self._keep = keep
        self._snapshots_due_at: datetime | None = None
        self._jobs_due_at: datetime | None = None
        self._jobs_above = 0
        self._rollups_due_at: datetime | None = None

    async def step(self, tx: Connection, now: datetime | None, limit: int) -> int:
        now = now or await read_clock(tx)
        await open_periods(tx)
        forgotten = await forget_progress(tx, limit)
        forgotten = max(forgotten, await forget_backfills(tx, now - self._keep, limit))
        pruned = await prune_step(
            tx,
            finished_before=now - self._keep,
            keys_before=now - min(self._keep, KEYS_KEPT),
            limit=limit,
        )
        forgotten = max(forgotten, await self._forget_jobs(tx, now, limit))
        forgotten = max(forgotten, await self._fold_rollups(tx, now, limit))
        await self._forget_snapshots(tx, now)
        # A dropped period may be followed by another at once.
        return limit if pruned.periods else max(pruned.keys, pruned.runs, forgotten)

    async def _forget_jobs(self, tx: Connection, now: datetime, limit: int) -> int:
        """A slice of those that are old enough; after the last of them a rest."""
        if self._jobs_due_at is not None and now < self._jobs_due_at:
            return 0
        forgotten = await forget_jobs(tx, now - self._keep, self._jobs_above, limit)
        self._jobs_above = forgotten.last or 0
        self._jobs_due_at = now + _JOBS_EVERY if forgotten.last is None else None
        return 0 if forgotten.last is None else limit

    async def _fold_rollups(self, tx: Connection, now: datetime, limit: int) -> int:
        if self._rollups_due_at is not None and now < self._rollups_due_at:
            return 0
        folded = await fold_rollups(tx, now, limit)
        self._rollups_due_at = None if folded == limit else now + _ROLLUPS_EVERY
        return folded

    async def _forget_snapshots(self, tx: Connection, now: datetime) -> None:
        """Seldom, because it may have to read all open runs."""
        if self._snapshots_due_at is not None and now < self._snapshots_due_at:
            return
        forgotten = await forget_snapshots(tx, now - UNUSED_KEPT, _SNAPSHOTS_MAX)
        self._snapshots_due_at = None if forgotten == _SNAPSHOTS_MAX else now + _SNAPSHOTS_EVERY

    def settle(self) -> None:
        """Nobody waits for what is gone."""
