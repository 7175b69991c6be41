"""`mainspring run priority`: let a run's waiting tasks go sooner, or later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option
from mainspring.domain.lanes import PRIORITY_MAX, PRIORITY_MIN

if TYPE_CHECKING:
    from mainspring.client import Client


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("priority", type=click.IntRange(PRIORITY_MIN, PRIORITY_MAX), metavar="N")
@json_option
@home_option
def priority(run: str, priority: int, as_json: bool, home: Path | None) -> None:
    """Give all tasks of RUN that no worker has yet the priority N: 0 to 9, higher sooner."""
    from mainspring.cli.session import with_client

    with_client(home, _priority, run, priority, as_json)


async def _priority(client: Client, reference: str, priority: int, as_json: bool) -> None:
    from mainspring.cli.given import given_run
    from mainspring.cli.output import console, print_json
    from mainspring.cli.words import counted, safe
    from mainspring.store import shapes
    from mainspring.store.reading import read_run

    run_id = await given_run(client, reference)
    changed = await client.set_priority(run_id, priority)
    run = await client.ask(read_run, run_id)
    if as_json:
        print_json(shapes.run_reordered(run, priority, changed))
    elif changed:
        it = f"run {run.id} of {safe(run.dag)}"
        console().print(f"{it}: {counted(changed, 'task')} now with priority {priority}")
    elif run.closed:
        console().print(f"run {run.id} of {safe(run.dag)} has ended")
    else:
        console().print(f"run {run.id} of {safe(run.dag)}: workers have all its open tasks already")
