"""`mainspring backfill watch`: its progress with a bar on a terminal, as lines elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import RenderableType

    from mainspring.http import HttpClient
    from mainspring.store.backfill_shapes import Backfill

_POLL_SECONDS = 0.5
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
    from mainspring.cli.session import with_http

    return with_http(home, follow_backfill, backfill, as_json)


async def follow_backfill(client: HttpClient, backfill_id: int, as_json: bool) -> int:
    """Stay until nothing more will happen by itself; the answer is the exit code."""
    from mainspring.cli.output import is_terminal, print_json
    from mainspring.domain.states import BackfillState

    if as_json:
        line = await _read(client, backfill_id)
        while not _rests(line):
            await asyncio.sleep(_POLL_SECONDS)
            line = await _read(client, backfill_id)
        print_json(line)
    else:
        line = await (_live if is_terminal() else _lines)(client, backfill_id)
        _print_end(line)
    well = line.state is BackfillState.FINISHED and not line.failed + line.cancelled
    return DONE if well else FAILED


async def _read(client: HttpClient, backfill_id: int) -> Backfill:
    """Without its instants."""
    from mainspring.store.backfill_shapes import Backfill

    found = await client.backfills.show(backfill_id, limit=0)
    return Backfill(**{name: getattr(found, name) for name in Backfill.__struct_fields__})


def _rests(line: Backfill) -> bool:
    """Whether nothing more will happen by itself: it is over or paused, and so are its runs."""
    from mainspring.domain.states import BackfillState

    ended = line.ended_at is not None or line.state is BackfillState.PAUSED
    return ended and not line.open


async def _live(client: HttpClient, backfill_id: int) -> Backfill:
    from rich.live import Live

    from mainspring.cli.named import clock
    from mainspring.cli.output import console

    line = await _read(client, backfill_id)
    first = picture(line, await clock(client))
    with Live(first, console=console(), auto_refresh=False) as live:
        while not _rests(line):
            await asyncio.sleep(_POLL_SECONDS)
            line = await _read(client, backfill_id)
            live.update(picture(line, await clock(client)), refresh=True)
    return line


async def _lines(client: HttpClient, backfill_id: int) -> Backfill:
    """A line for each tenth."""
    from mainspring.cli.backfill_words import count_words
    from mainspring.cli.named import clock
    from mainspring.cli.words import time_of_day

    told, told_still = -1, False
    while True:
        line, now = await _read(client, backfill_id), await clock(client)
        ended = _rests(line)
        tenths = line.done * 10 // line.instants
        if tenths > told or ended:
            told = tenths
            click.echo(f"{time_of_day(now)}  {line.done:,}/{line.instants:,}  {count_words(line)}")
        if ended:
            return line
        if not told_still and (hint := _still(line, now)):
            told_still = True
            click.echo(f"{time_of_day(now)}  {hint}")
        await asyncio.sleep(_POLL_SECONDS)


def picture(line: Backfill, now: datetime) -> RenderableType:
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
        (f"  {_left_words(line, now)}", FAINT),
    )
    tone = STYLES[Tone.BAD if line.failed else Tone.GOOD]
    bar = ProgressBar(line.instants, line.done, width=40, complete_style=tone, finished_style=tone)
    progress = Table.grid(padding=(0, 2, 0, 0))
    progress.add_row(bar, f"{line.done:,}/{line.instants:,}", faint(count_words(line)))
    parts: list[RenderableType] = [title, indented(progress)]
    if hint := _still(line, now):
        parts.append(faint(f"  {hint}"))
    return Group(*parts)


def _still(line: Backfill, now: datetime) -> str:
    from mainspring.domain.states import BackfillState

    begun = line.made + line.existing + line.excluded
    waited = (now - line.created_at).total_seconds()
    if line.state is BackfillState.RUNNING and not begun and waited > _STILL_SECONDS:
        return "nothing has begun; `mainspring doctor` says whether an engine is at work"
    return ""


def _left_words(line: Backfill, now: datetime) -> str:
    """How long the rest might take, by what those runs took that are over."""
    from mainspring.cli.words import roughly

    ended = line.succeeded + line.failed + line.cancelled
    if line.ended_at is not None or ended < 3:
        return ""
    passed = (now - line.created_at).total_seconds()
    # Instants that are passed by cost nothing, and nobody knows how many of the rest are.
    return f"about {roughly(passed / ended * (line.instants - line.done))} left at most"


def _print_end(line: Backfill) -> None:
    from mainspring.cli.output import console, faint
    from mainspring.cli.words import safe
    from mainspring.domain.states import BACKFILL

    out = console()
    why = f": {safe(line.halt_note)}" if line.halt_note else ""
    out.print(f"backfill {line.id} is {BACKFILL.facts[line.state].label.lower()}{why}")
    if line.failed:
        out.print(faint(f"`mainspring backfill show {line.id} --failed` lists what failed"))
