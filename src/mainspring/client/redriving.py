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
from mainspring.store import dead_letters
from mainspring.store.dead_letters import Letter
from mainspring.store.runs import Deed

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


class Place(NamedTuple):
    """A letter's, among all that were chosen."""

    likeness: UUID
    failed_at: datetime
    task_id: int


class Redriven(msgspec.Struct):
    """What it came to so far."""

    done: int = 0
    left: list[Left] = []
    runs_left: set[int] = set()
    ended: str = ""
    """Why it came to an early end."""
    last: Place | None = None
    """If there is more to do: of the last that was dealt with."""


async def page_chosen(
    client: Client, chosen: Chosen, *, after: Place | None = None, rows: int
) -> AsyncIterator[list[Letter]]:
    """In an order that stays the same, those that come after this place."""
    for likeness in sorted(chosen.likenesses):
        if after is not None and likeness < after.likeness:
            continue
        place = after[1:] if after is not None and likeness == after.likeness else None
        while batch := await client.ask(
            dead_letters.page_letters,
            likeness,
            after=place,
            since=chosen.since,
            until=chosen.until,
            limit=rows,
        ):
            yield batch
            place = batch[-1].place


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
        if run_id in so_far.runs_left:
            continue
        if chosen is not None:
            of_run = await _all_of_run(client, run_id, chosen)
        try:
            if of_run and await client.retry(of_run, by):
                so_far.done += len(of_run)
        except (ConflictError, NotFoundError) as error:
            names = [letter.task for letter in of_run]
            so_far.left.append(Left(run_id, names, error.message, error.hint))
            so_far.runs_left.add(run_id)


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
