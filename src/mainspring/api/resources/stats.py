"""Statistics: what ended per minute, hour or day, and how long it took. Read from rollups only."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.problems import field_refusal
from mainspring.api.resources.dags import DagName
from mainspring.api.resources.runs import dag_id_of
from mainspring.api.routes import Example, Resource
from mainspring.domain.roles import Role
from mainspring.store import reading
from mainspring.store.connection import Connection
from mainspring.store.rollup_shapes import Statistics, statistics
from mainspring.store.rollups import ALL_DAGS, Width, read_rollups

stats = Resource("stats", "What ended per minute, hour or day, and how long it took.")

POINTS_MAX = 1_500
"""How many steps one answer tells; a day has 1,440 minutes."""
_LOOK_BACK = timedelta(hours=1)


class StatsOfDag(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    since: (
        Annotated[
            datetime, Meta(tz=True, description="From then on; else from an hour before `until`.")
        ]
        | None
    ) = None
    until: Annotated[datetime, Meta(tz=True, description="Until then; else until now.")] | None = (
        None
    )
    step: (
        Annotated[
            Width,
            Meta(
                description="How long each point is. Minutes are kept for 2 days, hours for 60,"
                " days for 2 years; else the shortest that is kept and makes at most 400 points."
            ),
        ]
        | None
    ) = None


class Stats(StatsOfDag, frozen=True, forbid_unknown_fields=True, kw_only=True):
    dag: Annotated[str, Meta(max_length=200, description="Only runs of this dag.")] | None = None


@stats.get("/stats", needs=Role.VIEWER, shared=True, refusals=(404,))
async def show_stats(call: Call, query: Stats) -> Statistics:
    """What ended in some time, all dags together or one: throughput, failures, durations and lag.

    A run is counted about ten seconds after its end, when it moves to history.
    """
    return await call.services.read(_read, query, query.dag)


@stats.get(
    "/dags/{dag}/stats",
    needs=Role.VIEWER,
    shared=True,
    example=Example(path={"dag": "daily_sales"}, query={"step": "minute"}),
)
async def show_stats_of_dag(call: Call, dag: DagName, query: StatsOfDag) -> Statistics:
    """What ended of one dag in some time."""
    return await call.services.read(_read, query, dag)


async def _read(connection: Connection, query: StatsOfDag, dag: str | None) -> Statistics:
    now = await reading.read_clock(connection)
    since, until, step = _asked(query, now)
    dag_id = ALL_DAGS if dag is None else await dag_id_of(connection, dag)
    found = await read_rollups(connection, dag_id=dag_id, since=since, until=until, step=step)
    return statistics(found, dag, since, until, step)


def _asked(query: StatsOfDag, now: datetime) -> tuple[datetime, datetime, Width]:
    """Whole steps, of a length that is kept so far back."""
    until = query.until or now
    try:
        since = query.since or until - _LOOK_BACK
        if since >= until:
            raise field_refusal("query/since", "is not before `until`")
        step = query.step or _fitting(now - since, until - since)
        if step is not Width.DAY and now - since > step.kept:
            raise field_refusal(
                "query/step",
                f"single {step}s are kept for {step.kept.days} days",
                hint="ask for a later `since`, or a longer `step`",
            )
        since = step.begin(since)
        end = step.begin(until)
        until = end if end == until else end + step.length
    except OverflowError:
        raise field_refusal("query/until", "is out of all bounds") from None
    if (until - since) / step.length > POINTS_MAX:
        raise field_refusal(
            "query/step",
            f"makes more than {POINTS_MAX:,} points",
            hint="ask for less time, or a longer `step`",
        )
    return since, until, step


def _fitting(age: timedelta, asked: timedelta) -> Width:
    for step in Width:
        if age <= step.kept and asked / step.length <= 400:
            return step
    return Width.DAY
