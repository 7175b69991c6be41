"""`mainspring run priority`: let a run's waiting tasks go sooner, or later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option
from mainspring.domain.lanes import PRIORITY_MAX, PRIORITY_MIN

if TYPE_CHECKING:
    from mainspring.http import HttpClient


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("priority", type=click.IntRange(PRIORITY_MIN, PRIORITY_MAX), metavar="N")
@json_option
@home_option
def priority(run: str, priority: int, as_json: bool, home: Path | None) -> None:
    """Give all tasks of RUN that no worker has yet the priority N: 0 to 9, higher sooner."""
    from mainspring.cli.session import with_http

    with_http(home, _priority, run, priority, as_json)


async def _priority(client: HttpClient, reference: str, priority: int, as_json: bool) -> None:
    from mainspring.cli.named import named_run
    from mainspring.cli.output import console, print_json
    from mainspring.cli.words import counted, safe
    from mainspring.domain.states import RUN

    run = await client.runs.set_priority(await named_run(client, reference), priority=priority)
    changed = run.changed_tasks
    if as_json:
        print_json(run)
    elif changed:
        it = f"run {run.id} of {safe(run.dag)}"
        console().print(f"{it}: {counted(changed, 'task')} now with priority {priority}")
    elif RUN.facts[run.state].closed:
        console().print(f"run {run.id} of {safe(run.dag)} has ended")
    else:
        console().print(f"run {run.id} of {safe(run.dag)}: workers have all its open tasks already")
