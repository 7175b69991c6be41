"""Dead letters: tasks that failed for good, by error, and what becomes of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.pages import Cursor, Fields, Limit, Page, check_fields, cursor_of, place_of
from mainspring.api.problems import field_refusal
from mainspring.api.resources.runs import RunId, TaskName, dag_id_of
from mainspring.api.routes import Example, Resource
from mainspring.client.redriving import (
    Chosen,
    Redriven,
    Verb,
    page_chosen,
    redrive,
    told_discarded,
    told_retried,
)
from mainspring.domain.errors import NotFoundError
from mainspring.domain.names import shown
from mainspring.domain.notes import NOTE_LENGTH_MAX
from mainspring.domain.roles import Role
from mainspring.store import letter_shapes, reading
from mainspring.store.connection import Connection
from mainspring.store.dead_letters import (
    Group,
    Letter,
    find_likeness,
    letters_of_run,
    list_groups,
    page_letters,
)
from mainspring.store.runs import Deed

dead_letters = Resource("dead-letters", "Tasks that failed for good, by error.")

LETTERS_MAX = 2_000
"""How many letters one request deals with, about; it is then asked again for the rest."""

GroupId = Annotated[
    str,
    Meta(pattern=r"^e-[0-9a-f]{4,32}$", description="A group of dead letters that look alike."),
]

_GROUP = Example(path={"group": "e-3f9ac1d2"})
_NOTED = {"note": "the source is back"}


class Letters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    dag: Annotated[str, Meta(max_length=200, description="Only of this dag.")] | None = None
    task: Annotated[str, Meta(max_length=200, description="Only of tasks of this name.")] | None = (
        None
    )
    error: (
        Annotated[str, Meta(max_length=200, description="Whose type or message has this in it.")]
        | None
    ) = None
    since: Annotated[datetime, Meta(description="Failed then or later.", tz=True)] | None = None
    until: Annotated[datetime, Meta(description="Failed then or before.", tz=True)] | None = None
    limit: Limit = 50
    cursor: Cursor | None = None
    fields: Fields | None = None


@dead_letters.get(
    "/dead-letters",
    needs=Role.VIEWER,
    shared=True,
    refusals=(404,),
    example=Example(query={"dag": "daily_sales", "limit": "10"}),
)
async def list_dead_letters(call: Call, query: Letters) -> Page[letter_shapes.LetterGroup]:
    """Dead letters by error; what failed last comes first."""
    check_fields(letter_shapes.LetterGroup, query.fields)
    before = _place("group", query.cursor)

    async def read(connection: Connection) -> list[Group]:
        dag_id = None if query.dag is None else await dag_id_of(connection, query.dag)
        return await list_groups(
            connection, dag_id=dag_id, task=query.task, since=query.since, until=query.until
        )

    groups = sorted(await call.services.read(read), key=_order, reverse=True)
    if query.error is not None:
        groups = [group for group in groups if query.error.casefold() in group.words.casefold()]
    if before is not None:
        groups = [group for group in groups if _order(group) < before]
    told = groups[: query.limit]
    last = None
    if len(groups) > query.limit:
        last = _cursor("group", *_order(told[-1]))
    return Page([letter_shapes.letter_group(group) for group in told], last)


def _order(group: Group) -> tuple[datetime, int]:
    return group.last_at, group.likeness.int


class LettersOfGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    limit: Limit = 50
    cursor: Cursor | None = None
    fields: Fields | None = None


@dead_letters.get(
    "/dead-letters/{group}",
    needs=Role.VIEWER,
    shared=True,
    refusals=(409,),
    example=_GROUP,
)
async def list_group(
    call: Call, group: GroupId, query: LettersOfGroup
) -> Page[letter_shapes.DeadLetter]:
    """The dead letters of a group, the oldest first, with their errors."""
    check_fields(letter_shapes.DeadLetter, query.fields)
    after = _place("letter", query.cursor)

    async def read(connection: Connection) -> list[Letter]:
        likeness = await find_likeness(connection, group[2:])
        return await page_letters(connection, likeness, after=after, limit=query.limit)

    letters = await call.services.read(read)
    last = None
    if len(letters) == query.limit:
        last = _cursor("letter", *letters[-1].place)
    return Page([letter_shapes.dead_letter(letter) for letter in letters], last)


def _cursor(kind: str, at: datetime, number: int) -> str:
    return cursor_of(kind, f"{at.isoformat()} {number}")


def _place(kind: str, cursor: str | None) -> tuple[datetime, int] | None:
    text = place_of(kind, cursor)
    if text is None:
        return None
    at, _, number = text.partition(" ")
    try:
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None or len(number) > 40 or not number.isdigit():
            raise ValueError
        return moment, int(number)
    except ValueError:
        raise field_refusal("query/cursor", "is none of this list") from None


# --- what becomes of them -----------------------------------------------------------------------

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
    note: Note = ""
    """Why; it is kept."""


@dead_letters.post(
    "/dead-letters/retry",
    needs=Role.OPERATOR,
    refusals=(404,),
    example=Example(body={"groups": ["e-3f9ac1d2"], **_NOTED}),
)
async def retry_letters(call: Call, body: Which) -> letter_shapes.LettersRetried:
    """Run dead letters again: each in its own run, with what comes after it.

    What cannot be retried now is `left`, with the reason. Of very many some are dealt with; `ended`
    then says so, and the rest is there for another request.
    """
    return told_retried(await _redriven(call, "retry", body))


@dead_letters.post(
    "/dead-letters/discard",
    needs=Role.OPERATOR,
    refusals=(404,),
    example=Example(body={"letters": [{"run": 4098, "task": "extract"}], **_NOTED}),
)
async def discard_letters(call: Call, body: Which) -> letter_shapes.LettersDiscarded:
    """Take dead letters off the list. Their runs stay as they are, in history."""
    return told_discarded(await _redriven(call, "discard", body))


@dead_letters.post(
    "/dead-letters/{group}/retry",
    needs=Role.OPERATOR,
    example=Example(path=_GROUP.path, body=_NOTED),
)
async def retry_group(call: Call, group: GroupId, body: LetterNote) -> letter_shapes.LettersRetried:
    """Run all dead letters of a group again."""
    return told_retried(await _redriven(call, "retry", Which([group], note=body.note)))


@dead_letters.post(
    "/dead-letters/{group}/discard",
    needs=Role.OPERATOR,
    example=Example(path=_GROUP.path, body=_NOTED),
)
async def discard_group(
    call: Call, group: GroupId, body: LetterNote
) -> letter_shapes.LettersDiscarded:
    """Take all dead letters of a group off the list."""
    return told_discarded(await _redriven(call, "discard", Which([group], note=body.note)))


async def _redriven(call: Call, verb: Verb, which: Which) -> Redriven:
    if not which.groups and not which.letters:
        raise field_refusal("/groups", "nothing is named", hint="name groups, or letters by run")
    by = Deed(call.who, which.note)
    # All that is named is looked up before anything is done.
    chosen, letters = await call.services.read(_meant, which)
    found, dealt = Redriven(), 0
    async for batch, together in _batches(call, chosen, letters):
        if dealt >= LETTERS_MAX:
            found.ended = f"{dealt:,} letters were dealt with; ask again for the rest"
            break
        await redrive(call.services.client, verb, batch, together, by, found)
        dealt += len(batch)
    return found


async def _batches(
    call: Call, chosen: Chosen, letters: list[Letter]
) -> AsyncIterator[tuple[list[Letter], Chosen | None]]:
    if letters:
        yield letters, None
    async for batch in page_chosen(call.services.client, chosen):
        yield batch, chosen


async def _meant(connection: Connection, which: Which) -> tuple[Chosen, list[Letter]]:
    now = await reading.read_clock(connection)
    likenesses: dict[UUID, None] = {}
    for group in which.groups:
        likenesses[await find_likeness(connection, group[2:])] = None
    letters: dict[int, Letter] = {}
    for each in which.letters:
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
    return Chosen(list(likenesses), None, now), list(letters.values())
