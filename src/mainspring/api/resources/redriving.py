"""What becomes of dead letters: retried or discarded, one or many."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, NamedTuple
from uuid import UUID

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.pages import Cursor, cursor_of, place_of
from mainspring.api.problems import field_refusal
from mainspring.api.resources.dead_letters import (
    GroupId,
    LetterFilter,
    dead_letters,
    moment_in,
    number_in,
    wanted_groups,
)
from mainspring.api.resources.runs import RunId, TaskName
from mainspring.api.routes import Example
from mainspring.client.redriving import Chosen, Place, Redriven, Verb, page_chosen, redrive
from mainspring.domain.errors import NotFoundError, UnavailableError
from mainspring.domain.names import shown
from mainspring.domain.notes import NOTE_LENGTH_MAX
from mainspring.domain.roles import Role
from mainspring.store import letter_shapes, reading
from mainspring.store.connection import Connection
from mainspring.store.dead_letters import Letter, find_likeness, letters_of_run
from mainspring.store.runs import Deed

__all__ = ["dead_letters"]

LETTERS_MAX = 2_000
"""How many letters one request deals with; it is then asked again for the rest."""
BATCH = 100
"""How many are read at a time."""

_BEGINNING = Place(UUID(int=0), datetime(1, 1, 2, tzinfo=UTC), 0)
_GROUP = Example(path={"group": "e-3f9ac1d2"})
_NOTED = {"note": "the source is back"}

Note = Annotated[str, Meta(max_length=NOTE_LENGTH_MAX)]


class LetterNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    note: Note = ""
    """Why; it is kept."""


class LetterOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The dead letters of a run, or of one task of it."""

    run: RunId
    task: TaskName | None = None


