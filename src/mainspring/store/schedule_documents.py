"""A schedule with what it does next and what hinders it, and what a change of it would do.

What cannot be computed here, because a plug-in or the package of public holidays is missing, is
told as a problem: the rest can be told all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import msgspec

from mainspring.domain.errors import InputError, MainspringError
from mainspring.domain.names import name_problem, shown
from mainspring.domain.parameters import ParameterCheck
from mainspring.schedule.calendars import Calendar
from mainspring.schedule.differing import (
    OptionDifference,
    ScheduleDifference,
    fire_differences,
    option_differences,
)
from mainspring.schedule.previewing import PreviewedFire, preview
from mainspring.schedule.specs import ScheduleSpec, check_spec
from mainspring.schedule.timetable import Timetable
from mainspring.store.connection import Connection
from mainspring.store.dags import read_dag
from mainspring.store.reading import read_clock
from mainspring.store.schedule_changes import Intent, no_schedule, read_calendars
from mainspring.store.schedule_reading import ScheduleLine, ScheduleWhole, read_schedule
from mainspring.store.schedule_shapes import ScheduleDocument, next_fire, schedule_document

NEXT_TOLD = 5


class ScheduleView(msgspec.Struct, frozen=True):
    """A schedule, what it does next, and why it perhaps does not."""

    whole: ScheduleWhole
    timetable: Timetable | None
    """None: it cannot be computed here."""
    coming: list[PreviewedFire]
    problems: list[str]

    @property
    def document(self) -> ScheduleDocument:
        timetable, whole = self.timetable, self.whole
        return schedule_document(
            whole.line,
            self.problems,
            [] if timetable is None else [next_fire(fire, timetable) for fire in self.coming],
            whole.fires,
            whole.open_runs,
            whole.versions,
        )


async def view_schedule(connection: Connection, name: str, *, fires: int) -> ScheduleView:
    whole = await read_schedule(connection, name, fires=fires)
    if whole is None:
        raise no_schedule(name)
    problems = await _hindrances(connection, whole.line)
    timetable = None
    try:
        timetable = await stored_timetable(connection, whole.line)
    except MainspringError as error:
        problems.append(f"its fires cannot be computed here: {error.message}")
    coming = [] if timetable is None else _next_fires(whole, timetable)
    return ScheduleView(whole, timetable, coming, problems)


def _next_fires(whole: ScheduleWhole, timetable: Timetable) -> list[PreviewedFire]:
    """Those that come, if nothing changes; of a paused one, those that it would have."""
    spec, line = whole.line.spec, whole.line
    count = NEXT_TOLD if spec.limit is None else min(NEXT_TOLD, max(spec.limit - line.fired, 0))
    if line.paused_at is not None:
        since = whole.read_at
    elif line.next_fire_at is not None:
        since = line.next_fire_at - timedelta(seconds=1)
    else:
        return []
    return preview(timetable, since, count) if count else []


async def _hindrances(connection: Connection, line: ScheduleLine) -> list[str]:
    """Why no run can be made of its fires."""
    found = []
    dag = await read_dag(connection, line.dag)
    if dag.gone_at is not None:
        found.append(
            f"its fires are refused: dag `{line.dag}` is gone, no file defines it any more"
        )
    else:
        given = {} if line.parameters is None else msgspec.json.decode(line.parameters)
        try:
            ParameterCheck(dag.spec).encode(given)
        except InputError as error:
            found.append(
                f"its fires are refused: dag `{line.dag}` does not take its parameters:"
                f" {error.message}"
            )
    there = await read_calendars(connection) if line.spec.exclude else {}
    missing = [name for name in line.spec.exclude if name not in there]
    return found + [f"it cannot fire: there is no calendar `{name}`" for name in missing]


# --- timetables ---------------------------------------------------------------------------------


async def stored_timetable(connection: Connection, line: ScheduleLine) -> Timetable:
    return timetable_of(line.spec, line.name, await stored_calendars(connection, line.spec))


async def stored_calendars(connection: Connection, *specs: ScheduleSpec) -> dict[str, Calendar]:
    """Those that the specs name and that there are."""
    named = {name for spec in specs for name in spec.exclude}
    if not named:
        return {}
    stored = await read_calendars(connection)
    return {name: Calendar(spec) for name, spec in stored.items() if name in named}


def timetable_of(spec: ScheduleSpec, name: str, calendars: Mapping[str, Calendar]) -> Timetable:
    """As far as its calendars are there; `doctor` complains of others."""
    there = tuple(each for each in spec.exclude if each in calendars)
    return Timetable(msgspec.structs.replace(spec, exclude=there), name, calendars)


# --- changes that are not made ------------------------------------------------------------------


async def compare_schedule(
    connection: Connection,
    line: ScheduleLine | None,
    intent: Intent,
    *,
    since: datetime | None,
    days: int,
) -> tuple[list[OptionDifference], ScheduleDifference]:
    """What the intent would change, `line` being what is there; from `since`, or now, on."""
    if problem := name_problem(intent.name):
        raise InputError(f"the schedule's name {shown(intent.name)} {problem}")
    check_spec(intent.spec, await read_calendars(connection))
    begin = since if since is not None else await read_clock(connection)
    before = line.spec if line is not None else ScheduleSpec(when=())
    calendars = await stored_calendars(connection, before, intent.spec)
    left = None
    if line is not None and line.spec.limit is not None:
        left = line.spec.limit - line.fired
    # Beside the loop, which may be that of a server: there may be thousands of fires.
    found = await asyncio.to_thread(
        fire_differences,
        timetable_of(line.spec, intent.name, calendars) if line is not None else None,
        timetable_of(intent.spec, intent.name, calendars),
        begin,
        _end_of_day(begin, days, intent.spec),
        left=left,
    )
    return option_differences(before, intent.spec), found


def _end_of_day(begin: datetime, days: int, spec: ScheduleSpec) -> datetime:
    """Whole days, so that a fire that moves within the last of them is not taken for removed."""
    zone = ZoneInfo(spec.timezone)
    try:
        following = begin.astimezone(zone).date() + timedelta(days=days + 1)
        return datetime.combine(following, time(), zone).astimezone(UTC) - timedelta(seconds=1)
    except OverflowError:
        raise InputError(f"{days:,} days from there on lead beyond the year 9999") from None
