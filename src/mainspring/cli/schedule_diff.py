"""`mainspring schedule diff`: what a change would do to the fires of the next days."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mainspring.cli.schedule_change import given_order, intent_options
from mainspring.cli.stored_schedules import complete_schedule

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.schedule.specs import ScheduleSpec
    from mainspring.store.schedule_shapes import ScheduleDiff

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
    from mainspring.cli.session import with_http

    with_http(home, _diff, name, {"dag": dag, **given}, days, since, as_json)


async def _diff(
    client: HttpClient,
    name: str,
    given: dict[str, Any],
    days: int,
    since: str | None,
    as_json: bool,
) -> None:
    from mainspring.cli.given import given_moment
    from mainspring.cli.output import print_json
    from mainspring.cli.stored_schedules import find_schedule
    from mainspring.domain.errors import InputError
    from mainspring.domain.names import name_problem, shown

    if problem := name_problem(name):
        raise InputError(f"the schedule's name {shown(name)} {problem}")
    line = await find_schedule(client, name)
    order = await given_order(client, name, given, line)
    found = await client.schedules.diff(
        name,
        dag=order.dag,
        spec=order.written,
        parameters=order.parameters,
        note=order.note,
        days=days,
        since=None if since is None else given_moment(since, "--from"),
    )
    if as_json:
        print_json(found)
    else:
        paused = line is not None and line.pause is not None
        _print(found, order.spec, paused=paused)


def _print(found: ScheduleDiff, spec: ScheduleSpec, *, paused: bool) -> None:
    from collections import Counter

    from rich.text import Text

    from mainspring.cli.output import console, faint, table
    from mainspring.cli.schedule_words import local_words
    from mainspring.cli.words import counted, safe, value_words
    from mainspring.schedule.differing import Difference

    out = console()
    if found.before is not None:
        out.print(Text(f"- {safe(found.before)}", style="red"))
    out.print(Text(f"+ {safe(found.after)}", style="green"))
    for each in found.options:
        if found.before is not None and each.option != "when":
            was, will = value_words(each.before, 60), value_words(each.after, 60)
            out.print(f"~ {each.option} {was} → {will}")
    dag, parameters = found.dag, found.parameters
    if dag.before is not None and dag.before != dag.after:
        out.print(f"~ dag {safe(dag.before)} → {safe(dag.after)}")
    if parameters.before is not None and parameters.before != parameters.after:
        was, will = value_words(parameters.before, 80), value_words(parameters.after, 80)
        out.print(f"~ parameters {was} → {will}")
    counts = Counter(each.difference for each in found.fires)
    told = ", ".join(f"{counts[kind]:,} {kind}" for kind in Difference if counts[kind])
    until = local_words(found.until, spec)
    same = f"{found.unchanged:,} as before"
    out.print(faint(f"until {until}: {told or 'no fire changes'}, {same}"))
    if found.fires:
        styles = {"added": ("+", "green"), "removed": ("-", "red"), "moved": ("~", "yellow")}
        lines = table("", "before", "after", "", fold=[""])
        for fire in found.fires[:_SHOWN]:
            mark, style = styles[fire.difference]
            lines.add_row(
                Text(mark, style=style),
                local_words(fire.before, spec) if fire.before else "",
                local_words(fire.after, spec) if fire.after else "",
                faint(fire.note or ""),
            )
        out.print(lines)
    if len(found.fires) > _SHOWN:
        out.print(faint(f"… {counted(len(found.fires) - _SHOWN, 'more change')}; `--json` has all"))
    if not found.complete:
        out.print(faint("there are so many fires that it was looked no further than that"))
    if paused:
        out.print(faint("it is paused: it fires nothing before `mainspring schedule resume`"))
