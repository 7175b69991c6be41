"""Retention now, rather than when an engine gets to it, some of it at a time."""

from __future__ import annotations

from datetime import datetime, timedelta

from mainspring.store.connection import Connection
from mainspring.store.history import KEYS_KEPT, count_old, prune_step
from mainspring.store.jobs import forget_jobs
from mainspring.store.reading import read_clock
from mainspring.store.shapes import Shape

RUNS_PER_STEP = 1_000
STEPS_MAX = 10
"""Of one call, so that nobody waits for a million runs."""


class Pruning(Shape, frozen=True, kw_only=True):
    """What went, or would go."""

    dry_run: bool
    finished_before: datetime
    runs: int
    periods: int
    objects: int
    """Of long logs."""
    more: bool
    """Whether there was too much for one request: ask again."""


async def prune_some(
    connection: Connection, keep: timedelta, *, dry_run: bool = False, steps_max: int = STEPS_MAX
) -> Pruning:
    """Let go of some of what finished longer ago, and of the jobs that were only about that."""
    now = await read_clock(connection)
    cutoff = now - keep
    runs = periods = 0
    more = False
    if dry_run:
        runs = await count_old(connection, cutoff)
    else:
        more = True
        for _ in range(steps_max):
            pruned = await prune_step(
                connection,
                finished_before=cutoff,
                keys_before=now - min(keep, KEYS_KEPT),
                limit=RUNS_PER_STEP,
            )
            runs, periods = runs + pruned.runs, periods + pruned.periods
            if not pruned:
                more = False
                await _forget_jobs(connection, cutoff)
                break
    return Pruning(
        dry_run=dry_run,
        finished_before=cutoff,
        runs=runs,
        periods=periods,
        objects=0,
        more=more,
    )


async def _forget_jobs(connection: Connection, cutoff: datetime) -> None:
    """Those that are over, after their runs."""
    above: int | None = 0
    while above is not None:
        above = (await forget_jobs(connection, cutoff, above, RUNS_PER_STEP)).last
