"""`mainspring queue`: what waits, by queue and slot kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.client import Client


@click.group()
def queue() -> None:
    """See what waits in queues."""


@queue.command("list")
@json_option
@home_option
def list_queues(as_json: bool, home: Path | None) -> None:
    """Per queue and kind of slot: what waits, since when, what runs, and who serves it."""
    from mainspring.cli.session import with_client

    with_client(home, _list, as_json)


async def _list(client: Client, as_json: bool) -> None:
    from rich.text import Text

    from mainspring.cli import shapes
    from mainspring.cli.output import console, faint, print_json, table
    from mainspring.cli.words import number, roughly, safe
    from mainspring.store import reading

    lanes = await client.ask(reading.list_lanes)
    if as_json:
        print_json([shapes.lane_line(lane) for lane in lanes])
        return
    out = console()
    if not lanes:
        out.print("Nothing waits, nothing runs, and no worker serves a queue.")
        return
    lines = table(
        "queue",
        "kind",
        "ready",
        "oldest",
        "running",
        "workers",
        right=["ready", "oldest", "running", "workers"],
    )
    for lane in lanes:
        unserved = lane.ready > 0 and lane.workers == 0
        lines.add_row(
            safe(lane.queue),
            lane.kind,
            number(lane.ready, at_most=reading.COUNT_MAX) if lane.ready else faint("0"),
            "" if lane.oldest_seconds is None else roughly(lane.oldest_seconds),
            number(lane.running) if lane.running else faint("0"),
            Text("none", style="bold red") if unserved else str(lane.workers),
        )
    out.print(lines)
