"""Retrying and discarding dead letters, one or many: in sight, and again if need be."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import click

from mainspring.cli.dlq import Choice, Filter, choose, given_letters
from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.given import person
from mainspring.cli.output import console, error_console, faint, print_json
from mainspring.cli.words import counted, safe
from mainspring.client import Client
from mainspring.client.redriving import (
    BATCH,
    Chosen,
    Redriven,
    Verb,
    page_chosen,
    redrive,
    told_discarded,
    told_retried,
)
from mainspring.domain.errors import InputError, UnavailableError
from mainspring.domain.names import listed
from mainspring.store import dead_letters
from mainspring.store.dead_letters import Letter
from mainspring.store.reading import read_clock
from mainspring.store.runs import Deed

_LEFT_SHOWN = 10


class Order(NamedTuple):
    verb: Verb
    note: str
    yes: bool
    as_json: bool

    @property
    def done(self) -> str:
        return "retried" if self.verb == "retry" else "discarded"


async def carry_out(
    client: Client, order: Order, which: str | None, task: str | None, wanted: Filter
) -> int:
    until = await client.ask(read_clock)
    letters: list[Letter] | None = None
    if which is None:
        choice = await choose(client, wanted, until)
    else:
        likeness, letters = await given_letters(client, which, task)
        groups = []
        if likeness is not None:
            letters = None
            groups = [
                group
                for group in await client.ask(dead_letters.list_groups, until=until)
                if group.likeness == likeness
            ]
        choice = Choice(groups, None, until)
    total = len(letters) if letters is not None else sum(g.letters for g in choice.groups)
    if total > 1 and not order.yes:
        _ask(order, total, len(choice.groups))
    sums = Redriven()
    chosen = Chosen([group.likeness for group in choice.groups], choice.since, choice.until)
    batches = _given(letters) if letters is not None else page_chosen(client, chosen)
    by = Deed(person(), order.note)
    try:
        with _progress(order, total) as progress:
            async for batch in batches:
                together = chosen if letters is None else None
                await redrive(client, order.verb, batch, together, by, sums)
                progress.dealt_with(len(batch))
    except (asyncio.CancelledError, UnavailableError) as error:
        sums.ended = str(error) or "interrupted"
        _tell(order, sums)
        if isinstance(error, UnavailableError):
            return FAILED
        raise
    _tell(order, sums)
    return FAILED if sums.left else DONE


def _ask(order: Order, total: int, groups: int) -> None:
    """Once, before many."""
    of = f" of {counted(groups, 'group')}" if groups > 1 else ""
    if not sys.stdin.isatty() or order.as_json:
        raise InputError(
            f"this would {order.verb} {counted(total, 'dead letter')}{of}",
            hint="add `--yes` if that is what you want",
        )
    click.confirm(f"{order.verb.capitalize()} {counted(total, 'dead letter')}{of}?", abort=True)


# --- batch by batch -----------------------------------------------------------------------


async def _given(letters: list[Letter]) -> AsyncIterator[list[Letter]]:
    yield letters


# --- in sight -----------------------------------------------------------------------------


class _Progress(Protocol):
    def dealt_with(self, letters: int) -> None: ...


class _Bar:
    def __init__(self, bar: Any, number: Any) -> None:
        self._bar, self._number = bar, number

    def dealt_with(self, letters: int) -> None:
        self._bar.advance(self._number, letters)


class _Lines:
    def __init__(self, order: Order, total: int) -> None:
        self._order, self._total, self._dealt = order, total, 0

    def dealt_with(self, letters: int) -> None:
        self._dealt += letters
        if self._total > BATCH:
            click.echo(f"{self._dealt:,} of {self._total:,} {self._order.done}", err=True)


@contextmanager
def _progress(order: Order, total: int) -> Iterator[_Progress]:
    """A bar for whoever watches; a line for each batch in a pipe."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    seen = error_console()
    if not seen.is_terminal or total <= 1:
        yield _Lines(order, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=seen, transient=True) as bar:
        yield _Bar(bar, bar.add_task(order.done, total=total))


def _tell(order: Order, sums: Redriven) -> None:
    if order.as_json:
        print_json(told_retried(sums) if order.verb == "retry" else told_discarded(sums))
        return
    out = console()
    out.print(f"{counted(sums.done, 'dead letter')} {order.done}.")
    for each in sums.left[:_LEFT_SHOWN]:
        out.print(f"left: run {each.run_id}, {safe(listed(each.tasks))}: {safe(each.reason)}")
        out.print(faint(f"      {safe(each.hint)}"))
    if len(sums.left) > _LEFT_SHOWN:
        out.print(f"and {counted(len(sums.left) - _LEFT_SHOWN, 'other run')}; `--json` lists all")
    if sums.ended:
        out.print(f"It ended early: {safe(sums.ended)}. Give the command again to go on.")
