"""The console, the colours of states, tables and JSON: one look for all commands.

Colour is left out where it is not wanted (`NO_COLOR`, a pipe) and nothing is folded in a pipe, so
that `grep` finds whole lines. Text that users wrote goes through `words.safe` and is never
read as markup.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mainspring.domain.states import MACHINES, Machine, Tone

STYLES: Mapping[Tone, str] = {
    Tone.QUIET: "bright_black",
    Tone.PENDING: "cyan",
    Tone.ACTIVE: "bold blue",
    Tone.GOOD: "green",
    Tone.WARN: "yellow",
    Tone.BAD: "bold red",
}
MARKS: Mapping[Tone, str] = {
    Tone.QUIET: "·",
    Tone.PENDING: "○",
    Tone.ACTIVE: "●",
    Tone.GOOD: "✓",
    Tone.WARN: "↻",
    Tone.BAD: "✗",
}
FAINT = "bright_black"
_PIPE_WIDTH = 1000


def console() -> Console:
    return _console(sys.stdout)


def error_console() -> Console:
    return _console(sys.stderr)


def is_terminal() -> bool:
    """Whether somebody watches, so that lines may be written anew."""
    return console().is_terminal and os.environ.get("TERM") != "dumb"


def print_json(value: Any) -> None:
    """One document: times in RFC 3339 UTC, lengths of time in seconds."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    sys.stdout.write(text + "\n")


def state_text(machine: Machine, state: str) -> Text:
    """A state with its mark, in its colour."""
    facts = machine.facts[state]
    return Text(f"{MARKS[facts.tone]} {facts.label.lower()}", style=STYLES[facts.tone])


def state_style(machine: Machine, state: str) -> str:
    return STYLES[machine.facts[state].tone]


def table(*columns: str, right: Iterable[str] = (), fold: Iterable[str] = ()) -> Table:
    """A table without lines. When room is short, columns in `fold` give it up first."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=FAINT)
    to_right, to_fold = set(right), set(fold)
    for name in columns:
        made.add_column(
            name,
            justify="right" if name in to_right else "left",
            overflow="fold" if name in to_fold else "ellipsis",
            no_wrap=name not in to_fold,
        )
    return made


def pairs(items: Sequence[tuple[str, RenderableType | None]]) -> RenderableType:
    """Names and what they stand for, one below the other; those without a value are left out."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style=FAINT, no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in items:
        if value is not None and value != "":
            grid.add_row(name, value)
    return indented(grid)


def indented(content: RenderableType) -> RenderableType:
    return Padding(content, (0, 0, 0, 2), expand=False)


def bullets(items: Iterable[tuple[Text, RenderableType]]) -> Table:
    """A mark and a text each; long texts stay right of their marks."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for mark, text in items:
        grid.add_row(mark, text)
    return grid


def one_line(text: str, style: str = FAINT) -> Text:
    """A cell that gives up its room first and is cut, not folded."""
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def mark_text(tone: Tone) -> Text:
    return Text(MARKS[tone], style=STYLES[tone])


def heading(text: str) -> Text:
    return Text(text, style="bold")


def faint(text: str) -> Text:
    return Text(text, style=FAINT)


def _console(file: IO[str]) -> Console:
    made = Console(file=file, markup=False, highlight=False, emoji=False, soft_wrap=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _PIPE_WIDTH
    return made


assert all(facts.tone in STYLES for machine in MACHINES for facts in machine.facts.values())
