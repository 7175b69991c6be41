"""`mainspring dag trigger`: make a run, and perhaps wait for it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from mainspring.cli.errors import DONE, INTERRUPTED
from mainspring.cli.options import home_option, json_option, parameter_options
from mainspring.domain.durations import parse_duration

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.store.reading import RunLine


@click.command()
@click.argument("name")
@parameter_options
@click.option("--at", metavar="TIME", help="Start then: `2026-11-15T01:00Z`, or in your zone.")
@click.option("--in", "after", metavar="DURATION", help="Start after this long, such as `10m`.")
@click.option("--key", help="One run per key, however often this is asked.")
@click.option("--wait", is_flag=True, help="Follow the run; exit 0 only if it succeeded.")
@json_option
@home_option
def trigger(
    name: str,
    pairs: tuple[str, ...],
    params: str | None,
    at: str | None,
    after: str | None,
    key: str | None,
    wait: bool,
    as_json: bool,
    home: Path | None,
) -> int:
    """Start a run of dag NAME."""
    from mainspring.cli.session import with_client

    if at is not None and after is not None:
        raise click.UsageError("give `--at` or `--in`, not both")
    order = _Order(name, pairs, params, at, after, key)
    made: list[int] = []
    try:
        return with_client(home, _trigger, order, wait, as_json, made)
    except KeyboardInterrupt:
        if made:
            click.echo(f"\nrun {made[0]} goes on", err=True)
            click.echo(f"hint: `mainspring run cancel {made[0]}` would stop it", err=True)
        return INTERRUPTED


class _Order(NamedTuple):
    """What was typed."""

    name: str
    pairs: tuple[str, ...]
    params: str | None
    at: str | None
    after: str | None
    key: str | None


async def _trigger(
    client: Client, order: _Order, wait: bool, as_json: bool, made: list[int]
) -> int:
    """`made` tells the caller the run's id as soon as there is one, also if this is interrupted."""
    from mainspring.cli.output import print_json
    from mainspring.cli.watch import follow_run
    from mainspring.store import shapes
    from mainspring.store.reading import read_run

    made.append(await _make(client, order))
    run = await client.ask(read_run, made[0])
    if not wait:
        if as_json:
            print_json(shapes.run_line(run))
        else:
            _print(run)
        return DONE
    return await follow_run(client, run, as_json)


async def _make(client: Client, order: _Order) -> int:
    from mainspring.cli.given import given_dag, given_parameters, person

    dag = await given_dag(client, order.name)
    return await client.trigger(
        order.name,
        given_parameters(dag.spec, order.pairs, order.params),
        run_at=await _start(client, order.at, order.after),
        key=order.key,
        created_by=person(),
    )


def _print(run: RunLine) -> None:
    from mainspring.cli.output import console, faint
    from mainspring.cli.words import moment_words

    starts = ""
    if run.due_at > run.read_at:
        starts = f", starts {moment_words(run.due_at, run.read_at)}"
    out = console()
    out.print(f"run {run.id} of {run.dag} version {run.version}{starts}")
    out.print(faint(f"follow it: mainspring run watch {run.id}"))


async def _start(client: Client, at: str | None, after: str | None) -> datetime | None:
    from mainspring.cli.given import given_moment
    from mainspring.store import reading

    if at is not None:
        return given_moment(at)
    if after is None:
        return None
    rest = timedelta(seconds=parse_duration(after, what="`--in`"))
    # The database's clock is the clock, not the one of this machine.
    return await client.ask(reading.read_clock) + rest
