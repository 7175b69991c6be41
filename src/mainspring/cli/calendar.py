"""`mainspring calendar`: named days on which schedules that exclude them do not fire."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.schedule.calendars import CalendarSpec
    from mainspring.store.calendar_documents import CalendarBase

_DATES_LISTED = 3


@click.group()
def calendar() -> None:
    """Name days on which schedules do not fire."""


@calendar.command("list")
@json_option
@home_option
def list_calendars(as_json: bool, home: Path | None) -> None:
    """All calendars, and how many schedules leave out their days."""
    from mainspring.cli.session import with_http

    with_http(home, _list, as_json)


@calendar.command()
@click.argument("name")
@json_option
@home_option
def show(name: str, as_json: bool, home: Path | None) -> None:
    """One calendar: what it holds, the days to come, and which schedules leave them out."""
    from mainspring.cli.session import with_http

    with_http(home, _show, name, as_json)


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
    from mainspring.cli.session import with_http
    from mainspring.schedule.calendars import Calendar, CalendarSpec

    spec = CalendarSpec(
        dates=tuple(sorted({given_date(text, "--date") for text in dates})),
        weekdays=tuple(dict.fromkeys(day.lower() for day in weekdays)),
        country=country,
        subdivision=subdivision,
    )
    Calendar(spec)  # What it cannot be is said before a database is asked.
    with_http(home, _put, name, spec, as_json)


@calendar.command()
@click.argument("name")
@home_option
def remove(name: str, home: Path | None) -> None:
    """Remove a calendar that no schedule excludes any more."""
    from mainspring.cli.session import with_http

    with_http(home, _remove, name)


def given_date(text: str, option: str) -> date:
    from mainspring.domain.errors import InputError
    from mainspring.domain.names import shown

    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"`{option}`: {shown(text)} is no date", hint="write it like `2026-12-24`"
        ) from None


async def _list(client: HttpClient, as_json: bool) -> None:
    from mainspring.cli.output import console, print_json, table
    from mainspring.cli.words import number, safe

    found = (await client.calendars.list()).items
    if as_json:
        print_json(found)
        return
    if not found:
        console().print("There is no calendar; `mainspring calendar put` makes one.")
        return
    lines = table("calendar", "days", "schedules", right=["schedules"], fold=["days"])
    for line in found:
        lines.add_row(safe(line.name), safe(_words(line)), number(line.schedules))
    console().print(lines)


async def _show(client: HttpClient, name: str, as_json: bool) -> None:
    from rich.text import Text

    from mainspring.cli.output import console, faint, indented, pairs, print_json, table
    from mainspring.cli.words import safe
    from mainspring.domain.names import listed

    found = await client.calendars.show(name)
    if as_json:
        print_json(found)
        return
    out = console()
    out.print(Text(safe(name), style="bold"))
    out.print(
        pairs(
            [
                ("days", safe(_words(found))),
                ("excluded by", safe(listed(found.schedules)) or "no schedule"),
            ]
        )
    )
    lines = table("next", "", fold=[""])
    for day in found.next:
        lines.add_row(f"{day.date:%a %Y-%m-%d}", faint(safe(day.name or "")))
    out.print()
    out.print(indented(lines) if found.next else faint("  No day in the coming year."))


async def _put(client: HttpClient, name: str, spec: CalendarSpec, as_json: bool) -> None:
    from mainspring.cli.output import console, faint, print_json
    from mainspring.cli.words import counted, safe

    found = await client.calendars.put(
        name,
        dates=spec.dates,
        weekdays=spec.weekdays,
        country=spec.country,
        subdivision=spec.subdivision,
    )
    if as_json:
        print_json(found)
        return
    console().print(f"Calendar {safe(name)} holds {safe(_words(found))}.")
    if found.schedules:
        follow = "follows" if len(found.schedules) == 1 else "follow"
        console().print(
            faint(f"{counted(len(found.schedules), 'schedule')} {follow} with the next fire.")
        )


async def _remove(client: HttpClient, name: str) -> None:
    from mainspring.cli.output import console
    from mainspring.cli.words import safe

    await client.calendars.remove(name)
    console().print(f"Calendar {safe(name)} is removed.")


def _words(spec: CalendarBase) -> str:
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
