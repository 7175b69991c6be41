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
    from mainspring.http import HttpClient
    from mainspring.store.shapes import Run


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
    from mainspring.cli.session import with_http

    if at is not None and after is not None:
        raise click.UsageError("give `--at` or `--in`, not both")
    order = _Order(name, pairs, params, at, after, key)
    made: list[int] = []
    try:
        return with_http(home, _trigger, order, wait, as_json, made)
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
    client: HttpClient, order: _Order, wait: bool, as_json: bool, made: list[int]
) -> int:
    """`made` tells the caller the run's id as soon as there is one, also if this is interrupted."""
    from mainspring.cli.output import print_json
    from mainspring.cli.watch import follow_run

    run = await _make(client, order)
    made.append(run.id)
    if wait:
        return await follow_run(client, run.id, as_json)
    if as_json:
        print_json(run)
    else:
        await _print(client, run)
    return DONE


async def _make(client: HttpClient, order: _Order) -> Run:
    from mainspring.cli.named import parameters_of

    dag = await client.dags.show(order.name)
    return await client.dags.create_run(
        order.name,
        parameters=parameters_of(dag, order.pairs, order.params),
        run_at=await _start(client, order.at, order.after),
        idempotency_key=order.key,
    )


async def _print(client: HttpClient, run: Run) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, faint
    from mainspring.cli.words import moment_words

    starts, now = "", await clock(client)
    if run.due_at > now:
        starts = f", starts {moment_words(run.due_at, now)}"
    out = console()
    out.print(f"run {run.id} of {run.dag} version {run.version}{starts}")
    out.print(faint(f"follow it: mainspring run watch {run.id}"))


async def _start(client: HttpClient, at: str | None, after: str | None) -> datetime | None:
    from mainspring.cli.given import given_moment
    from mainspring.cli.named import clock

    if at is not None:
        return given_moment(at)
    if after is None:
        return None
    rest = timedelta(seconds=parse_duration(after, what="`--in`"))
    # The database's clock is the clock, not the one of this machine.
    return await clock(client) + rest
