"""Dead letters: tasks that failed for good, by error."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from mainspring.api.calls import Call
from mainspring.api.pages import Cursor, Fields, Limit, Page, check_fields, cursor_of, place_of
from mainspring.api.problems import field_refusal
from mainspring.api.resources.runs import RunId, dag_id_of
from mainspring.api.routes import Example, Resource
from mainspring.domain.roles import Role
from mainspring.store import letter_shapes, reading
from mainspring.store.connection import Connection
from mainspring.store.dead_letters import (
    LETTERS_COUNTED_MAX,
    Discarded,
    Group,
    Letter,
    find_likeness,
    letters_of_run,
    list_discarded,
    list_groups,
    page_letters,
)

dead_letters = Resource("dead-letters", "Tasks that failed for good, by error.")

_NUMBER_MAX = 2**63 - 1
_LIKENESS_MAX = 2**128 - 1

GroupId = Annotated[
    str,
    Meta(pattern=r"^e-[0-9a-f]{4,32}$", description="A group of dead letters that look alike."),
]

OfDag = Annotated[str, Meta(max_length=200, description="Only of this dag.")]
OfTask = Annotated[str, Meta(max_length=200, description="Only of tasks of this name.")]
WithError = Annotated[
    str, Meta(max_length=200, description="Whose type or message has this in it.")
]
Since = Annotated[datetime, Meta(description="Failed then or later.", tz=True)]
Until = Annotated[datetime, Meta(description="Failed then or before.", tz=True)]

_GROUP = Example(path={"group": "e-3f9ac1d2"})


class LetterFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All dead letters that it leaves; one that says nothing leaves all."""

    dag: OfDag | None = None
    task: OfTask | None = None
    error: WithError | None = None
    since: Since | None = None
    until: Until | None = None


class Letters(LetterFilter, frozen=True, forbid_unknown_fields=True, kw_only=True):
    group: GroupId | None = None
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
        found = await wanted_groups(connection, query)
        if query.group is None:
            return found
        likeness = await find_likeness(connection, query.group[2:])
        return [group for group in found if group.likeness == likeness]

    groups = sorted(await call.services.read(read), key=_order, reverse=True)
    if before is not None:
        groups = [group for group in groups if _order(group) < before]
    told = groups[: query.limit]
    last = None
    if len(groups) > query.limit:
        last = _cursor("group", *_order(told[-1]))
    return Page([letter_shapes.letter_group(group) for group in told], last)


async def wanted_groups(
    connection: Connection, wanted: LetterFilter, *, counted_max: int = LETTERS_COUNTED_MAX
) -> list[Group]:
    """The groups that a filter leaves."""
    dag_id = None if wanted.dag is None else await dag_id_of(connection, wanted.dag)
    groups = await list_groups(
        connection,
        dag_id=dag_id,
        task=wanted.task,
        since=wanted.since,
        until=wanted.until,
        counted_max=counted_max,
    )
    return [group for group in groups if _has(group.words, wanted.error)]


def _has(words: str, error: str | None) -> bool:
    return error is None or error.casefold() in words.casefold()


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


class DiscardedLetters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    dag: OfDag | None = None
    task: OfTask | None = None
    error: WithError | None = None
    since: Since | None = None
    limit: Limit = 50
    cursor: Cursor | None = None
    fields: Fields | None = None


@dead_letters.get(
    "/dead-letters/discarded",
    needs=Role.VIEWER,
    shared=True,
    refusals=(404,),
    example=Example(query={"dag": "daily_sales", "limit": "10"}),
)
async def list_discarded_dead_letters(
    call: Call, query: DiscardedLetters
) -> Page[letter_shapes.DiscardedLetter]:
    """Letters that were taken off the list, by whom and why; the last comes first.

    With `error` a page may hold less than was asked for and still have a `next`.
    """
    check_fields(letter_shapes.DiscardedLetter, query.fields)
    before = _place("discarded", query.cursor)

    async def read(connection: Connection) -> list[Discarded]:
        dag_id = None if query.dag is None else await dag_id_of(connection, query.dag)
        return await list_discarded(
            connection,
            dag_id=dag_id,
            task=query.task,
            since=query.since,
            before=before,
            limit=query.limit,
        )

    found = await call.services.read(read)
    last = None
    if len(found) == query.limit:
        last = _cursor("discarded", *found[-1].place)
    told = [letter_shapes.discarded_letter(each) for each in found if _has(each.words, query.error)]
    return Page(told, last)


class LettersOfRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    task: OfTask | None = None
    fields: Fields | None = None


@dead_letters.get(
    "/runs/{run}/dead-letters",
    needs=Role.VIEWER,
    shared=True,
    example=Example(path={"run": "4098"}),
)
async def list_dead_letters_of_run(
    call: Call, run: RunId, query: LettersOfRun
) -> Page[letter_shapes.DeadLetter]:
    """The dead letters of a run, in the order of its tasks."""
    check_fields(letter_shapes.DeadLetter, query.fields)

    async def read(connection: Connection) -> list[Letter]:
        found = await reading.read_run(connection, run)
        letters = await letters_of_run(connection, run)
        if query.task is None:
            return letters
        spec = await reading.read_spec(connection, found)
        task_id = run + reading.node_named(spec, run, query.task)
        return [letter for letter in letters if letter.task_id == task_id]

    return Page([letter_shapes.dead_letter(letter) for letter in await call.services.read(read)])


def _cursor(kind: str, at: datetime, number: int) -> str:
    return cursor_of(kind, f"{at.isoformat()} {number}")


def _place(kind: str, cursor: str | None) -> tuple[datetime, int] | None:
    text = place_of(kind, cursor)
    if text is None:
        return None
    at, _, number = text.partition(" ")
    most = _LIKENESS_MAX if kind == "group" else _NUMBER_MAX
    return moment_in(at, "query/cursor"), number_in(number, "query/cursor", most)


def moment_in(text: str, cursor: str) -> datetime:
    """What a cursor of ours says, or a refusal if it is none."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise field_refusal(cursor, "is none of this list") from None


def number_in(text: str, cursor: str, most: int = _NUMBER_MAX) -> int:
    if len(text) > 40 or not text.isascii() or not text.isdigit() or int(text) > most:
        raise field_refusal(cursor, "is none of this list")
    return int(text)
