"""`mainspring schedule diff`: what a change would do to the fires of the next days."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mainspring.cli.schedule_change import given_intent, intent_options
from mainspring.cli.stored_schedules import complete_schedule

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.client import Client
    from mainspring.schedule.differing import OptionDifference, ScheduleDifference
    from mainspring.schedule.specs import ScheduleSpec
    from mainspring.store.schedule_changes import Intent
    from mainspring.store.schedule_reading import ScheduleLine

_SHOWN = 60


@click.command()
@click.argument("name", shell_complete=complete_schedule)
@click.option("--dag", metavar="DAG", help="What it starts.")
@click.option(
    "--days",
    default=7,
    show_default=True,
    type=click.IntRange(1, 36_600),
    help="How far to look.",
)
@click.option("--from", "since", metavar="INSTANT", help="Look from here on. [default: now]")
@intent_options
def diff(
    name: str,
    dag: str | None,
    days: int,
    since: str | None,
    as_json: bool,
    home: Path | None,
    **given: Any,
) -> None:
    """What `schedule put NAME` with these options would add, remove and move; nothing changes."""
    from mainspring.cli.session import with_client

    with_client(home, _diff, name, {"dag": dag, **given}, days, since, as_json)


async def _diff(
    client: Client,
    name: str,
    given: dict[str, Any],
    days: int,
    since: str | None,
    as_json: bool,
) -> None:
    from mainspring.cli.given import given_moment
    from mainspring.cli.output import print_json
    from mainspring.cli.stored_schedules import find_schedule, stored_calendars, timetable_of
    from mainspring.domain.errors import InputError
    from mainspring.domain.names import name_problem, shown
    from mainspring.schedule.differing import fire_differences, option_differences
    from mainspring.schedule.specs import ScheduleSpec, check_spec
    from mainspring.store.reading import read_clock
    from mainspring.store.schedule_changes import read_calendars

    if problem := name_problem(name):
        raise InputError(f"the schedule's name {shown(name)} {problem}")
    line = await find_schedule(client, name)
    intent = await given_intent(client, name, given, line)
    check_spec(intent.spec, await client.ask(read_calendars))
    now = await client.ask(read_clock)
    begin = given_moment(since, "--from") if since is not None else now
    before = line.spec if line is not None else ScheduleSpec(when=())
    calendars = await stored_calendars(client, before, intent.spec)
    left = None
    if line is not None and line.spec.limit is not None:
        left = line.spec.limit - line.fired
    found = fire_differences(
        timetable_of(line.spec, name, calendars) if line is not None else None,
        timetable_of(intent.spec, name, calendars),
        begin,
        _end_of_day(begin, days, intent.spec),
        left=left,
    )
    options = option_differences(before, intent.spec)
    if as_json:
        print_json(_shape(line, intent, options, found))
    else:
        _print(line, intent, options, found)


def _end_of_day(begin: datetime, days: int, spec: ScheduleSpec) -> datetime:
    """Whole days, so that a fire that moves within the last of them is not taken for removed."""
    from datetime import UTC, datetime, time
    from zoneinfo import ZoneInfo

    from mainspring.domain.errors import InputError

    zone = ZoneInfo(spec.timezone)
    try:
        following = begin.astimezone(zone).date() + timedelta(days=days + 1)
        return datetime.combine(following, time(), zone).astimezone(UTC) - timedelta(seconds=1)
    except OverflowError:
        raise InputError("`--from` and `--days` lead beyond the year 9999") from None


def _shape(
    line: ScheduleLine | None,
    intent: Intent,
    options: list[OptionDifference],
    found: ScheduleDifference,
) -> dict[str, Any]:
    from mainspring.schedule.explaining import explain

    return {
        "name": intent.name,
        "version": line.version if line is not None else 0,
        "before": line and explain(line.spec, line.name),
        "after": explain(intent.spec, intent.name),
        "options": options,
        "dag": {"before": line and line.dag, "after": intent.dag},
        "parameters": {"before": _parameters(line), "after": intent.parameters},
        "since": found.since,
        "until": found.until,
        "complete": found.complete,
        "unchanged": found.unchanged,
        "fires": found.fires,
    }


def _parameters(line: ScheduleLine | None) -> dict[str, Any] | None:
    import msgspec

    if line is None:
        return None
    given: dict[str, Any] = msgspec.json.decode(line.parameters or b"{}")
    return given


def _print(
    line: ScheduleLine | None,
    intent: Intent,
    options: list[OptionDifference],
    found: ScheduleDifference,
) -> None:
    from collections import Counter

    from rich.text import Text

    from mainspring.cli.output import console, faint, table
    from mainspring.cli.schedule_shapes import local_words
    from mainspring.cli.words import counted, safe, value_words
    from mainspring.schedule.differing import Difference
    from mainspring.schedule.explaining import explain

    out = console()
    if line is not None:
        out.print(Text(f"- {safe(explain(line.spec, line.name))}", style="red"))
    out.print(Text(f"+ {safe(explain(intent.spec, intent.name))}", style="green"))
    for each in options:
        if line is not None and each.option != "when":
            was, will = value_words(each.before, 60), value_words(each.after, 60)
            out.print(f"~ {each.option} {was} → {will}")
    if line is not None and line.dag != intent.dag:
        out.print(f"~ dag {safe(line.dag)} → {safe(intent.dag)}")
    if line is not None and _parameters(line) != intent.parameters:
        was, will = value_words(_parameters(line), 80), value_words(intent.parameters, 80)
        out.print(f"~ parameters {was} → {will}")
    counts = Counter(each.difference for each in found.fires)
    told = ", ".join(f"{counts[kind]:,} {kind}" for kind in Difference if counts[kind])
    until = local_words(found.until, intent.spec)
    same = f"{found.unchanged:,} as before"
    out.print(faint(f"until {until}: {told or 'no fire changes'}, {same}"))
    if found.fires:
        styles = {"added": ("+", "green"), "removed": ("-", "red"), "moved": ("~", "yellow")}
        lines = table("", "before", "after", "", fold=[""])
        for fire in found.fires[:_SHOWN]:
            mark, style = styles[fire.difference]
            lines.add_row(
                Text(mark, style=style),
                local_words(fire.before, intent.spec) if fire.before else "",
                local_words(fire.after, intent.spec) if fire.after else "",
                faint(fire.note or ""),
            )
        out.print(lines)
    if len(found.fires) > _SHOWN:
        out.print(faint(f"… {counted(len(found.fires) - _SHOWN, 'more change')}; `--json` has all"))
    if not found.complete:
        out.print(faint("there are so many fires that it was looked no further than that"))
    if line is not None and line.paused_at is not None:
        out.print(faint("it is paused: it fires nothing before `mainspring schedule resume`"))
