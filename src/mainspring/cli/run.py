"""`mainspring run`: the group; its larger commands have files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.compare import compare
from mainspring.cli.logs import logs
from mainspring.cli.mark import mark
from mainspring.cli.options import home_option, json_option
from mainspring.cli.priority import priority
from mainspring.cli.rerun import rerun
from mainspring.cli.run_show import show
from mainspring.cli.watch import watch
from mainspring.cli.why import why
from mainspring.domain.states import RunState

if TYPE_CHECKING:
    from mainspring.http import HttpClient
    from mainspring.store import shapes

_PAGE = 500
"""How many runs one request tells."""


@click.group()
def run() -> None:
    """List, show, watch, explain, compare, cancel, mend and rerun runs; read logs.

    RUN is a run's number, `last` for the newest run, or a dag's name for its newest.
    """


for command in (show, watch, logs, why, compare, rerun, mark, priority):
    run.add_command(command)


@run.command("list")
@click.option("--dag", "dag_name", metavar="NAME", help="Only runs of this dag.")
@click.option(
    "--state",
    type=click.Choice([state.value for state in RunState]),
    help="Only runs in this state.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    help="How many at most.",
)
@click.option("--before", type=click.IntRange(1), metavar="RUN", help="Only runs older than this.")
@json_option
@home_option
def list_runs(
    dag_name: str | None,
    state: str | None,
    limit: int,
    before: int | None,
    as_json: bool,
    home: Path | None,
) -> None:
    """The newest runs first."""
    from mainspring.cli.session import with_http

    with_http(home, _list, dag_name, RunState(state) if state else None, limit, before, as_json)


@run.command()
@click.argument("run", metavar="RUN")
@click.option("--now", is_flag=True, help="Leave processes and commands no time to tidy up.")
@json_option
@home_option
def cancel(run: str, now: bool, as_json: bool, home: Path | None) -> None:
    """Stop a run. What runs is asked to end, what waits never starts."""
    from mainspring.cli.session import with_http

    with_http(home, _cancel, run, now, as_json)


async def _list(
    client: HttpClient,
    dag_name: str | None,
    state: RunState | None,
    limit: int,
    before: int | None,
    as_json: bool,
) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, faint, print_json, state_text, table
    from mainspring.cli.words import ago, number, safe, took
    from mainspring.domain.states import RUN

    runs: list[shapes.Run] = []
    page = min(limit, _PAGE)
    async for each in client.runs.each(dag=dag_name, state=state, before=before, limit=page):
        runs.append(each)
        if len(runs) == limit:
            break
    if as_json:
        print_json(runs)
        return
    out = console()
    if not runs:
        out.print("There are no such runs." if state or before else "There are no runs yet.")
        return
    lines = table(
        "run", "dag", "state", "tasks", "created", "took", "trigger", right=["run", "tasks", "took"]
    )
    now = await clock(client)
    for line in runs:
        done = line.task_count - line.open_tasks
        lines.add_row(
            str(line.id),
            safe(line.dag),
            state_text(RUN, line.state),
            number(done) if RUN.facts[line.state].closed else f"{done:,}/{line.task_count:,}",
            ago(line.created_at, now),
            took(line.duration_seconds),
            faint(line.trigger),
        )
    out.print(lines)
    if len(runs) == limit and out.is_terminal:
        out.print(faint(f"older ones: --before {runs[-1].id}"))


async def _cancel(client: HttpClient, reference: str, now: bool, as_json: bool) -> None:
    from mainspring.cli.named import named_run
    from mainspring.cli.output import console, print_json
    from mainspring.cli.words import counted
    from mainspring.domain.states import RUN

    run = await client.runs.cancel(await named_run(client, reference), at_once=now)
    if as_json:
        print_json(run)
        return
    out = console()
    label, asked = RUN.facts[run.state].label.lower(), run.asked_to_stop
    if run.had_ended:
        out.print(f"run {run.id} of {run.dag} had ended before: {label}")
    elif RUN.facts[run.state].closed:
        out.print(f"run {run.id} of {run.dag} is {label}")
    else:
        out.print(f"run {run.id} of {run.dag} stops: {counted(asked, 'running task')} asked to end")
