"""What programs are told of calendars, by `--json` and by the server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any

from mainspring.domain.errors import NotFoundError
from mainspring.domain.names import closest, shown
from mainspring.schedule.calendars import Calendar as Days
from mainspring.schedule.calendars import CalendarSpec
from mainspring.store.connection import Connection
from mainspring.store.schedule_changes import put_calendar, read_calendars
from mainspring.store.schedule_reading import list_schedules
from mainspring.store.shapes import Shape

_DAYS_AHEAD = 366
_DAYS_SHOWN = 10


class CalendarBase(Shape, frozen=True, kw_only=True):
    name: str
    dates: list[date]
    weekdays: list[str]
    country: str | None
    subdivision: str | None


class CalendarLine(CalendarBase, frozen=True, kw_only=True):
    """A calendar in a list, and how many schedules leave out its days."""

    schedules: int


class CalendarPut(CalendarBase, frozen=True, kw_only=True):
    """A calendar as it is now, and which schedules leave out its days."""

    schedules: list[str]


class CalendarDay(Shape, frozen=True, kw_only=True):
    date: date
    name: str | None
    """What the day is, if that is known."""


class Calendar(CalendarPut, frozen=True, kw_only=True):
    """A calendar with the next days that it holds."""

    next: list[CalendarDay]


class CalendarRemoved(Shape, frozen=True, kw_only=True):
    name: str


async def read_calendar_lines(connection: Connection) -> list[CalendarLine]:
    """By name."""
    specs = await read_calendars(connection)
    named = [name for line in await list_schedules(connection) for name in line.spec.exclude]
    return [
        CalendarLine(**_fields(name, spec), schedules=named.count(name))
        for name, spec in specs.items()
    ]


async def read_calendar(connection: Connection, name: str) -> Calendar:
    """One calendar, or an error that knows the nearest one."""
    spec = await known_calendar(connection, name)
    days = islice(_days(Days(spec), datetime.now(UTC).date()), _DAYS_SHOWN)
    return Calendar(
        **_fields(name, spec),
        schedules=await _excluding(connection, name),
        next=[CalendarDay(date=day, name=why or None) for day, why in days],
    )


async def keep_calendar(connection: Connection, name: str, spec: CalendarSpec) -> CalendarPut:
    await put_calendar(connection, name, spec)
    return CalendarPut(**_fields(name, spec), schedules=await _excluding(connection, name))


async def known_calendar(connection: Connection, name: str) -> CalendarSpec:
    known = await read_calendars(connection)
    if name not in known:
        hint = closest(name, sorted(known)) or "`mainspring calendar put` makes one"
        raise NotFoundError(f"there is no calendar {shown(name)}", hint=hint)
    return known[name]


async def _excluding(connection: Connection, name: str) -> list[str]:
    return [line.name for line in await list_schedules(connection) if name in line.spec.exclude]


def _days(calendar: Days, today: date) -> Iterator[tuple[date, str]]:
    for ahead in range(_DAYS_AHEAD):
        day = today + timedelta(days=ahead)
        if calendar.excludes(day):
            yield day, calendar.why(day)


def _fields(name: str, spec: CalendarSpec) -> dict[str, Any]:
    return {
        "name": name,
        "dates": list(spec.dates),
        "weekdays": list(spec.weekdays),
        "country": spec.country,
        "subdivision": spec.subdivision,
    }
