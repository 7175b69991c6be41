"""Retrying and discarding dead letters, one or many: in sight, and again if need be."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

import click
import msgspec

from mainspring.cli.dlq import Filter, chosen_groups, given_letters, given_since, is_group
from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.named import clock
from mainspring.cli.output import console, error_console, faint, print_json
from mainspring.cli.words import counted, safe
from mainspring.domain.errors import InputError, UnavailableError
from mainspring.domain.names import listed
from mainspring.http import HttpClient
from mainspring.http.models import LetterFilter, LetterOf
from mainspring.store.letter_shapes import (
    LettersDiscarded,
    LettersLeft,
    LettersRetried,
    SomeRetried,
)

BATCH = 100
"""How many letters a request deals with, so that one can see how it goes on."""
_LEFT_SHOWN = 10


class Order(NamedTuple):
    verb: Literal["retry", "discard"]
    note: str
    yes: bool
    as_json: bool

    @property
    def done(self) -> str:
        return "retried" if self.verb == "retry" else "discarded"


class _Meant(msgspec.Struct, frozen=True):
    """What the order is about, as a request says it."""

    total: int
    groups_count: int = 0
    groups: list[str] = []
    letters: list[LetterOf] = []
    filter: LetterFilter | None = None


class _Sums(msgspec.Struct):
    """What it came to so far."""

    done: int = 0
    left: dict[int, LettersLeft] = {}
    """By run, which is told once."""
    ended: str | None = None
    """Why it came to an early end."""


async def carry_out(
    client: HttpClient, order: Order, which: str | None, task: str | None, wanted: Filter
) -> int:
    # What fails from now on waits for another look.
    until = await clock(client)
    meant = await _meant(client, which, task, wanted, until)
    if meant.total > 1 and not order.yes:
        _ask(order, meant.total, meant.groups_count)
    sums = _Sums()
    try:
        with _progress(order, meant.total) as progress:
            await _in_steps(client, order, meant, sums, progress)
    except (asyncio.CancelledError, UnavailableError) as error:
        sums.ended = str(error) or "interrupted"
        _tell(order, sums)
        if isinstance(error, UnavailableError):
            return FAILED
        raise
    _tell(order, sums)
    return FAILED if sums.left or sums.ended else DONE


async def _meant(
    client: HttpClient, which: str | None, task: str | None, wanted: Filter, until: datetime
) -> _Meant:
    if which is None:
        groups = await chosen_groups(client, wanted, until)
        since = await given_since(client, wanted.since)
        return _Meant(
            sum(group.count for group in groups),
            len(groups),
            filter=LetterFilter(
                dag=wanted.dag, task=wanted.task, error=wanted.error, since=since, until=until
            ),
        )
    if is_group(which):
        if task is not None:
            raise InputError(
                f"`{which}` is a group, whose letters are all of one task",
                hint="give the run to name a task of it",
            )
        groups = (await client.dead_letters.list(group=which)).items
        return _Meant(sum(group.count for group in groups), len(groups), [which])
    run_id, letters = await given_letters(client, which, task)
    return _Meant(len(letters), letters=[LetterOf(run=run_id, task=task)])


async def _in_steps(
    client: HttpClient, order: Order, meant: _Meant, sums: _Sums, progress: _Progress
) -> None:
    letters = client.dead_letters
    ask = letters.retry_letters if order.verb == "retry" else letters.discard_letters
    cursor: str | None = None
    while True:
        told = await ask(
            groups=meant.groups,
            letters=meant.letters,
            filter=meant.filter,
            note=order.note,
            limit=BATCH,
            cursor=cursor,
        )
        done = told.retried if isinstance(told, SomeRetried) else told.discarded
        sums.done += done
        sums.left |= {each.run: each for each in told.left}
        progress.dealt_with(done + sum(len(each.tasks) for each in told.left))
        if (cursor := told.next) is None:
            sums.ended = told.ended
            return


def _ask(order: Order, total: int, groups: int) -> None:
    """Once, before many."""
    of = f" of {counted(groups, 'group')}" if groups > 1 else ""
    if not sys.stdin.isatty() or order.as_json:
        raise InputError(
            f"this would {order.verb} {counted(total, 'dead letter')}{of}",
            hint="add `--yes` if that is what you want",
        )
    click.confirm(f"{order.verb.capitalize()} {counted(total, 'dead letter')}{of}?", abort=True)


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


def _tell(order: Order, sums: _Sums) -> None:
    left = list(sums.left.values())
    if order.as_json:
        if order.verb == "retry":
            print_json(LettersRetried(retried=sums.done, left=left, ended=sums.ended))
        else:
            print_json(LettersDiscarded(discarded=sums.done, left=left, ended=sums.ended))
        return
    out = console()
    out.print(f"{counted(sums.done, 'dead letter')} {order.done}.")
    for each in left[:_LEFT_SHOWN]:
        out.print(f"left: run {each.run}, {safe(listed(each.tasks))}: {safe(each.reason)}")
        out.print(faint(f"      {safe(each.hint)}"))
    if len(left) > _LEFT_SHOWN:
        out.print(f"and {counted(len(left) - _LEFT_SHOWN, 'other run')}; `--json` lists all")
    if sums.ended:
        out.print(f"It ended early: {safe(sums.ended)}. Give the command again to go on.")
