"""`mainspring prune`: retention now, rather than when the engine gets to it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.client import Client


@click.command()
@click.option(
    "--keep",
    metavar="DURATION",
    help="Keep what finished within this time, such as `30d`. [default: MAINSPRING_KEEP, else 30d]",
)
@click.option("--dry-run", is_flag=True, help="Only say how many runs would go.")
@json_option
@home_option
def prune(keep: str | None, dry_run: bool, as_json: bool, home: Path | None) -> None:
    """Let go of finished runs that are older than is kept, with their logs and results.

    An engine does this by itself, every ten seconds. Open runs are never touched.
    """
    from mainspring.cli.session import with_client
    from mainspring.config import load_config
    from mainspring.domain.durations import parse_duration

    config = load_config(home=home)
    kept = config.keep if keep is None else timedelta(seconds=parse_duration(keep, what="`--keep`"))
    with_client(home, _prune, kept, config.home, dry_run, as_json)


async def _prune(client: Client, keep: timedelta, home: Path, dry_run: bool, as_json: bool) -> None:
    from msgspec.structs import replace

    from mainspring.cli.output import console, error_console, print_json
    from mainspring.cli.words import counted
    from mainspring.store.pruning import prune_some

    with error_console().status("pruning") as status:
        done = await client.ask(prune_some, keep, dry_run=dry_run, steps_max=1)
        while done.more:
            runs, periods = done.runs, done.periods
            status.update(f"pruned {counted(runs, 'run')} and {counted(periods, 'period')}")
            step = await client.ask(prune_some, keep, steps_max=1)
            done = replace(step, runs=runs + step.runs, periods=periods + step.periods)
        if not dry_run:
            done = replace(done, objects=await _remove_objects(client, home))
    if as_json:
        print_json(done)
        return
    went = f"{counted(done.runs, 'run')} finished before {done.finished_before:%Y-%m-%d %H:%M} UTC"
    out = console()
    if dry_run:
        out.print(f"{went}; none was pruned.")
    else:
        more = f", and {counted(done.periods, 'whole period')}" if done.periods else ""
        more += f", with {counted(done.objects, 'object')}" if done.objects else ""
        out.print(f"Pruned: {went}{more}.")


async def _remove_objects(client: Client, home: Path) -> int:
    """Those of the logs that went. What cannot be removed from here is left to an engine."""
    from mainspring.cli.output import error_console
    from mainspring.domain.errors import MainspringError
    from mainspring.logs.move import remove_objects
    from mainspring.logs.places import Places

    objects = 0
    try:
        while removed := await remove_objects(client.ask, Places(home)):
            objects += removed
    except MainspringError as error:
        error_console().print(
            f"objects of logs are left to an engine: {error}", style="yellow", markup=False
        )
    return objects
