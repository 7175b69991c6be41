"""`mainspring schedule preview`: when a schedule fires, or would, before there is one.

Of one that is typed it asks no database, but for calendars that are named by `--exclude`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mainspring.cli.options import home_option, json_option
from mainspring.cli.schedule_options import given_options, given_times, time_options, zone_options
from mainspring.cli.stored_schedules import complete_schedule
from mainspring.domain.names import shown

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.schedule.calendars import Calendar
    from mainspring.schedule.parsing import Written
    from mainspring.schedule.previewing import PreviewedFire
    from mainspring.schedule.timetable import Timetable

COUNT_MAX = 10_000


@click.command("preview")
@click.argument("stored", metavar="[NAME]", required=False, shell_complete=complete_schedule)
@time_options
@zone_options
@click.option("--exclude-date", "dates", multiple=True, metavar="DATE", help="Leave this day out.")
@click.option("--exclude-weekday", "weekdays", multiple=True, metavar="DAY", help="Such as `sat`.")
@click.option(
    "--exclude-country",
    "countries",
    multiple=True,
    metavar="CODE",
    help="Leave its public holidays out: `DE`, or `DE-BY` for a part.",
)
@click.option("--exclude", multiple=True, metavar="CALENDAR", help="One of those in the database.")
@click.option("--from", "since", metavar="INSTANT", help="Fires after this. [default: now]")
@click.option("--until", metavar="INSTANT", help="Fires up to this.")
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
    stored: str | None,
    since: str | None,
    until: str | None,
    count: int,
    name: str,
    as_json: bool,
    home: Path | None,
    **given: Any,
) -> None:
    """When schedule NAME fires, or one would that is given by options.

    Several times together are one schedule. Notes say what a change of clocks or an excluded day
    does to a fire.
    """
    from mainspring.cli.given import given_moment
    from mainspring.cli.output import print_json
    from mainspring.schedule.explaining import explain
    from mainspring.schedule.previewing import preview
    from mainspring.store.schedule_shapes import preview_fire

    if stored is not None:
        timetable = _stored(stored, given, home)
    else:
        timetable = _unstored(name, given, home)
    after = given_moment(since, "--from") if since is not None else datetime.now(UTC)
    last = given_moment(until, "--until") if until is not None else None
    fires = preview(timetable, after, count, last)
    if as_json:
        print_json([preview_fire(fire) for fire in fires])
    else:
        _print(explain(timetable.spec, timetable.name), fires, count, until)


def _stored(name: str, given: dict[str, Any], home: Path | None) -> Timetable:
    from mainspring.cli.session import with_http
    from mainspring.cli.stored_schedules import given_schedule
    from mainspring.domain.errors import InputError
    from mainspring.store.schedule_documents import timetable_of

    if any(value for key, value in given.items() if key != "phase"):
        raise InputError(
            f"{shown(name)} is a schedule that is stored, and more was said of it",
            hint=f"`mainspring schedule diff {shown(name)[1:-1]}` shows what a change would do",
        )

    async def read(client: HttpClient) -> Timetable:
        spec = (await given_schedule(client, name)).spec
        there = {line.name for line in (await client.calendars.list()).items}
        named = [each for each in spec.exclude if each in there]
        return timetable_of(spec, name, await _stored_calendars(client, named))

    return with_http(home, read)


def _unstored(name: str, given: dict[str, Any], home: Path | None) -> Timetable:
    from mainspring.cli.session import with_http
    from mainspring.schedule.parsing import schedule_from
    from mainspring.schedule.timetable import Timetable

    calendars = _calendars(given["dates"], given["weekdays"], given["countries"])
    if given["exclude"]:
        calendars |= with_http(home, _stored_calendars, given["exclude"])
    spec = schedule_from(_written(given), **given_options(given) | {"exclude": list(calendars)})
    return Timetable(spec, name, calendars)


def _written(given: dict[str, Any]) -> list[Written]:
    from mainspring.domain.errors import InputError
    from mainspring.schedule.parsing import NOW

    written = given_times(given)
    if not written:
        raise InputError(
            "there is nothing to preview",
            hint="name a schedule, or give one by `--cron`, `--every`, `--at` or `--rrule`",
        )
    now = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
    return [now if each == NOW else each for each in written]


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


async def _stored_calendars(client: HttpClient, names: Sequence[str]) -> dict[str, Calendar]:
    from mainspring.schedule.calendars import Calendar, CalendarSpec

    found = {}
    for name in names:
        days = await client.calendars.show(name)
        found[name] = Calendar(
            CalendarSpec(
                dates=tuple(days.dates),
                weekdays=tuple(days.weekdays),
                country=days.country,
                subdivision=days.subdivision,
            )
        )
    return found


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
