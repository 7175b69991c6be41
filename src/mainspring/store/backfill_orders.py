"""A backfill before there is one: what was asked, checked, planned and previewed; then made.

The preview and the backfill come from the same plan, so what was shown is what is run, unless runs
appear in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec

from mainspring.domain.errors import InputError
from mainspring.domain.lanes import PRIORITY_MAX, PRIORITY_MIN
from mainspring.domain.notes import checked_note
from mainspring.domain.parameters import ParameterCheck
from mainspring.schedule.backfilling import (
    INSTANTS_MAX,
    ExistingRun,
    InForce,
    Outcome,
    Plan,
    PlannedFire,
    Reprocess,
    Stretch,
    Walk,
    outcome_of,
    stretch_of,
    stretches_of,
)
from mainspring.schedule.parsing import schedule_from
from mainspring.schedule.specs import ScheduleSpec, check_spec
from mainspring.store.backfilling import encoded_parameters
from mainspring.store.backfills import (
    BackfillLine,
    existing_fires,
    past_durations,
    read_backfill,
    read_kin,
)
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import DagRow, read_dag
from mainspring.store.reading import read_clock
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.schedule_changes import no_schedule, read_calendars
from mainspring.store.schedule_reading import ScheduleLine, list_schedules, list_versions
from mainspring.store.statements import statement

CONCURRENCY_MAX = 1_000
_LOOKED_AT_ONCE = 5_000
_DURATIONS_ASKED = 20

_encode = msgspec.json.Encoder(order="deterministic").encode


class BackfillOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What a backfill is to be: of a schedule, or of a spec and a dag."""

    since: datetime
    until: datetime
    """Not included; at most now."""
    schedule: str | None = None
    dag: str | None = None
    spec: ScheduleSpec | str | None = None
    """As text: a cron line, `every 90m`, and so on, in UTC."""
    parameters: Mapping[str, Any] = {}
    """They go over those of the schedule."""
    reprocess: Reprocess = Reprocess.NONE
    concurrency: int = 1
    newest_first: bool = False
    priority: int = PRIORITY_MIN
    """Its tasks have at most this; the dag's own is never exceeded."""
    note: str | None = None


class Planned(msgspec.Struct, frozen=True):
    """An order that can be carried out."""

    order: BackfillOrder
    dag: DagRow
    schedule_id: int | None
    plan: Plan
    total: int
    parameters: bytes | None
    remarks: list[str]


class PreviewedInstant(msgspec.Struct, frozen=True):
    fire_at: datetime
    interval_start: datetime
    version: int | None
    """Of the schedule, in force then."""
    outcome: Outcome
    run_id: int | None
    """The run that it has."""
    run_state: str | None
    excluded: str | None


class BackfillPreview(msgspec.Struct, frozen=True):
    """What a backfill would do, if nothing happens meanwhile."""

    total: int
    to_run: int
    existing: int
    excluded: int
    instants: list[PreviewedInstant]
    """The first of them, in the order in which they would run."""
    remarks: list[str]
    run_seconds: float | None
    """How long a run took lately, if any is known."""
    seconds: float | None
    """How long all of it might take."""


async def reserve_backfill(connection: Connection) -> int:
    """A number for a backfill to be: who lost the answer to its making asks again with it."""
    number: int = (await fetch(connection, statement("reserve_backfill")))[0]["id"]
    return number


