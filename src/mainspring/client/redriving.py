"""Dead letters are retried or discarded, one or many, in batches.

Only what was a dead letter when it began is touched, and each once: what fails again in the
meantime waits for another look. A letter that was dealt with is off the list, so what was
interrupted is simply asked again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

import msgspec

from mainspring.client.client import Client
from mainspring.domain.errors import ConflictError, NotFoundError
from mainspring.store import dead_letters, letter_shapes
from mainspring.store.dead_letters import Letter
from mainspring.store.runs import Deed

BATCH = 100

Verb = Literal["retry", "discard"]


class Chosen(NamedTuple):
    """All letters of these groups, of a stretch of time."""

    likenesses: list[UUID]
    since: datetime | None = None
    until: datetime | None = None


class Left(NamedTuple):
    """Letters of a run that cannot be retried now."""

    run_id: int
    tasks: list[str]
    reason: str
    hint: str


class Redriven(msgspec.Struct):
    """What it came to so far."""

    done: int = 0
    left: list[Left] = []
    ended: str = ""
    """Why it came to an early end."""


async def page_chosen(client: Client, chosen: Chosen) -> AsyncIterator[list[Letter]]:
    for likeness in chosen.likenesses:
        after: Letter | None = None
        while batch := await client.ask(
            dead_letters.page_letters,
            likeness,
            after=None if after is None else after.place,
            since=chosen.since,
            until=chosen.until,
            limit=BATCH,
        ):
            yield batch
            after = batch[-1]


async def redrive(
    client: Client,
    verb: Verb,
    letters: Sequence[Letter],
    chosen: Chosen | None,
    by: Deed,
    so_far: Redriven,
) -> None:
    """Deal with a batch. With `chosen`, also with all else of the same runs that was chosen."""
    if verb == "discard":
        so_far.done += await client.ask(dead_letters.discard_letters, letters, by)
        return
    for run_id, of_run in _in_runs(letters).items():
        if chosen is not None:
            of_run = await _all_of_run(client, run_id, chosen)
        try:
            if of_run and await client.retry(of_run, by):
                so_far.done += len(of_run)
        except (ConflictError, NotFoundError) as error:
            names = [letter.task for letter in of_run]
            so_far.left.append(Left(run_id, names, error.message, error.hint))


async def _all_of_run(client: Client, run_id: int, chosen: Chosen) -> list[Letter]:
    """What was chosen of a run goes together: what comes after two of them needs both."""
    likenesses = set(chosen.likenesses)
    return [
        letter
        for letter in await client.ask(dead_letters.letters_of_run, run_id)
        if letter.likeness in likenesses
        and (chosen.since is None or letter.failed_at >= chosen.since)
        and (chosen.until is None or letter.failed_at <= chosen.until)
    ]


def _in_runs(letters: Sequence[Letter]) -> dict[int, list[Letter]]:
    found: dict[int, list[Letter]] = {}
    for letter in letters:
        found.setdefault(letter.run_id, []).append(letter)
    return found


def told_retried(found: Redriven) -> letter_shapes.LettersRetried:
    return letter_shapes.LettersRetried(
        retried=found.done, left=_told_left(found), ended=found.ended or None
    )


def told_discarded(found: Redriven) -> letter_shapes.LettersDiscarded:
    return letter_shapes.LettersDiscarded(
        discarded=found.done, left=_told_left(found), ended=found.ended or None
    )


def _told_left(found: Redriven) -> list[letter_shapes.LettersLeft]:
    return [
        letter_shapes.LettersLeft(
            run=each.run_id, tasks=each.tasks, reason=each.reason, hint=each.hint
        )
        for each in found.left
    ]
