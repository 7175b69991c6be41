"""`mainspring prune`: retention now, rather than when the engine gets to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.http import HttpClient
    from mainspring.store.pruning import Pruning


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

    An engine does this by itself, every ten seconds. Open runs are never touched. Where only
    MAINSPRING_URL is set, the server does it, and leaves objects of long logs to an engine.
    """
    from mainspring.cli.output import print_json
    from mainspring.cli.session import only_a_server, with_client, with_http
    from mainspring.config import load_config
    from mainspring.domain.durations import parse_duration

    config = load_config(home=home)
    kept = config.keep if keep is None else timedelta(seconds=parse_duration(keep, what="`--keep`"))
    if only_a_server(home):
        done = with_http(home, _ask, kept, dry_run)
    else:
        done = with_client(home, _prune, kept, config.home, dry_run)
    if as_json:
        print_json(done)
    else:
        _print(done)


async def _ask(client: HttpClient, keep: timedelta, dry_run: bool) -> Pruning:
    async def step() -> Pruning:
        return await client.care.prune(keep_seconds=keep.total_seconds(), dry_run=dry_run)

    return await _step_by_step(step)


async def _prune(client: Client, keep: timedelta, home: Path, dry_run: bool) -> Pruning:
    from msgspec.structs import replace

    from mainspring.store.pruning import prune_some

    async def step() -> Pruning:
        return await client.ask(prune_some, keep, dry_run=dry_run, steps_max=1)

    done = await _step_by_step(step)
    return done if dry_run else replace(done, objects=await _remove_objects(client, home))


async def _step_by_step(step: Callable[[], Awaitable[Pruning]]) -> Pruning:
    """In sight, until there is no more."""
    from msgspec.structs import replace

    from mainspring.cli.output import error_console
    from mainspring.cli.words import counted

    with error_console().status("pruning") as status:
        done = await step()
        while done.more and not done.dry_run:
            runs, periods = done.runs, done.periods
            status.update(f"pruned {counted(runs, 'run')} and {counted(periods, 'period')}")
            more = await step()
            done = replace(more, runs=runs + more.runs, periods=periods + more.periods)
    return done


def _print(done: Pruning) -> None:
    from mainspring.cli.output import console
    from mainspring.cli.words import counted

    went = f"{counted(done.runs, 'run')} finished before {done.finished_before:%Y-%m-%d %H:%M} UTC"
    out = console()
    if done.dry_run:
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