async def create_backfill(
    connection: Connection,
    backfill_id: int,
    order: BackfillOrder,
    *,
    by: str | None = None,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> BackfillLine:
    """Make a backfill under a reserved number; with the number of one that exists, that one."""
    planned = await plan_backfill(connection, order, now=now, tenant_id=tenant_id)
    await fetch(
        connection,
        statement("create_backfill"),
        *(backfill_id, tenant_id, planned.dag.id, planned.schedule_id, order.since, order.until),
        *(_encode(planned.plan), planned.parameters, order.reprocess, order.concurrency),
        *(order.priority, checked_note(order.note), by, planned.total, now),
    )
    return await read_backfill(connection, backfill_id, tenant_id=tenant_id)


async def preview_backfill(
    connection: Connection,
    order: BackfillOrder,
    *,
    shown: int = 20,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> BackfillPreview:
    """What it would do. All instants are counted, the first `shown` are told."""
    planned = await plan_backfill(connection, order, now=now, tenant_id=tenant_id)
    kin = await read_kin(connection, planned.dag.id, planned.schedule_id, planned.parameters)
    walk, cursor = Walk(planned.plan), None
    counts = dict.fromkeys(Outcome, 0)
    instants: list[PreviewedInstant] = []
    while fires := await asyncio.to_thread(walk.after, cursor, _LOOKED_AT_ONCE):
        existing = await existing_fires(connection, [fire.at for fire in fires], kin)
        for fire in fires:
            run = existing.get(fire.at)
            outcome = outcome_of(fire, run, order.reprocess)
            counts[outcome] += 1
            if len(instants) < shown:
                instants.append(_previewed(fire, run, outcome))
        cursor = fires[-1].at
    durations = await past_durations(
        connection, planned.dag.id, _DURATIONS_ASKED, tenant_id=tenant_id
    )
    to_run = counts[Outcome.MADE]
    each = sum(durations) / len(durations) if durations else None
    rounds = -(-to_run // order.concurrency)
    return BackfillPreview(
        planned.total,
        to_run,
        counts[Outcome.EXISTS],
        counts[Outcome.EXCLUDED],
        instants,
        planned.remarks,
        each,
        None if each is None else each * rounds,
    )


async def plan_backfill(
    connection: Connection,
    order: BackfillOrder,
    *,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Planned:
    """Check an order and find the specs of its range; InputError for what cannot be."""
    at = now or await read_clock(connection)
    check_order(order, at)
    calendars = await read_calendars(connection, tenant_id=tenant_id)
    remarks: list[str] = []
    if order.schedule is not None:
        schedule = await _schedule(connection, order.schedule, tenant_id)
        name, dag_name, schedule_id = schedule.name, schedule.dag, schedule.id
        stretches = await _stretches(connection, schedule, order, remarks)
    else:
        assert order.dag is not None
        assert order.spec is not None
        spec = schedule_from(order.spec) if isinstance(order.spec, str) else order.spec
        check_spec(spec, calendars)
        name, dag_name, schedule_id = order.dag, order.dag, None
        stretches = stretch_of(spec, order.since, order.until)
    dag = await read_dag(connection, dag_name, tenant_id=tenant_id)
    if dag.gone_at is not None:
        raise InputError(
            f"dag `{dag.name}` is gone: no file defines it any more",
            hint="`mainspring dag list` shows what there is",
        )
    named = {each for stretch in stretches for each in stretch.spec.exclude}
    plan = Plan(
        name,
        tuple(stretches),
        {each: calendars[each] for each in sorted(named) if each in calendars},
        order.newest_first,
    )
    # Beside the loop, which may be that of a server: there may be a million of them.
    total = await asyncio.to_thread(_count, plan, order)
    check = ParameterCheck(dag.spec)
    for stretch in stretches:
        encoded_parameters(check, stretch, dict(order.parameters))
    parameters = _encode(dict(order.parameters)) if order.parameters else None
    return Planned(order, dag, schedule_id, plan, total, parameters, remarks)


def check_order(order: BackfillOrder, now: datetime) -> None:
    """InputError for what can be seen to be wrong without looking anything up."""
    if order.schedule is not None and (order.spec is not None or order.dag is not None):
        raise InputError("a schedule has its own times and its own dag", hint="leave those away")
    if order.schedule is None and (order.spec is None or order.dag is None):
        raise InputError(
            "a backfill is of a schedule, or of a dag with times of its own",
            hint="give `--schedule`, or `--dag` with `--cron`, `--every`, `--at` or `--rrule`",
        )
    for moment in (order.since, order.until):
        if moment.tzinfo is None:
            raise InputError(f"`{moment.isoformat()}` has no zone", hint="give an instant in UTC")
    if order.until <= order.since:
        raise InputError(
            f"the range ends at {_shown(order.until)}, which is not after its beginning,"
            f" {_shown(order.since)}",
            hint="the end is the first instant that is left out",
        )
    if order.until > now:
        raise InputError(
            f"the range reaches into the future: it ends at {_shown(order.until)},"
            f" and it is {_shown(now)}",
            hint="what is to come is for a schedule; end the range now or before",
        )
    _check_number("concurrency", order.concurrency, 1, CONCURRENCY_MAX)
    _check_number("priority", order.priority, PRIORITY_MIN, PRIORITY_MAX)


def _check_number(name: str, value: int, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise InputError(f"`{name}` must be a whole number from {least} to {most:,}, not {value!r}")


async def _schedule(connection: Connection, name: str, tenant_id: int) -> ScheduleLine:
    found = await list_schedules(connection, names=[name], tenant_id=tenant_id)
    if not found:
        raise no_schedule(name)
    return found[0]


async def _stretches(
    connection: Connection, schedule: ScheduleLine, order: BackfillOrder, remarks: list[str]
) -> list[Stretch]:
    """The versions over the range. What is still due to the schedule itself is left to it."""
    until = order.until
    if schedule.next_fire_at is not None and schedule.next_fire_at < until:
        until = schedule.next_fire_at
        remarks.append(f"from {_shown(until)} on the schedule is about to fire by itself")
    versions = [
        InForce(
            version.number,
            version.spec,
            {} if version.parameters is None else msgspec.json.decode(version.parameters),
            version.in_force_from,
            version.in_force_until,
        )
        for version in await list_versions(connection, schedule.id)
    ]
    stretches = stretches_of(versions, order.since, until)
    if stretches and stretches[0].before_the_first:
        first = min(versions).since
        remarks.append(
            f"before {_shown(first)} there was no schedule `{schedule.name}`:"
            " its first version stands in"
        )
    numbers = list(dict.fromkeys(stretch.version for stretch in stretches))
    if len(numbers) > 1:
        remarks.append(
            "the schedule changed meanwhile: "
            + ", ".join(
                f"version {stretch.version} from {_shown(stretch.first_at)}"
                for stretch in stretches
                if not stretch.before_the_first
            )
        )
    for earlier, later in pairwise(stretches):
        if later.first_at - earlier.last_at > timedelta(seconds=1):
            remarks.append(
                f"between {_shown(earlier.last_at)} and {_shown(later.first_at)} the schedule had"
                " been removed: nothing is run for that time"
            )
    return stretches


def _count(plan: Plan, order: BackfillOrder) -> int:
    total = Walk(plan).count(INSTANTS_MAX)
    if total == 0:
        raise InputError(
            f"nothing fires from {_shown(order.since)} to {_shown(order.until)}",
            hint="`mainspring schedule preview` shows what fires when",
        )
    if total > INSTANTS_MAX:
        parts = -(-total // INSTANTS_MAX)
        part = (order.until - order.since) / parts
        reach = (order.since + part).replace(microsecond=0)
        raise InputError(
            f"there are {total:,} instants from {_shown(order.since)} to {_shown(order.until)},"
            f" and a backfill has at most {INSTANTS_MAX:,}",
            hint=f"make several with shorter ranges, the first up to {_shown(reach)}",
        )
    return total


def _previewed(fire: PlannedFire, run: ExistingRun | None, outcome: Outcome) -> PreviewedInstant:
    return PreviewedInstant(
        fire.at,
        fire.interval_start,
        fire.stretch.version,
        outcome,
        None if run is None else run.run_id,
        None if run is None else run.state,
        fire.excluded,
    )


def _shown(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
