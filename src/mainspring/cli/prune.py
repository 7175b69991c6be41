"""`mainspring prune`: retention now, rather than when the engine gets to it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.client import Client

_RUNS_PER_STEP = 1000


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
    from mainspring.cli.output import console, error_console, print_json
    from mainspring.cli.words import counted
    from mainspring.store.history import KEYS_KEPT, count_old, prune_step
    from mainspring.store.reading import read_clock

    now = await client.ask(read_clock)
    cutoff, keys_before = now - keep, now - min(keep, KEYS_KEPT)
    runs = periods = objects = 0
    if dry_run:
        runs = await client.ask(count_old, cutoff)
    else:
        with error_console().status("pruning") as status:
            while pruned := await client.ask(
                prune_step, finished_before=cutoff, keys_before=keys_before, limit=_RUNS_PER_STEP
            ):
                runs, periods = runs + pruned.runs, periods + pruned.periods
                status.update(f"pruned {counted(runs, 'run')} and {counted(periods, 'period')}")
            await _forget_jobs(client, cutoff)
            objects = await _remove_objects(client, home)
    if as_json:
        print_json(
            {
                "dry_run": dry_run,
                "finished_before": cutoff,
                "runs": runs,
                "periods": periods,
                "objects": objects,
            }
        )
        return
    went = f"{counted(runs, 'run')} finished before {cutoff:%Y-%m-%d %H:%M} UTC"
    out = console()
    if dry_run:
        out.print(f"{went}; none was pruned.")
    else:
        more = f", and {counted(periods, 'whole period')}" if periods else ""
        more += f", with {counted(objects, 'object')}" if objects else ""
        out.print(f"Pruned: {went}{more}.")


async def _forget_jobs(client: Client, cutoff: datetime) -> None:
    """Those that are over, after their runs."""
    from mainspring.store.jobs import forget_jobs

    above: int | None = 0
    while above is not None:
        above = (await client.ask(forget_jobs, cutoff, above, _RUNS_PER_STEP)).last


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