class Which(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    groups: Annotated[list[GroupId], Meta(max_length=1_000)] = []
    """All letters of these groups."""
    letters: Annotated[list[LetterOf], Meta(max_length=1_000)] = []
    """Those of these runs, or of these tasks of them."""
    filter: LetterFilter | None = None
    """All that it leaves, instead of groups; `{}`: all that there are."""
    note: Note = ""
    """Why; it is kept."""
    limit: Annotated[int, Meta(ge=1, le=LETTERS_MAX)] = LETTERS_MAX
    """How many this request deals with, about."""
    cursor: Cursor | None = None
    """The `next` of the request before, to go on with the rest of the same."""


@dead_letters.post(
    "/dead-letters/retry",
    needs=Role.OPERATOR,
    refusals=(404,),
    example=Example(body={"groups": ["e-3f9ac1d2"], **_NOTED}),
)
async def retry_letters(call: Call, body: Which) -> letter_shapes.SomeRetried:
    """Run dead letters again: each in its own run, with what comes after it.

    What cannot be retried now is `left`, with the reason. Of very many some are dealt with; `ended`
    then says so, and the same with `next` as `cursor` goes on. What fails again meanwhile waits for
    another look.
    """
    return _told_retried(await _redriven(call, "retry", body))


@dead_letters.post(
    "/dead-letters/discard",
    needs=Role.OPERATOR,
    refusals=(404,),
    example=Example(body={"letters": [{"run": 4098, "task": "extract"}], **_NOTED}),
)
async def discard_letters(call: Call, body: Which) -> letter_shapes.SomeDiscarded:
    """Take dead letters off the list. Their runs stay as they are, in history."""
    return _told_discarded(await _redriven(call, "discard", body))


@dead_letters.post(
    "/dead-letters/{group}/retry",
    needs=Role.OPERATOR,
    example=Example(path=_GROUP.path, body=_NOTED),
)
async def retry_group(call: Call, group: GroupId, body: LetterNote) -> letter_shapes.SomeRetried:
    """Run all dead letters of a group again."""
    return _told_retried(await _redriven(call, "retry", Which([group], note=body.note)))


@dead_letters.post(
    "/dead-letters/{group}/discard",
    needs=Role.OPERATOR,
    example=Example(path=_GROUP.path, body=_NOTED),
)
async def discard_group(
    call: Call, group: GroupId, body: LetterNote
) -> letter_shapes.SomeDiscarded:
    """Take all dead letters of a group off the list."""
    return _told_discarded(await _redriven(call, "discard", Which([group], note=body.note)))


class _Redriven(NamedTuple):
    found: Redriven
    next: str | None


async def _redriven(call: Call, verb: Verb, which: Which) -> _Redriven:
    if not which.groups and not which.letters and which.filter is None:
        raise field_refusal(
            "/groups", "nothing is named", hint="name groups, or letters by run, or give a filter"
        )
    if which.groups and which.filter is not None:
        raise field_refusal("/filter", "groups are named, too", hint="give one of them")
    by = Deed(call.who, which.note)
    since = None if which.filter is None else which.filter.since
    after, until = _gone_on(which.cursor)
    if until is None:
        until = await call.services.read(reading.read_clock)
        if which.filter is not None and which.filter.until is not None:
            until = min(until, which.filter.until)
    # All that is named is looked up before anything is done.
    likenesses, letters = await call.services.read(_meant, which, again=after is not None)
    chosen = Chosen(likenesses, since, until)
    found, dealt, last = Redriven(), 0, after
    try:
        async for batch, together in _batches(call, chosen, letters, after, which.limit):
            if dealt >= which.limit:
                found.ended = f"{dealt:,} letters were dealt with; ask again for the rest"
                return _Redriven(found, _cursor_after(last, until))
            await redrive(call.services.client, verb, batch, together, by, found)
            dealt += len(batch)
            if together is not None:
                last = Place(batch[-1].likeness, *batch[-1].place)
    except UnavailableError as error:
        # What was done is done, and told.
        if not dealt and not found.done:
            raise
        found.ended = error.message
    return _Redriven(found, None)


async def _batches(
    call: Call, chosen: Chosen, letters: list[Letter], after: Place | None, limit: int
) -> AsyncIterator[tuple[list[Letter], Chosen | None]]:
    if letters:
        yield letters, None
    pages = page_chosen(call.services.client, chosen, after=after, rows=min(limit, BATCH))
    async for batch in pages:
        yield batch, chosen


async def _meant(
    connection: Connection, which: Which, *, again: bool
) -> tuple[list[UUID], list[Letter]]:
    """Groups and letters. If this goes `again`, what was named first may be dealt with by now."""
    likenesses: dict[UUID, None] = {}
    if which.filter is not None:
        groups = await wanted_groups(connection, which.filter, counted_max=1)
        likenesses |= {group.likeness: None for group in groups}
    for group in which.groups:
        try:
            likenesses[await find_likeness(connection, group[2:])] = None
        except NotFoundError:
            if not again:
                raise
    letters: dict[int, Letter] = {}
    for each in () if again else which.letters:
        run = await reading.read_run(connection, each.run)
        of_run = [
            letter
            for letter in await letters_of_run(connection, run.id)
            if each.task in (None, letter.task)
        ]
        if not of_run:
            what = f"run {run.id}" if each.task is None else f"{shown(each.task)} of run {run.id}"
            raise NotFoundError(f"{what} has no dead letter")
        letters |= {letter.task_id: letter for letter in of_run}
    return list(likenesses), list(letters.values())


def _cursor_after(last: Place | None, until: datetime) -> str:
    """Where to go on, and until when letters had to fail to be meant."""
    last = last or _BEGINNING
    place = f"{last.likeness.hex} {last.failed_at.isoformat()} {last.task_id}"
    return cursor_of("redrive", f"{until.isoformat()} {place}")


def _gone_on(cursor: str | None) -> tuple[Place | None, datetime | None]:
    text = place_of("redrive", cursor, "/cursor")
    if text is None:
        return None, None
    until, likeness, at, number = (text.split(" ") + [""] * 3)[:4]
    try:
        group = UUID(hex=likeness)
    except ValueError:
        raise field_refusal("/cursor", "is none of this list") from None
    place = Place(group, moment_in(at, "/cursor"), number_in(number, "/cursor"))
    return place, moment_in(until, "/cursor")


def _told_retried(done: _Redriven) -> letter_shapes.SomeRetried:
    return letter_shapes.SomeRetried(
        retried=done.found.done,
        left=_told_left(done.found),
        ended=done.found.ended or None,
        next=done.next,
    )


def _told_discarded(done: _Redriven) -> letter_shapes.SomeDiscarded:
    return letter_shapes.SomeDiscarded(
        discarded=done.found.done,
        left=_told_left(done.found),
        ended=done.found.ended or None,
        next=done.next,
    )


def _told_left(found: Redriven) -> list[letter_shapes.LettersLeft]:
    return [
        letter_shapes.LettersLeft(
            run=each.run_id, tasks=each.tasks, reason=each.reason, hint=each.hint
        )
        for each in found.left
    ]
