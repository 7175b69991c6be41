"""Schedules: what fires when, and changing that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from mainspring.api.bounds import NAMED
from mainspring.api.calls import Call
from mainspring.api.pages import Cursor, Fields, Limit, Page, check_fields, cursor_of, place_of
from mainspring.api.preconditions import Expected, expected_version, version_tag
from mainspring.api.problems import Refusal
from mainspring.api.resources.dags import DagName, PauseNote, known_dag
from mainspring.api.resources.runs import dag_id_of
from mainspring.api.routes import Example, Resource
from mainspring.client.scheduling import is_so
from mainspring.domain.errors import ConflictError, NotFoundError
from mainspring.domain.names import closest, shown
from mainspring.domain.notes import NOTE_LENGTH_MAX
from mainspring.domain.roles import Role
from mainspring.schedule.explaining import explain
from mainspring.schedule.previewing import preview
from mainspring.schedule.specs import ScheduleSpec, When, check_spec
from mainspring.schedule.timetable import Timetable
from mainspring.store.connection import Connection
from mainspring.store.reading import read_clock
from mainspring.store.schedule_changes import Changed, Intent, read_calendars
from mainspring.store.schedule_documents import (
    compare_schedule,
    stored_calendars,
    stored_timetable,
    timetable_of,
    view_schedule,
)
from mainspring.store.schedule_reading import ScheduleLine, run_states, schedule_names
from mainspring.store.schedule_reading import list_schedules as read_schedules
from mainspring.store.schedule_shapes import (
    PreviewFire,
    Schedule,
    ScheduleChange,
    ScheduleDiff,
    ScheduleDocument,
    ScheduleRemoved,
    preview_fire,
    schedule_change,
    schedule_diff,
    schedule_line,
    schedule_removed,
)

schedules = Resource("schedules", "What fires when, and what became of it.")

ScheduleName = Annotated[str, Meta(max_length=200, description="A schedule's name."), NAMED]
Count = Annotated[int, Meta(ge=1, le=1_000, description="How many fires at most.")]
Since = Annotated[datetime, Meta(tz=True, description="Fires after this; without, after now.")]
Until = Annotated[datetime, Meta(tz=True, description="Fires up to this.")]

_SCHEDULE = Example(path={"schedule": "nightly_sales"})
_NIGHTLY = {"when": ["0 2 * * *"], "timezone": "Europe/Berlin", "overlap": "skip"}


class WrittenSpec(ScheduleSpec, frozen=True, kw_only=True):
    """When, and how. What is left out has its default."""

    # Only decoded here: `_intent` makes of it what a spec holds.
    when: tuple[str | When, ...]  # type: ignore[assignment]
    """Times in words (`0 2 * * *`, `every 90m`, an instant, `now`), or as a schedule is told."""

    @property
    def options(self) -> dict[str, Any]:
        return {
            name: getattr(self, name) for name in ScheduleSpec.__struct_fields__ if name != "when"
        }


class ScheduleOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dag: DagName
    """What it starts."""
    spec: WrittenSpec
    parameters: dict[str, Any] = {}
    """Of its runs, by name; those that are left out have their defaults."""
    note: Annotated[str, Meta(max_length=NOTE_LENGTH_MAX)] = ""
    """What it is for."""


# --- looking ------------------------------------------------------------------------------------


class Schedules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    dag: Annotated[str, Meta(max_length=200, description="Only schedules of this dag.")] | None = (
        None
    )
    limit: Limit = 50
    cursor: Cursor | None = None
    fields: Fields | None = None


@schedules.get(
    "/schedules",
    needs=Role.VIEWER,
    shared=True,
    refusals=(404,),
    example=Example(query={"dag": "daily_sales"}),
)
async def list_schedules(call: Call, query: Schedules) -> Page[Schedule]:
    """Schedules, by name."""
    check_fields(Schedule, query.fields)

    async def read(connection: Connection) -> Page[Schedule]:
        if query.dag is not None:
            await dag_id_of(connection, query.dag)
        lines = await read_schedules(
            connection,
            dag=query.dag,
            after=place_of("schedule", query.cursor) or "",
            limit=query.limit,
        )
        full = len(lines) == query.limit
        runs = [line.last_run_id for line in lines if line.last_run_id is not None]
        states = await run_states(connection, runs) if runs else {}
        return Page(
            [schedule_line(line, states) for line in lines],
            cursor_of("schedule", lines[-1].name) if full else None,
        )

    return await call.services.read(read)


class Ledger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fires: Annotated[int, Meta(ge=0, le=100_000, description="How many entries of its ledger.")] = (
        10
    )


@schedules.get(
    "/schedules/{schedule}", needs=Role.VIEWER, shared=True, versioned=True, example=_SCHEDULE
)
async def show_schedule(call: Call, schedule: ScheduleName, query: Ledger) -> ScheduleDocument:
    """One schedule: its spec, its next fires, what became of the last ones, its versions.

    Its version is in the `ETag`, which a `PUT` takes as `If-Match`.
    """

    async def read(connection: Connection) -> ScheduleDocument:
        await known_schedule(connection, schedule)
        return (await view_schedule(connection, schedule, fires=query.fires)).document

    return await call.services.read(read)


async def known_schedule(connection: Connection, name: str) -> ScheduleLine:
    """The schedule of this name, or an error that knows the nearest one."""
    found = await find_schedule(connection, name)
    if found is None:
        near = closest(name, await schedule_names(connection))
        hint = near or "`mainspring schedule list` shows what there is"
        raise NotFoundError(f"there is no schedule {shown(name)}", hint=hint)
    return found


async def find_schedule(connection: Connection, name: str) -> ScheduleLine | None:
    found = await read_schedules(connection, names=[name])
    return found[0] if found else None


# --- changing -----------------------------------------------------------------------------------


@schedules.put(
    "/schedules/{schedule}",
    needs=Role.OPERATOR,
    versioned=True,
    refusals=(412,),
    example=Example(
        path={"schedule": "nightly_sales"},
        headers={"If-Match": '"1"'},
        body={"dag": "daily_sales", "spec": _NIGHTLY, "parameters": {"region": "eu"}},
    ),
)
async def put_schedule(call: Call, schedule: ScheduleName, body: ScheduleOrder) -> ScheduleChange:
    """Make a schedule what is said here, all of it: what is left out has its default.

    With `If-Match`, the version or the `ETag` that the caller has seen, only that one is changed;
    without, or with `If-None-Match: *`, it is made, and must not be there yet. What is refused for
    that comes with the `current` one. A schedule that is so already is left alone.
    """
    expected = expected_version(call.headers)
    intent = await _intent(call, schedule, body)
    while True:
        line = await call.services.read(find_schedule, schedule)
        if line is not None and is_so(line, intent):
            return schedule_change(line, changed=False)
        seen = 0 if line is None else line.version
        version = _wanted(expected, seen)
        if version != seen:
            raise _changed_meanwhile(schedule, line, expected)
        try:
            await call.services.client.scheduler.put(intent, version, call.who)
        except ConflictError:
            now = await call.services.read(find_schedule, schedule)
            if (0 if now is None else now.version) == seen:
                raise
            # Somebody else was quicker: whether that matters is seen from the top.
            continue
        line = await call.services.read(known_schedule, schedule)
        return schedule_change(line, changed=True)


async def _intent(call: Call, name: str, body: ScheduleOrder) -> Intent:
    dag = await call.services.read(known_dag, body.dag)
    return await call.services.client.scheduler.intent(
        name, dag.name, list(body.spec.when), body.parameters, body.note, body.spec.options
    )


def _wanted(expected: int | Expected, seen: int) -> int:
    """The version that has to be in force; 0 for none."""
    match expected:
        case Expected.ANY:
            return seen or -1
        case Expected.NONE | Expected.UNSAID:
            return 0
        case _:
            return expected


def _changed_meanwhile(name: str, line: ScheduleLine | None, expected: int | Expected) -> Refusal:
    if line is None:
        return Refusal(412, "precondition", f"there is no schedule {shown(name)} to be changed")
    words = f"{explain(line.spec, name)}, for dag `{line.dag}`"
    said = expected is not Expected.UNSAID
    return Refusal(
        412 if said else 409,
        "precondition" if said else "conflict",
        f"there is a schedule `{name}` of version {line.version}: {words}",
        hint=f'look at it, and send `If-Match: "{line.version}"` to change it',
        headers=((b"etag", version_tag(line.version)),),
        current=schedule_line(line),
    )


@schedules.post(
    "/schedules/{schedule}/pause",
    needs=Role.OPERATOR,
    example=Example(path=_SCHEDULE.path, body={"note": "the source is being moved"}),
)
async def pause_schedule(call: Call, schedule: ScheduleName, body: PauseNote) -> ScheduleChange:
    """Let a schedule fire no more. What it has started goes on."""
    await call.services.read(known_schedule, schedule)
    [done] = await call.services.client.pause_schedule(schedule, note=body.note, by=call.who)
    line = await call.services.read(known_schedule, schedule)
    return schedule_change(line, changed=done.changed)


@schedules.post("/schedules/{schedule}/resume", needs=Role.OPERATOR, example=_SCHEDULE)
async def resume_schedule(call: Call, schedule: ScheduleName) -> ScheduleChange:
    """Let a schedule fire again, from its next fire on; those of the pause are skipped."""
    await call.services.read(known_schedule, schedule)
    [done] = await call.services.client.resume_schedule(schedule)
    line = await call.services.read(known_schedule, schedule)
    return schedule_change(line, changed=done.changed)


class Several(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schedules: Annotated[list[ScheduleName], Meta(min_length=1, max_length=1_000)]
    """By name."""


class SeveralPaused(Several, frozen=True, forbid_unknown_fields=True):
    note: Annotated[str, Meta(max_length=NOTE_LENGTH_MAX)] | None = None
    """Why, for those who will wonder."""


@schedules.post(
    "/schedules/pause",
    needs=Role.OPERATOR,
    refusals=(404,),
    example=Example(body={"schedules": ["nightly_sales"], "note": "the source is being moved"}),
)
async def pause_several_schedules(call: Call, body: SeveralPaused) -> Page[ScheduleChange]:
    """Let schedules fire no more, all of these or none. What they have started goes on."""
    names = await _known(call, body.schedules)
    done = await call.services.client.pause_schedule(*names, note=body.note, by=call.who)
    return await _changed(call, names, done)


@schedules.post(
    "/schedules/resume",
    needs=Role.OPERATOR,
    refusals=(404,),
    example=Example(body={"schedules": ["nightly_sales"]}),
)
async def resume_several_schedules(call: Call, body: Several) -> Page[ScheduleChange]:
    """Let schedules fire again, all of these or none; fires of their pauses are skipped."""
    names = await _known(call, body.schedules)
    return await _changed(call, names, await call.services.client.resume_schedule(*names))


async def _known(call: Call, names: Sequence[str]) -> list[str]:
    """Each once, in their order; an error if one is not there."""

    async def read(connection: Connection) -> list[str]:
        return [(await known_schedule(connection, name)).name for name in dict.fromkeys(names)]

    return await call.services.read(read)


async def _changed(
    call: Call, names: Sequence[str], done: Sequence[Changed]
) -> Page[ScheduleChange]:
    async def read(connection: Connection) -> Page[ScheduleChange]:
        return Page(
            [
                schedule_change(await known_schedule(connection, name), changed=each.changed)
                for name, each in zip(names, done, strict=True)
            ]
        )

    return await call.services.read(read)


@schedules.delete("/schedules/{schedule}", needs=Role.OPERATOR, refusals=(409,), example=_SCHEDULE)
async def delete_schedule(call: Call, schedule: ScheduleName) -> ScheduleRemoved:
    """Remove a schedule. Runs that it has started go on, and history keeps what it fired."""
    await call.services.read(known_schedule, schedule)
    await call.services.client.remove_schedule(schedule)
    return schedule_removed(schedule)


# --- before it is changed -----------------------------------------------------------------------


class PreviewOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    spec: WrittenSpec
    name: ScheduleName = "preview"
    """The schedule's name, which `H` and jitter are spread by."""
    since: Since | None = None
    until: Until | None = None
    count: Count = 10


