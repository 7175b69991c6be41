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

    from mainspring.client import Client
    from mainspring.store.schedule_reading import ScheduleLine


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
    from mainspring.cli.session import with_client

    with_client(home, _list, dag, limit, as_json)


schedule.add_command(show)
schedule.add_command(preview_schedule)
schedule.add_command(create)
schedule.add_command(put)
schedule.add_command(diff)
schedule.add_command(pause)
schedule.add_command(resume)
schedule.add_command(remove)


async def _list(client: Client, dag: str | None, limit: int, as_json: bool) -> None:
    from rich.text import Text

    from mainspring.cli.given import given_dag
    from mainspring.cli.output import console, faint, print_json, state_text, table
    from mainspring.cli.schedule_words import local_words
    from mainspring.cli.words import ago, safe, shortened
    from mainspring.domain.states import RUN
    from mainspring.schedule.explaining import explain
    from mainspring.store.reading import read_clock
    from mainspring.store.schedule_reading import list_schedules, run_states
    from mainspring.store.schedule_shapes import schedule_line

    if dag is not None:
        await given_dag(client, dag)
    found = await client.ask(list_schedules, dag=dag, limit=limit + 1)
    more, found = len(found) > limit, found[:limit]
    if as_json:
        print_json([schedule_line(line) for line in found])
        return
    out = console()
    if not found:
        out.print("There are no schedules yet." if dag is None else "The dag has no schedule.")
        out.print(faint("make one: mainspring schedule create NAME --dag DAG --cron '0 2 * * *'"))
        return
    now = await client.ask(read_clock)
    runs = [line.last_run_id for line in found if line.last_run_id is not None]
    states = await client.ask(run_states, runs)
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
            if line.last_run_id in states:
                state = state_text(RUN, states[line.last_run_id])
        lines.add_row(
            Text(safe(line.name), style="bold"),
            safe(line.dag),
            shortened(explain(line.spec, line.name), 120),
            state_words(line),
            next_fire,
            soon,
            state,
            last,
        )
    out.print(lines)
    if more:
        out.print(faint(f"… and more: `--limit` shows more than {limit:,}"))


def state_words(line: ScheduleLine) -> Text:
    from rich.text import Text

    from mainspring.store.schedule_reading import ScheduleState

    match line.state:
        case ScheduleState.PAUSED:
            return Text("paused", style="yellow")
        case ScheduleState.FINISHED:
            return Text("finished", style="bright_black")
        case ScheduleState.ACTIVE:
            return Text("dag paused", style="yellow") if line.dag_paused else Text("active")
