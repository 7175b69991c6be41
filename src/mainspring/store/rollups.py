"""Rollups: what ended, per dag and stretch of time. All statistics are read from here.

`archive_runs` adds each end to the minute in which it was, once. Old minutes become part of hours,
and old hours of days, so that what is kept stays small; a minute that comes late, after an engine
was away for days, is folded like any other. All stretches are of UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

import msgspec

from mainspring.store.connection import Connection, fetch
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

ALL_DAGS = 0
"""Stands for a dag's id where all are meant: their sum is kept, so that it need not be made."""


class Width(StrEnum):
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"

    @property
    def length(self) -> timedelta:
        return {
            Width.MINUTE: timedelta(minutes=1),
            Width.HOUR: timedelta(hours=1),
            Width.DAY: timedelta(days=1),
        }[self]

    @property
    def kept(self) -> timedelta:
        """For how long it is told what happened in each; then it goes into wider ones."""
        return {
            Width.MINUTE: timedelta(days=2),
            Width.HOUR: timedelta(days=60),
            Width.DAY: timedelta(days=730),
        }[self]

    def begin(self, instant: datetime) -> datetime:
        """Of the stretch that holds the instant."""
        return instant - (instant - _EPOCH) % self.length


class Rollup(msgspec.Struct, frozen=True, kw_only=True):
    """What ended in one stretch; lengths in seconds."""

    at: datetime
    succeeded: int
    failed: int
    cancelled: int
    again: int
    tasks: int
    failed_tasks: int
    retries: int
    duration_sum: float
    duration_max: float
    lag_sum: float
    lag_max: float
    durations: list[int]
    lags: list[int]


async def read_rollups(
    connection: Connection,
    *,
    dag_id: int = ALL_DAGS,
    since: datetime,
    until: datetime,
    step: Width,
    tenant_id: int = DEFAULT_TENANT,
) -> list[Rollup]:
    """By time; stretches in which nothing ended are left out."""
    widths = list(Width)
    rows = await fetch(
        connection,
        statement("read_rollups"),
        tenant_id,
        dag_id,
        since,
        until,
        step.length,
        widths[: widths.index(step) + 1],
    )
    return [Rollup(**row) for row in map(dict, rows)]


async def fold_rollups(connection: Connection, now: datetime, limit: int) -> int:
    """Some old rows become part of wider ones, or go; says how many, at most `limit` of a kind."""
    done = 0
    for width, wider in ((Width.MINUTE, Width.HOUR), (Width.HOUR, Width.DAY)):
        before = wider.begin(now - width.kept)
        rows = await fetch(
            connection,
            statement("fold_rollups"),
            *(width, wider, wider.length, before, limit),
        )
        done = max(done, rows[0]["folded"])
    gone = await fetch(connection, statement("forget_rollups"), now - Width.DAY.kept, limit)
    return max(done, len(gone))
