"""Backfills: runs for times of the past."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from mainspring.api.bounds import one_of
from mainspring.api.calls import Call
from mainspring.api.pages import Cursor, Fields, Limit, Page, check_fields, cursor_of, id_of
from mainspring.api.problems import field_refusal
from mainspring.api.resources.dags import DagName, PauseNote, known_dag
from mainspring.api.resources.runs import dag_id_of
from mainspring.api.resources.schedules import ScheduleName, WrittenSpec, known_schedule
from mainspring.api.routes import Example, Resource
from mainspring.domain.lanes import PRIORITY_MAX, PRIORITY_MIN
from mainspring.domain.notes import NOTE_LENGTH_MAX
from mainspring.domain.roles import Role
from mainspring.domain.states import BackfillState
from mainspring.schedule.backfilling import Reprocess
from mainspring.store import backfills as stored
from mainspring.store.backfill_orders import CONCURRENCY_MAX, BackfillOrder, preview_backfill
from mainspring.store.backfill_shapes import (
    Backfill,
    BackfillDocument,
    BackfillEstimate,
    backfill_document,
    backfill_estimate,
    backfill_line,
)
from mainspring.store.connection import Connection
from mainspring.store.reading import read_clock

backfills = Resource("backfills", "Runs for times of the past.")

BackfillId = Annotated[int, Meta(ge=1, le=2**31 - 1, description="A backfill's number.")]
Instant = Annotated[datetime, Meta(tz=True)]

_BACKFILL = Example(path={"backfill": "12"})
_ORDER = {
    "schedule": "nightly_sales",
    "from": "2026-01-01T00:00:00Z",
    "to": "2026-01-08T00:00:00Z",
}


class NewBackfill(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Of a schedule, as it was in force then, or of a dag at times of its own."""

    schedule: ScheduleName | None = None
    dag: DagName | None = None
    spec: WrittenSpec | None = None
    """The times, together with `dag`."""
    since: Instant = msgspec.field(name="from")
    """The first instant that may be run."""
    until: Instant | None = msgspec.field(name="to", default=None)
    """The first instant that is left out; now, if it is not given."""
    parameters: dict[str, Any] = {}
    """They go over those of the schedule."""
    reprocess: Reprocess = Reprocess.NONE
    """Which instants run again that have a run."""
    concurrency: Annotated[int, Meta(ge=1, le=CONCURRENCY_MAX)] = 1
    """So many runs at a time."""
    newest_first: bool = False
    priority: Annotated[int, Meta(ge=PRIORITY_MIN, le=PRIORITY_MAX)] = PRIORITY_MIN
    """At most this for its tasks."""
    note: Annotated[str, Meta(max_length=NOTE_LENGTH_MAX)] | None = None
    """Why, for those who will wonder."""


Order = Annotated[NewBackfill, one_of("schedule", ("dag", "spec"))]


@backfills.post(
    "/backfills",
    needs=Role.OPERATOR,
    status=201,
    refusals=(404,),
    example=Example(body=_ORDER),
)
async def create_backfill(call: Call, body: Order) -> Backfill:
    """Make runs for instants of the past; engines do it from now on."""
    order = await _order(call, body)
    return backfill_line(await call.services.client.create_backfill(order, by=call.who))


class Shown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=0, le=100_000, description="How many instants to show.")] = 20


@backfills.post(
    "/backfills/preview",
    needs=Role.OPERATOR,
    refusals=(404,),
    example=Example(query={"count": "3"}, body={**_ORDER, "concurrency": 2}),
)
async def estimate_backfill(call: Call, query: Shown, body: Order) -> BackfillEstimate:
    """What a `POST /backfills` with the same body would run. Nothing is made."""
    order = await _order(call, body)
    found = await call.services.read(preview_backfill, order, shown=query.count)
    return backfill_estimate(found)


async def _order(call: Call, body: NewBackfill) -> BackfillOrder:
    """What is meant, with names that are known."""
    _check_subject(body)
    for pointer, moment in (("/from", body.since), ("/to", body.until)):
        if moment is not None and not 1970 <= moment.year <= 2099:
            raise field_refusal(pointer, "is not in the years 1970 to 2099")
    spec, until = None, body.until
    if until is None:
        until = await call.services.read(read_clock)
    if body.schedule is not None:
        await call.services.read(known_schedule, body.schedule)
    if body.dag is not None:
        await call.services.read(known_dag, body.dag)
    if body.spec is not None:
        scheduler = call.services.client.scheduler
        spec, _ = await scheduler.spec(list(body.spec.when), body.spec.options)
    return BackfillOrder(
        since=body.since,
        until=until,
        schedule=body.schedule,
        dag=body.dag,
        spec=spec,
        parameters=body.parameters,
        reprocess=body.reprocess,
        concurrency=body.concurrency,
        newest_first=body.newest_first,
        priority=body.priority,
        note=body.note,
    )


