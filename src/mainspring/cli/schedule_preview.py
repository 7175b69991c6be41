"""`mainspring schedule preview`: when a schedule would fire, before there is one.

It asks no database, but for calendars that are named by `--exclude`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.schedule.calendars import Calendar
    from mainspring.schedule.parsing import Written
    from mainspring.schedule.previewing import PreviewedFire

COUNT_MAX = 10_000


@click.command("preview")
@click.option("--cron", "lines", multiple=True, metavar="LINE", help="A cron line; repeatable.")
@click.option("--every", "lengths", multiple=True, metavar="TIME", help="An interval: 90m, 1h30m.")
@click.option("--phase", default="0s", metavar="TIME", help="Shifts `--every` by so much.")
@click.option("--at", "instants", multiple=True, metavar="INSTANT", help="One instant; repeatable.")
@click.option("--rrule", "rules", multiple=True, metavar="RULE", help="An RFC 5545 rule.")
@click.option("--timezone", default="UTC", show_default=True, help="An IANA zone.")
@click.option(
    "--dst-gap",
    type=click.Choice(["run_after_gap", "skip"]),
    help="When the clock leaves a time out. [default: run_after_gap]",
)
@click.option(
    "--dst-fold",
    type=click.Choice(["first", "last", "both"]),
    help="When the clock shows a time twice. [default: first]",
)
@click.option("--exclude-date", "dates", multiple=True, metavar="DATE", help="Leave this day out.")
@click.option("--exclude-weekday", "weekdays", multiple=True, metavar="DAY", help="Such as `sat`.")
@click.option(
    "--exclude-country",
    "countries",
    multiple=True,
    metavar="CODE",
    help="Leave its public holidays out: `DE`, or `DE-BY` for a part.",
)
@click.option(
    "--exclude", "stored", multiple=True, metavar="CALENDAR", help="One of those in the database."
)
@click.option("--from", "since", metavar="INSTANT", help="Fires after this. [default: now]")
@click.option("--until", metavar="INSTANT", help="Fires up to this.")
@click.option("--start", metavar="INSTANT", help="The schedule's window begins.")
@click.option("--end", metavar="INSTANT", help="The schedule's window ends.")
@click.option(
    "--count",
    type=click.IntRange(1, COUNT_MAX),
    default=10,
    show_default=True,
    help="How many.",
)
@click.option("--name", default="preview", help="The schedule's name, which `H` is spread by.")
@json_option
@home_option
def preview_schedule(
    since: str | None,
    until: str | None,
    count: int,
    name: str,
    as_json: bool,
    home: Path | None,
    **given: Any,
) -> None:
    """When a schedule would fire; give it by `--cron`, `--every`, `--at` or `--rrule`.

    Several together are one schedule. Notes say what a change of clocks or an excluded day does to
    a fire.
    """
    from mainspring.cli.given import given_moment
    from mainspring.cli.output import print_json
    from mainspring.cli.session import with_client
    from mainspring.schedule.explaining import explain
    from mainspring.schedule.parsing import schedule_from
    from mainspring.schedule.previewing import preview
    from mainspring.schedule.timetable import Timetable

    calendars = _calendars(given["dates"], given["weekdays"], given["countries"])
    if given["stored"]:
        calendars |= with_client(home, _stored_calendars, given["stored"])
    options = {
        key: given[key] for key in ("timezone", "dst_gap", "dst_fold") if given[key] is not None
    }
    for key in ("start", "end"):
        if given[key] is not None:
            options[key] = given_moment(given[key], f"--{key}")
    spec = schedule_from(_written(given), **options, exclude=list(calendars))
    after = given_moment(since, "--from") if since is not None else datetime.now(UTC)
    last = given_moment(until, "--until") if until is not None else None
    fires = preview(Timetable(spec, name, calendars), after, count, last)
    if as_json:
        print_json([_line(fire) for fire in fires])
    else:
        _print(explain(spec, name), fires, count, until)


def _written(given: dict[str, Any]) -> list[Written]:
    from mainspring.cli.given import given_moment
    from mainspring.domain.errors import InputError
    from mainspring.schedule.parsing import interval_from
    from mainspring.schedule.specs import CronSpec, RecurrenceSpec

    written: list[Written] = [CronSpec(line) for line in given["lines"]]
    written += [interval_from(length, given["phase"]) for length in given["lengths"]]
    written += [given_moment(text, "--at") for text in given["instants"]]
    written += [RecurrenceSpec(rule) for rule in given["rules"]]
    if not written:
        raise InputError(
            "there is nothing to preview",
            hint="give a schedule by `--cron`, `--every`, `--at` or `--rrule`",
        )
    return written


def _calendars(
    dates: Sequence[str], weekdays: Sequence[str], countries: Sequence[str]
) -> dict[str, Calendar]:
    """A calendar for each kind of day that is left out, named as its option says it."""
    from mainspring.cli.calendar import given_date
    from mainspring.schedule.calendars import Calendar, CalendarSpec

    specs: dict[str, CalendarSpec] = {}
    if dates:
        days = tuple(given_date(text, "--exclude-date") for text in dates)
        specs["dates"] = CalendarSpec(dates=days)
    if weekdays:
        specs["weekdays"] = CalendarSpec(weekdays=tuple(weekdays))
    for code in countries:
        country, _, part = code.partition("-")
        specs[code] = CalendarSpec(country=country, subdivision=part or None)
    return {name: Calendar(spec) for name, spec in specs.items()}


async def _stored_calendars(client: Client, names: Sequence[str]) -> dict[str, Calendar]:
    from mainspring.cli.calendar import given_calendar
    from mainspring.schedule.calendars import Calendar

    return {name: Calendar(await given_calendar(client, name)) for name in names}


def _line(fire: PreviewedFire) -> dict[str, Any]:
    return {"fire_at": fire.fire_at, "local": fire.local, "note": fire.note}


def _print(words: str, fires: Sequence[PreviewedFire], count: int, until: str | None) -> None:
    from mainspring.cli.output import console, faint, heading, table
    from mainspring.cli.words import safe

    out = console()
    out.print(heading(safe(words[:1].upper() + words[1:])))
    if not fires:
        out.print("It does not fire in that time.")
        return
    lines = table("local", "zone", "UTC", "note", fold=["note"])
    for fire in fires:
        lines.add_row(
            f"{fire.local:%a %Y-%m-%d %H:%M:%S}",
            safe(fire.local.tzname() or ""),
            f"{fire.fire_at:%Y-%m-%d %H:%M:%S}",
            faint(fire.note or ""),
        )
    out.print(lines)
    if len(fires) < count:
        out.print(faint("No more after that." if until is None else "No more in that time."))
