"""`mainspring demo`: everything on this machine, full of life."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import FOLDER, json_option
from mainspring.domain.errors import InputError

if TYPE_CHECKING:
    from mainspring.config import Config
    from mainspring.demo.seeding import Seeded
    from mainspring.demo.storing import Progress

_KEEP = "400d"
"""So that the past is not swept up while somebody looks at it."""
_NOT_FOR_A_DEMO = ("DATABASE_URL", "URL", "TOKEN", "HOME", "DAGS", "OBJECTS", "APPS")


@click.command()
@click.option(
    "--home",
    type=FOLDER,
    help="Where the demo lives; made if need be. [default: `mainspring-demo` among your data]",
)
@click.option("--runs", type=int, help="How many finished runs its past has. [default: 200,000]")
@click.option("--seed", type=int, default=7, show_default=True, help="Another seed, another past.")
@click.option("--anew", is_flag=True, help="Throw away the demo that is there, and seed it again.")
@click.option("--only-seed", is_flag=True, help="Seed it and exit, without starting it.")
@click.option("--plain", is_flag=True, help="Plain lines, as when the output is no terminal.")
@json_option
def demo(
    home: Path | None,
    runs: int | None,
    seed: int,
    anew: bool,
    only_seed: bool,
    plain: bool,
    as_json: bool,
) -> int:
    """Start everything with a made-up company in it: see the page full of life.

    Fifty dags, three months of history with failures, retries and dead letters, backfills, jobs, a
    run of 10,000 tasks; and things that happen while you look. It has a home of its own and touches
    nothing else. The first start seeds it, which takes about a minute; later ones go on with it.
    With --json one line tells where it is, once it is up.
    """
    import msgspec
    import uvloop

    from mainspring.app import run_up
    from mainspring.cli.activity import show_activity
    from mainspring.cli.login import login_link, take_port
    from mainspring.cli.output import is_terminal, print_json
    from mainspring.cli.up import _command
    from mainspring.client import Client
    from mainspring.demo.living import live

    config = _config(home)
    seeded = _seed(config, runs, seed, anew=anew, quiet=as_json)
    if only_seed:
        if as_json:
            print_json(seeded)
        return 0
    config, listener = take_port(config)
    terminal = is_terminal() and not plain and not as_json

    async def view(url: str) -> None:
        link = await login_link(url, config)
        async with asyncio.TaskGroup() as group, Client(url, name="demo") as client:
            group.create_task(live(client, seeded.seed))
            if as_json:
                print_json({**msgspec.structs.asdict(seeded), "link": link})
                await asyncio.Event().wait()
            await show_activity(url, config, (), live=terminal, command=_command(), link=link)

    logs = config.home / "logs" if terminal or as_json else None
    with listener:
        return uvloop.run(run_up(config, view, listener, logs=logs))


def _config(home: Path | None) -> Config:
    """The environment's, but for what would lead to somebody's own data."""
    from mainspring.config import load_config
    from mainspring.demo.home import dags_of, demo_home

    for name in _NOT_FOR_A_DEMO:
        for variable in (f"MAINSPRING_{name}", f"MAINSPRING_{name}_FILE"):
            os.environ.pop(variable, None)
    # Also for the processes that are started.
    os.environ["MAINSPRING_KEEP"] = _KEEP
    place = (home or demo_home()).absolute()
    return load_config(home=place, dags=dags_of(place))


def _seed(config: Config, runs: int | None, seed: int, *, anew: bool, quiet: bool) -> Seeded:
    from mainspring.config import LogLines
    from mainspring.demo.home import clear, read_marker
    from mainspring.demo.seeding import RUNS, RUNS_MAX, RUNS_MIN, ensure_demo
    from mainspring.observe.log_lines import configure_logging

    if runs is not None and not RUNS_MIN <= runs <= RUNS_MAX:
        raise InputError(f"`--runs` takes a number from {RUNS_MIN:,} to {RUNS_MAX:,}, got {runs:,}")
    there = read_marker(config.home)
    if anew and there is not None:
        clear(config.home)
    elif there is not None and there.whole and runs not in (None, there.runs):
        raise InputError(
            f"the demo in `{config.home}` has {there.runs:,} runs",
            hint="leave `--runs` out to go on with it, or add `--anew` to throw it away",
        )
    # The dags that are read are no news here.
    configure_logging(LogLines(level="WARNING"), supervised=False)
    with _progress(quiet) as progress:
        return asyncio.run(
            ensure_demo(config.home, runs=runs or RUNS, seed=seed, progress=progress)
        )


@contextlib.contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
    """A bar where there is a terminal, else a line for each thing that is begun."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from mainspring.cli.output import console, is_terminal

    if quiet:
        yield lambda words, done, total: None
        return
    if not is_terminal():
        told: set[str] = set()

        def line(words: str, done: int, total: int) -> None:
            if words not in told:
                told.add(words)
                console().print(f"seeding the demo: {words}")

        yield line
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, TimeElapsedColumn(), console=console(), transient=True) as bar:
        task = bar.add_task("seeding the demo", total=1)
        yield lambda words, done, total: bar.update(
            task, description=f"seeding the demo: {words}", completed=done, total=total
        )