@schedules.post(
    "/schedules/preview",
    needs=Role.VIEWER,
    example=Example(body={"spec": _NIGHTLY, "since": "2027-03-26T00:00:00Z", "count": 4}),
)
async def preview_spec(call: Call, body: PreviewOrder) -> Page[PreviewFire]:
    """When a schedule would fire, before there is one."""
    scheduler = call.services.client.scheduler
    spec, _ = await scheduler.spec(list(body.spec.when), body.spec.options)

    async def read(connection: Connection) -> tuple[Timetable, datetime]:
        check_spec(spec, await read_calendars(connection))
        calendars = await stored_calendars(connection, spec)
        return timetable_of(spec, body.name, calendars), await read_clock(connection)

    timetable, now = await call.services.read(read)
    return await _previewed(timetable, body.since or now, body.until, body.count)


class Previewed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    since: Since | None = None
    until: Until | None = None
    count: Count = 10


@schedules.get(
    "/schedules/{schedule}/preview",
    needs=Role.VIEWER,
    shared=True,
    example=Example(path=_SCHEDULE.path, query={"since": "2027-03-26T00:00:00Z", "count": "4"}),
)
async def preview_schedule(
    call: Call, schedule: ScheduleName, query: Previewed
) -> Page[PreviewFire]:
    """When a schedule fires; notes tell what a change of clocks or a calendar does to a fire."""

    async def read(connection: Connection) -> tuple[Timetable, datetime]:
        line = await known_schedule(connection, schedule)
        return await stored_timetable(connection, line), await read_clock(connection)

    timetable, now = await call.services.read(read)
    return await _previewed(timetable, query.since or now, query.until, query.count)


