"""`mainspring backfill watch`: its progress with a bar on a terminal, as lines elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mainspring.client import Client
    from mainspring.store.backfills import BackfillLine

_POLL_SECONDS = 0.2
_STILL_SECONDS = 5.0
"""One that has not begun after this long gets a word on how to find out why."""


@click.command("watch")
@click.argument("backfill", type=click.IntRange(1))
@json_option
@home_option
def watch_backfill(backfill: int, as_json: bool, home: Path | None) -> int:
    """Follow a backfill until it is over or paused; exit 0 only if all its runs succeeded.

    Ctrl-C leaves it going. With --json it is printed in the end.
    """
    from mainspring.cli.session import with_client

    return with_client(home, follow_backfill, backfill, as_json)


async def follow_backfill(client: Client, backfill_id: int, as_json: bool) -> int:
    """Stay until nothing more will happen by itself; the answer is the exit code."""
    from mainspring.cli.output import is_terminal, print_json
    from mainspring.domain.states import BackfillState
    from mainspring.store.backfill_shapes import backfill_line

    if as_json:
        line = await client.wait_backfill(backfill_id)
        print_json(backfill_line(line))
    else:
        line = await (_live if is_terminal() else _lines)(client, backfill_id)
        _print_end(line)
    well = line.state is BackfillState.FINISHED and not line.failed + line.cancelled
    return DONE if well else FAILED


async def _live(client: Client, backfill_id: int) -> BackfillLine:
    from rich.live import Live

    from mainspring.cli.output import console

    line = await client.backfill(backfill_id)
    with Live(picture(line), console=console(), auto_refresh=False) as live:
        while not (line.over or line.halted):
            await asyncio.sleep(_POLL_SECONDS)
            line = await client.backfill(backfill_id)
            live.update(picture(line), refresh=True)
    return line


async def _lines(client: Client, backfill_id: int) -> BackfillLine:
    """A line for each tenth."""
    from mainspring.cli.backfill_words import count_words
    from mainspring.cli.words import time_of_day

    told, told_still = -1, False
    while True:
        line = await client.backfill(backfill_id)
        ended = line.over or line.halted
        tenths = line.done * 10 // line.total
        if tenths > told or ended:
            told = tenths
            click.echo(
                f"{time_of_day(line.read_at)}  {line.done:,}/{line.total:,}  {count_words(line)}"
            )
        if ended:
            return line
        if not told_still and (hint := _still(line)):
            told_still = True
            click.echo(f"{time_of_day(line.read_at)}  {hint}")
        await asyncio.sleep(_POLL_SECONDS)


def picture(line: BackfillLine) -> RenderableType:
    """How far it is, as a bar."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    from mainspring.cli.backfill_words import count_words, subject_words
    from mainspring.cli.output import FAINT, STYLES, faint, indented, state_text
    from mainspring.cli.words import safe
    from mainspring.domain.states import BACKFILL, Tone

    title = Text.assemble(
        (f"backfill {line.id}", "bold"),
        "  ",
        (safe(subject_words(line)), "bold"),
        "  ",
        state_text(BACKFILL, line.state),
        (f"  {_left_words(line)}", FAINT),
    )
    tone = STYLES[Tone.BAD if line.failed else Tone.GOOD]
    bar = ProgressBar(line.total, line.done, width=40, complete_style=tone, finished_style=tone)
    progress = Table.grid(padding=(0, 2, 0, 0))
    progress.add_row(bar, f"{line.done:,}/{line.total:,}", faint(count_words(line)))
    parts: list[RenderableType] = [title, indented(progress)]
    if hint := _still(line):
        parts.append(faint(f"  {hint}"))
    return Group(*parts)


def _still(line: BackfillLine) -> str:
    from mainspring.domain.states import BackfillState

    begun = line.made + line.existing + line.excluded
    waited = (line.read_at - line.created_at).total_seconds()
    if line.state is BackfillState.RUNNING and not begun and waited > _STILL_SECONDS:
        return "nothing has begun; `mainspring doctor` says whether an engine is at work"
    return ""


def _left_words(line: BackfillLine) -> str:
    """How long the rest might take, by what those runs took that are over."""
    from mainspring.cli.words import roughly

    ended = line.succeeded + line.failed + line.cancelled
    if line.ended_at is not None or ended < 3:
        return ""
    passed = (line.read_at - line.created_at).total_seconds()
    # Instants that are passed by cost nothing, and nobody knows how many of the rest are.
    return f"about {roughly(passed / ended * (line.total - line.done))} left at most"


def _print_end(line: BackfillLine) -> None:
    from mainspring.cli.output import console, faint
    from mainspring.cli.words import safe
    from mainspring.domain.states import BACKFILL

    out = console()
    why = f": {safe(line.halt_note)}" if line.halt_note else ""
    out.print(f"backfill {line.id} is {BACKFILL.facts[line.state].label.lower()}{why}")
    if line.failed:
        out.print(faint(f"`mainspring backfill show {line.id} --failed` lists what failed"))
