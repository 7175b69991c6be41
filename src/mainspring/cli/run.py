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
    from mainspring.client import Client


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
    from mainspring.cli.session import with_client

    with_client(home, _list, dag_name, RunState(state) if state else None, limit, before, as_json)


@run.command()
@click.argument("run", metavar="RUN")
@click.option("--now", is_flag=True, help="Leave processes and commands no time to tidy up.")
@json_option
@home_option
def cancel(run: str, now: bool, as_json: bool, home: Path | None) -> None:
    """Stop a run. What runs is asked to end, what waits never starts."""
    from mainspring.cli.session import with_client

    with_client(home, _cancel, run, now, as_json)


async def _list(
    client: Client,
    dag_name: str | None,
    state: RunState | None,
    limit: int,
    before: int | None,
    as_json: bool,
) -> None:
    from mainspring.cli.given import given_dag
    from mainspring.cli.output import console, faint, print_json, state_text, table
    from mainspring.cli.words import ago, lasted, number, safe
    from mainspring.domain.states import RUN
    from mainspring.store import reading, shapes

    dag_id = (await given_dag(client, dag_name)).id if dag_name is not None else None
    runs = await client.ask(
        reading.list_runs, dag_id=dag_id, state=state, before=before, limit=limit
    )
    if as_json:
        print_json([shapes.run_line(line) for line in runs])
        return
    out = console()
    if not runs:
        out.print("There are no such runs." if state or before else "There are no runs yet.")
        return
    lines = table(
        "run", "dag", "state", "tasks", "created", "took", "trigger", right=["run", "tasks", "took"]
    )
    for line in runs:
        done = line.tasks - line.open_tasks
        lines.add_row(
            str(line.id),
            safe(line.dag),
            state_text(RUN, line.state),
            number(done) if line.closed else f"{done:,}/{line.tasks:,}",
            ago(line.created_at, line.read_at),
            lasted(line.started_at, line.finished_at, line.read_at),
            faint(line.trigger),
        )
    out.print(lines)
    if len(runs) == limit and out.is_terminal:
        out.print(faint(f"older ones: --before {runs[-1].id}"))


async def _cancel(client: Client, reference: str, now: bool, as_json: bool) -> None:
    from mainspring.cli.given import given_run
    from mainspring.cli.output import console, print_json
    from mainspring.cli.words import counted
    from mainspring.domain.states import RUN
    from mainspring.store import shapes
    from mainspring.store.reading import read_run

    before = await client.ask(read_run, await given_run(client, reference))
    asked = 0 if before.closed else await client.cancel(before.id, at_once=now)
    run = await client.ask(read_run, before.id)
    if as_json:
        print_json(shapes.run_stopping(run, asked))
        return
    out = console()
    label = RUN.facts[run.state].label.lower()
    if before.closed:
        out.print(f"run {run.id} of {run.dag} had ended before: {label}")
    elif run.closed:
        out.print(f"run {run.id} of {run.dag} is {label}")
    else:
        out.print(f"run {run.id} of {run.dag} stops: {counted(asked, 'running task')} asked to end")