def _check_subject(body: NewBackfill) -> None:
    if body.schedule is not None and (body.dag is not None or body.spec is not None):
        raise field_refusal(
            "/schedule", "a schedule has its own times and its own dag", hint="leave those away"
        )
    if body.schedule is None and (body.dag is None or body.spec is None):
        raise field_refusal(
            "/schedule",
            "it is not said what the backfill is of",
            hint="give a `schedule`, or a `dag` and a `spec`",
        )


# --- looking ------------------------------------------------------------------------------------


class Backfills(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    dag: Annotated[str, Meta(max_length=200, description="Only those of this dag.")] | None = None
    state: Annotated[BackfillState | None, Meta(description="Only those in this state.")] = None
    limit: Limit = 50
    cursor: Cursor | None = None
    fields: Fields | None = None


@backfills.get(
    "/backfills",
    needs=Role.VIEWER,
    shared=True,
    refusals=(404,),
    example=Example(query={"state": "running"}),
)
async def list_backfills(call: Call, query: Backfills) -> Page[Backfill]:
    """Backfills, the newest first."""
    check_fields(Backfill, query.fields)
    before = id_of("backfill", query.cursor, id_max=2**31 - 1)

    async def read(connection: Connection) -> list[stored.BackfillLine]:
        if query.dag is not None:
            await dag_id_of(connection, query.dag)
        return await stored.list_backfills(
            connection, dag=query.dag, state=query.state, before=before, limit=query.limit
        )

    lines = await call.services.read(read)
    full = len(lines) == query.limit
    return Page(
        [backfill_line(line) for line in lines],
        cursor_of("backfill", lines[-1].id) if full else None,
    )


class Instants(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    failed: Annotated[bool, Meta(description="Only instants whose run failed.")] = False
    limit: Annotated[int, Meta(ge=0, le=100_000, description="How many instants at most.")] = 20


@backfills.get("/backfills/{backfill}", needs=Role.VIEWER, shared=True, example=_BACKFILL)
async def show_backfill(call: Call, backfill: BackfillId, query: Instants) -> BackfillDocument:
    """One backfill: how far it is, and what became of its instants, the latest first."""

    async def read(connection: Connection) -> BackfillDocument:
        line = await stored.read_backfill(connection, backfill)
        fires = await stored.page_backfill_fires(
            connection, backfill, verdict="failed" if query.failed else None, limit=query.limit
        )
        return backfill_document(line, fires)

    return await call.services.read(read)


# --- what can be done ---------------------------------------------------------------------------


@backfills.post(
    "/backfills/{backfill}/pause",
    needs=Role.OPERATOR,
    example=Example(path=_BACKFILL.path, body={"note": "the source is slow"}),
)
async def pause_backfill(call: Call, backfill: BackfillId, body: PauseNote) -> Backfill:
    """Let a backfill make no runs until it is resumed. Those that are open go on."""
    done = await call.services.client.pause_backfill(backfill, note=body.note, by=call.who)
    return backfill_line(done)


@backfills.post("/backfills/{backfill}/resume", needs=Role.OPERATOR, example=_BACKFILL)
async def resume_backfill(call: Call, backfill: BackfillId) -> Backfill:
    """Let a backfill go on where it was."""
    return backfill_line(await call.services.client.resume_backfill(backfill))


class Cancelling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    runs: bool = False
    """Stop its open runs, too."""
    note: Annotated[str, Meta(max_length=NOTE_LENGTH_MAX)] | None = None
    """Why, for those who will wonder."""


@backfills.post(
    "/backfills/{backfill}/cancel",
    needs=Role.OPERATOR,
    example=Example(path=_BACKFILL.path, body={"runs": True}),
)
async def cancel_backfill(call: Call, backfill: BackfillId, body: Cancelling) -> Backfill:
    """End a backfill: it makes no more runs, ever."""
    done = await call.services.client.cancel_backfill(
        backfill, runs=body.runs, note=body.note, by=call.who
    )
    return backfill_line(done)
