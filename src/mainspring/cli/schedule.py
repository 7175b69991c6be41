"""`mainspring schedule`: what fires when, and changing that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option
from mainspring.cli.schedule_change import create, pause, put, remove, resume
from mainspring.cli.schedule_diff import diff
from mainspring.cli.schedule_preview import preview_schedule
from mainspring.cli.schedule_show import show

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.http import HttpClient
    from mainspring.store.schedule_shapes import Schedule

_PAGE = 500
"""How many one request tells."""


@click.group()
def schedule() -> None:
    """List, show, preview, make, change, pause and remove schedules."""


@schedule.command("list")
@click.option("--dag", metavar="DAG", help="Only schedules of this dag.")
@click.option("--limit", default=1000, show_default=True, type=click.IntRange(1, 1_000_000))
@json_option
@home_option
def list_schedules(dag: str | None, limit: int, as_json: bool, home: Path | None) -> None:
    """All schedules by name: what they are in words, and when they fire next."""
    from mainspring.cli.session import with_http

    with_http(home, _list, dag, limit, as_json)


schedule.add_command(show)
schedule.add_command(preview_schedule)
schedule.add_command(create)
schedule.add_command(put)
schedule.add_command(diff)
schedule.add_command(pause)
schedule.add_command(resume)
schedule.add_command(remove)


async def _list(client: HttpClient, dag: str | None, limit: int, as_json: bool) -> None:
    from rich.text import Text

    from mainspring.cli.named import clock
    from mainspring.cli.output import console, faint, print_json, state_text, table
    from mainspring.cli.schedule_words import local_words
    from mainspring.cli.words import ago, safe, shortened
    from mainspring.domain.states import RUN

    found: list[Schedule] = []
    async for each in client.schedules.each(dag=dag, limit=min(limit + 1, _PAGE)):
        found.append(each)
        if len(found) > limit:
            break
    more, found = len(found) > limit, found[:limit]
    if as_json:
        print_json(found)
        return
    out = console()
    if not found:
        out.print("There are no schedules yet." if dag is None else "The dag has no schedule.")
        out.print(faint("make one: mainspring schedule create NAME --dag DAG --cron '0 2 * * *'"))
        return
    now = await clock(client)
    lines = table(
        "schedule", "dag", "when", "state", "next fire", "", "last run", "", fold=["when"]
    )
    for line in found:
        next_fire, soon, last, state = "", "", Text(""), Text("")
        if line.next_fire_at is not None:
            next_fire = local_words(line.next_fire_at, line.spec)
            soon = ago(line.next_fire_at, now)
        if line.last_run_id is not None and line.last_fire_at is not None:
            last = faint(f"{ago(line.last_fire_at, now)}, run {line.last_run_id}")
            if line.last_run_state is not None:
                state = state_text(RUN, line.last_run_state)
        lines.add_row(
            Text(safe(line.name), style="bold"),
            safe(line.dag),
            shortened(line.words, 120),
            state_words(line),
            next_fire,
            soon,
            state,
            last,
        )
    out.print(lines)
    if more:
        out.print(faint(f"… and more: `--limit` shows more than {limit:,}"))


def state_words(line: Schedule) -> Text:
    from rich.text import Text

    from mainspring.store.schedule_reading import ScheduleState

    match line.state:
        case ScheduleState.PAUSED:
            return Text("paused", style="yellow")
        case ScheduleState.FINISHED:
            return Text("finished", style="bright_black")
        case ScheduleState.ACTIVE:
            return Text("dag paused", style="yellow") if line.dag_paused else Text("active")
