"""`mainspring queue`: what waits, by queue and slot kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option
from mainspring.cli.pause import pause_queue, resume_queue

if TYPE_CHECKING:
    from rich.table import Table

    from mainspring.http import HttpClient
    from mainspring.store.shapes import Lane


@click.group()
def queue() -> None:
    """See what waits in queues, and pause them."""


queue.add_command(pause_queue)
queue.add_command(resume_queue)


@queue.command("list")
@json_option
@home_option
def list_queues(as_json: bool, home: Path | None) -> None:
    """Per queue and kind of slot: what waits, since when, what runs, and who serves it."""
    from mainspring.cli.session import with_http

    with_http(home, _list, as_json)


@queue.command()
@click.argument("name")
@json_option
@home_option
def show(name: str, as_json: bool, home: Path | None) -> None:
    """One queue: whether it is paused, what waits and runs, and who serves it."""
    from mainspring.cli.session import with_http

    with_http(home, _show, name, as_json)


async def _list(client: HttpClient, as_json: bool) -> None:
    from mainspring.cli.named import clock
    from mainspring.cli.output import console, faint, print_json
    from mainspring.cli.words import pause_words, safe

    lanes = (await client.queues.list()).items
    if as_json:
        print_json(lanes)
        return
    out, now = console(), await clock(client)
    if lanes:
        out.print(_table(lanes))
    else:
        out.print("Nothing waits, nothing runs, and no worker serves a queue.")
    for paused in (await client.queues.list_pauses()).items:
        if paused.what == "queue":
            out.print(faint(f"{safe(paused.name)} was paused {pause_words(paused.pause, now)}"))


async def _show(client: HttpClient, name: str, as_json: bool) -> None:
    from rich.text import Text

    from mainspring.cli.named import clock
    from mainspring.cli.output import console, indented, pairs, print_json
    from mainspring.cli.words import pause_words, safe

    found = await client.queues.show(name)
    if as_json:
        print_json(found)
        return
    out, now = console(), await clock(client)
    out.print(Text(safe(name), style="bold"))
    out.print(
        pairs(
            [
                ("paused", pause_words(found.pause, now) if found.pause else None),
                ("workers", safe(", ".join(found.workers)) or "none"),
            ]
        )
    )
    if found.kinds:
        out.print()
        out.print(indented(_table(found.kinds)))


def _table(lanes: Sequence[Lane]) -> Table:
    from rich.text import Text

    from mainspring.cli.output import faint, table
    from mainspring.cli.words import number, rate, roughly, safe
    from mainspring.store.reading import COUNT_MAX

    # What waits for a paused dag has a column only where there is some.
    aside = ["aside"] if any(lane.aside for lane in lanes) else []
    numbers = ["ready", "oldest", *aside, "running", "rate", "workers"]
    lines = table("queue", "kind", *numbers, right=numbers)
    for lane in lanes:
        unserved = lane.ready > 0 and lane.workers == 0
        name = Text(safe(lane.queue))
        if lane.pause is not None:
            name.append("  paused", style="yellow")
        lines.add_row(
            name,
            lane.kind,
            number(lane.ready, at_most=COUNT_MAX) if lane.ready else faint("0"),
            "" if lane.oldest_seconds is None else roughly(lane.oldest_seconds),
            *([number(lane.aside, at_most=COUNT_MAX)] if aside else []),
            number(lane.running) if lane.running else faint("0"),
            rate(lane.per_second) if lane.per_second else faint("0"),
            Text("none", style="bold red") if unserved else str(lane.workers),
        )
    return lines
