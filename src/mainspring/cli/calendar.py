"""`mainspring calendar`: named days on which schedules that exclude them do not fire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.schedule.calendars import Calendar, CalendarSpec

_DAYS_AHEAD = 366
_DAYS_SHOWN = 10
_DATES_LISTED = 3


@click.group()
def calendar() -> None:
    """Name days on which schedules do not fire."""


@calendar.command("list")
@json_option
@home_option
def list_calendars(as_json: bool, home: Path | None) -> None:
    """All calendars, and how many schedules leave out their days."""
    from mainspring.cli.session import with_client

    with_client(home, _list, as_json)


@calendar.command()
@click.argument("name")
@json_option
@home_option
def show(name: str, as_json: bool, home: Path | None) -> None:
    """One calendar: what it holds, the days to come, and which schedules leave them out."""
    from mainspring.cli.session import with_client

    with_client(home, _show, name, as_json)


@calendar.command()
@click.argument("name")
@click.option("--date", "dates", multiple=True, metavar="DATE", help="A day; may be repeated.")
@click.option("--weekday", "weekdays", multiple=True, metavar="DAY", help="Such as `sat`.")
@click.option("--country", metavar="CODE", help="Its public holidays: `DE`, `US`.")
@click.option("--subdivision", metavar="CODE", help="A part of the country: `BY`.")
@json_option
@home_option
def put(
    name: str,
    dates: tuple[str, ...],
    weekdays: tuple[str, ...],
    country: str | None,
    subdivision: str | None,
    as_json: bool,
    home: Path | None,
) -> None:
    """Make NAME hold these days and no others.

    Schedules that exclude it follow with their next fire. Public holidays need the extra
    `holidays`, here and where the engine runs.
    """
    from mainspring.cli.session import with_client
    from mainspring.schedule.calendars import Calendar, CalendarSpec

    spec = CalendarSpec(
        dates=tuple(sorted({given_date(text, "--date") for text in dates})),
        weekdays=tuple(dict.fromkeys(day.lower() for day in weekdays)),
        country=country,
        subdivision=subdivision,
    )
    Calendar(spec)  # What it cannot be is said before a database is asked.
    with_client(home, _put, name, spec, as_json)


@calendar.command()
@click.argument("name")
@home_option
def remove(name: str, home: Path | None) -> None:
    """Remove a calendar that no schedule excludes any more."""
    from mainspring.cli.session import with_client

    with_client(home, _remove, name)


def given_date(text: str, option: str) -> date:
    from mainspring.domain.errors import InputError
    from mainspring.domain.names import shown

    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"`{option}`: {shown(text)} is no date", hint="write it like `2026-12-24`"
        ) from None


async def given_calendar(client: Client, name: str) -> CalendarSpec:
    """The calendar of this name, or an error that knows the nearest one."""
    from mainspring.domain.errors import NotFoundError
    from mainspring.domain.names import closest, shown
    from mainspring.store.schedule_changes import read_calendars

    known = await client.ask(read_calendars)
    if name not in known:
        hint = closest(name, sorted(known)) or "`mainspring calendar put` makes one"
        raise NotFoundError(f"there is no calendar {shown(name)}", hint=hint)
    return known[name]


async def _list(client: Client, as_json: bool) -> None:
    from mainspring.cli.output import console, print_json, table
    from mainspring.cli.words import number, safe
    from mainspring.store.schedule_changes import read_calendars
    from mainspring.store.schedule_reading import list_schedules

    specs = await client.ask(read_calendars)
    named = [name for line in await client.ask(list_schedules) for name in line.spec.exclude]
    if as_json:
        print_json(
            [_shape(name, spec) | {"schedules": named.count(name)} for name, spec in specs.items()]
        )
        return
    if not specs:
        console().print("There is no calendar; `mainspring calendar put` makes one.")
        return
    lines = table("calendar", "days", "schedules", right=["schedules"], fold=["days"])
    for name, spec in specs.items():
        lines.add_row(safe(name), safe(_words(spec)), number(named.count(name)))
    console().print(lines)


async def _show(client: Client, name: str, as_json: bool) -> None:
    from rich.text import Text

    from mainspring.cli.output import console, faint, indented, pairs, print_json, table
    from mainspring.cli.words import safe
    from mainspring.domain.names import listed
    from mainspring.schedule.calendars import Calendar

    spec = await given_calendar(client, name)
    schedules = await _excluding(client, name)
    today = datetime.now(UTC).date()
    days = list(islice(_days(Calendar(spec), today), _DAYS_SHOWN))
    if as_json:
        ahead = [{"date": day, "name": why or None} for day, why in days]
        print_json(_shape(name, spec) | {"schedules": schedules, "next": ahead})
        return
    out = console()
    out.print(Text(safe(name), style="bold"))
    out.print(
        pairs(
            [
                ("days", safe(_words(spec))),
                ("excluded by", safe(listed(schedules)) or "no schedule"),
            ]
        )
    )
    lines = table("next", "", fold=[""])
    for day, why in days:
        lines.add_row(f"{day:%a %Y-%m-%d}", faint(safe(why)))
    out.print()
    out.print(indented(lines) if days else faint("  No day in the coming year."))


async def _put(client: Client, name: str, spec: CalendarSpec, as_json: bool) -> None:
    from mainspring.cli.output import console, faint, print_json
    from mainspring.cli.words import counted, safe
    from mainspring.store.schedule_changes import put_calendar

    await client.ask(put_calendar, name, spec)
    schedules = await _excluding(client, name)
    if as_json:
        print_json(_shape(name, spec) | {"schedules": schedules})
        return
    console().print(f"Calendar {safe(name)} holds {safe(_words(spec))}.")
    if schedules:
        follow = "follows" if len(schedules) == 1 else "follow"
        console().print(
            faint(f"{counted(len(schedules), 'schedule')} {follow} with the next fire.")
        )


async def _remove(client: Client, name: str) -> None:
    from mainspring.cli.output import console
    from mainspring.cli.words import safe
    from mainspring.store.schedule_changes import remove_calendar

    await given_calendar(client, name)
    await client.ask(remove_calendar, name)
    console().print(f"Calendar {safe(name)} is removed.")


async def _excluding(client: Client, name: str) -> list[str]:
    from mainspring.store.schedule_reading import list_schedules

    return [line.name for line in await client.ask(list_schedules) if name in line.spec.exclude]


def _days(calendar: Calendar, today: date) -> Iterator[tuple[date, str]]:
    for ahead in range(_DAYS_AHEAD):
        day = today + timedelta(days=ahead)
        if calendar.excludes(day):
            yield day, calendar.why(day)


def _words(spec: CalendarSpec) -> str:
    """`saturday and sunday; 2026-12-24; public holidays of DE-BY`."""
    parts: list[str] = []
    if spec.weekdays:
        parts.append(_and([f"every {day}" for day in spec.weekdays]))
    if len(spec.dates) > _DATES_LISTED + 1:
        first = ", ".join(str(day) for day in spec.dates[:_DATES_LISTED])
        parts.append(f"{first} and {len(spec.dates) - _DATES_LISTED:,} more dates")
    elif spec.dates:
        parts.append(_and([str(day) for day in spec.dates]))
    if spec.country is not None:
        part = f"-{spec.subdivision}" if spec.subdivision else ""
        parts.append(f"public holidays of {spec.country}{part}")
    return "; ".join(parts)


def _and(items: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(items[:-1]), items[-1]]))


def _shape(name: str, spec: CalendarSpec) -> dict[str, Any]:
    return {
        "name": name,
        "dates": spec.dates,
        "weekdays": spec.weekdays,
        "country": spec.country,
        "subdivision": spec.subdivision,
    }
