"""Calendars: named days on which schedules that exclude them do not fire."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import msgspec
from msgspec import Meta

from mainspring.api.bounds import NAMED
from mainspring.api.calls import Call
from mainspring.api.pages import Page
from mainspring.api.routes import Example, Resource
from mainspring.domain.roles import Role
from mainspring.schedule.calendars import DATES_MAX, CalendarSpec
from mainspring.store.calendar_documents import (
    Calendar,
    CalendarLine,
    CalendarPut,
    CalendarRemoved,
    keep_calendar,
    known_calendar,
    read_calendar,
    read_calendar_lines,
)
from mainspring.store.schedule_changes import remove_calendar as remove

calendars = Resource("calendars", "Named days on which schedules do not fire.")

CalendarName = Annotated[str, Meta(max_length=200, description="A calendar's name."), NAMED]

_CALENDAR = Example(path={"calendar": "weekends"})


class Days(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Any of these is enough."""

    dates: Annotated[list[date], Meta(max_length=DATES_MAX)] = []
    weekdays: Annotated[list[str], Meta(max_length=100)] = []
    """`saturday` or `sat`, and so on."""
    country: Annotated[str, Meta(max_length=20)] | None = None
    """ISO 3166 code, such as `DE`: its public holidays."""
    subdivision: Annotated[str, Meta(max_length=20)] | None = None
    """A part of the country with holidays of its own, such as `BY`."""


@calendars.get("/calendars", needs=Role.VIEWER, shared=True)
async def list_calendars(call: Call) -> Page[CalendarLine]:
    """All calendars by name, and how many schedules leave out their days."""
    return Page(await call.services.read(read_calendar_lines))


@calendars.get("/calendars/{calendar}", needs=Role.VIEWER, shared=True, example=_CALENDAR)
async def show_calendar(call: Call, calendar: CalendarName) -> Calendar:
    """One calendar: what it holds, the days to come, and which schedules leave them out."""
    return await call.services.read(read_calendar, calendar)


@calendars.put(
    "/calendars/{calendar}",
    needs=Role.OPERATOR,
    example=Example(path={"calendar": "weekends"}, body={"weekdays": ["saturday", "sunday"]}),
)
async def put_calendar(call: Call, calendar: CalendarName, body: Days) -> CalendarPut:
    """Make a calendar hold these days and no others.

    Schedules that exclude it follow with their next fire. Public holidays need the extra
    `holidays`, here and where the engine runs.
    """
    spec = CalendarSpec(
        dates=tuple(sorted(set(body.dates))),
        weekdays=tuple(dict.fromkeys(day.lower() for day in body.weekdays)),
        country=body.country,
        subdivision=body.subdivision,
    )
    return await call.services.write(keep_calendar, calendar, spec)


@calendars.delete("/calendars/{calendar}", needs=Role.OPERATOR, refusals=(409,), example=_CALENDAR)
async def remove_calendar(call: Call, calendar: CalendarName) -> CalendarRemoved:
    """Remove a calendar that no schedule excludes any more."""
    await call.services.read(known_calendar, calendar)
    await call.services.write(remove, calendar)
    return CalendarRemoved(name=calendar)
