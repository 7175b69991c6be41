"""What programs are told of statistics."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from mainspring.domain.histograms import added, quantile_seconds
from mainspring.store.rollups import Rollup, Width
from mainspring.store.shapes import Shape


class Measured(Shape, frozen=True, kw_only=True):
    """How long it took, in seconds. Mean and maximum are exact, the rest within a factor of two."""

    count: int
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None


class Ended(Shape, frozen=True, kw_only=True):
    """What ended in some time."""

    runs: int
    """Ends of runs; one that was run again has several."""
    succeeded: int
    failed: int
    cancelled: int
    again: int
    """How many of `runs` had ended before, and were run again."""
    runs_per_second: float
    tasks: int
    failed_tasks: int
    retries: int
    duration: Measured
    """Start to end, of runs that ended for the first time."""
    lag: Measured
    """Due to start, of the same runs."""


class Point(Ended, frozen=True, kw_only=True):
    """What ended in one step."""

    at: datetime
    """Where the step begins."""


class Statistics(Shape, frozen=True, kw_only=True):
    """What ended between two instants."""

    dag: str | None
    """Null: all dags."""
    step: Width
    since: datetime
    until: datetime
    total: Ended
    points: list[Point]
    """By time; steps in which nothing ended are left out."""


def statistics(
    rollups: Sequence[Rollup], dag: str | None, since: datetime, until: datetime, step: Width
) -> Statistics:
    whole = Rollup(
        at=since,
        succeeded=sum(each.succeeded for each in rollups),
        failed=sum(each.failed for each in rollups),
        cancelled=sum(each.cancelled for each in rollups),
        again=sum(each.again for each in rollups),
        tasks=sum(each.tasks for each in rollups),
        failed_tasks=sum(each.failed_tasks for each in rollups),
        retries=sum(each.retries for each in rollups),
        duration_sum=sum(each.duration_sum for each in rollups),
        duration_max=max((each.duration_max for each in rollups), default=0.0),
        lag_sum=sum(each.lag_sum for each in rollups),
        lag_max=max((each.lag_max for each in rollups), default=0.0),
        durations=added(each.durations for each in rollups),
        lags=added(each.lags for each in rollups),
    )
    seconds = step.length.total_seconds()
    return Statistics(
        dag=dag,
        step=step,
        since=since,
        until=until,
        total=Ended(**_ended(whole, (until - since).total_seconds())),
        points=[Point(at=each.at, **_ended(each, seconds)) for each in rollups],
    )


def _ended(rollup: Rollup, seconds: float) -> dict[str, Any]:
    runs = rollup.succeeded + rollup.failed + rollup.cancelled
    return {
        "runs": runs,
        "succeeded": rollup.succeeded,
        "failed": rollup.failed,
        "cancelled": rollup.cancelled,
        "again": rollup.again,
        "runs_per_second": runs / seconds,
        "tasks": rollup.tasks,
        "failed_tasks": rollup.failed_tasks,
        "retries": rollup.retries,
        "duration": _measured(rollup.durations, rollup.duration_sum, rollup.duration_max),
        "lag": _measured(rollup.lags, rollup.lag_sum, rollup.lag_max),
    }


def _measured(histogram: Sequence[int], total: float, longest: float) -> Measured:
    count = sum(histogram)
    p50, p95, p99 = (
        quantile_seconds(histogram, fraction, longest_seconds=longest)
        for fraction in (0.50, 0.95, 0.99)
    )
    return Measured(
        count=count,
        mean=total / count if count else None,
        p50=p50,
        p95=p95,
        p99=p99,
        max=longest if count else None,
    )