async def _previewed(
    timetable: Timetable, since: datetime, until: datetime | None, count: int
) -> Page[PreviewFire]:
    # Beside the loop: a rule that fires seldom is looked through for years.
    fires = await asyncio.to_thread(preview, timetable, since, count, until)
    return Page([preview_fire(fire) for fire in fires])


class Compared(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    days: Annotated[int, Meta(ge=1, le=36_600, description="How many days to look at.")] = 7
    since: Since | None = None


@schedules.post(
    "/schedules/{schedule}/diff",
    needs=Role.VIEWER,
    example=Example(
        path=_SCHEDULE.path,
        query={"days": "3"},
        body={"dag": "daily_sales", "spec": {"when": ["30 3 * * *"]}},
    ),
)
async def diff_schedule(
    call: Call, schedule: ScheduleName, query: Compared, body: ScheduleOrder
) -> ScheduleDiff:
    """What a `PUT` with the same body would add, remove and move. Nothing is changed."""
    intent = await _intent(call, schedule, body)

    async def read(connection: Connection) -> ScheduleDiff:
        line = await find_schedule(connection, schedule)
        options, found = await compare_schedule(
            connection, line, intent, since=query.since, days=query.days
        )
        return schedule_diff(
            schedule, line, intent.spec, intent.dag, intent.parameters, options, found
        )

    return await call.services.read(read)
