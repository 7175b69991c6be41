"""Dead letters: tasks that failed for good, by what they look like. Calls of `hand.sql`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import asyncpg
import msgspec

from mainspring.domain.dead_letters import common_words
from mainspring.domain.errors import ConflictError, NotFoundError
from mainspring.domain.outcomes import Error
from mainspring.store.connection import Connection, fetch
from mainspring.store.reading import RunLine
from mainspring.store.runs import DEFAULT_TENANT, Deed
from mainspring.store.statements import statement

LETTERS_COUNTED_MAX = 100_000
"""The letters of a group are counted up to here."""
GROUPS_MAX = 10_000

_ALWAYS = datetime(1, 1, 2, tzinfo=UTC)
_NEVER = datetime(9999, 12, 30, tzinfo=UTC)
_GROUPS_PER_QUESTION = 200
_decode_error = msgspec.json.Decoder(Error).decode
_UNKNOWN = Error("Unknown", "what went wrong is not on record any more")


class Group(msgspec.Struct, frozen=True):
    """Dead letters of one task of a dag that look alike."""

    likeness: UUID
    dag: str
    task: str
    letters: int
    """Counted up to LETTERS_COUNTED_MAX."""
    first_at: datetime
    last_at: datetime
    run_id: int
    """Of the last one, which is the example."""
    error: Error

    @property
    def words(self) -> str:
        """All that an error of the group can be known by."""
        kind, message = self.error.type, self.error.message
        return f"{kind}: {message}\n{kind}: {common_words(message)}"


class Letter(msgspec.Struct, frozen=True):
    """A task that failed for good."""

    task_id: int
    run_id: int
    dag: str
    task: str
    term: int
    failed_at: datetime
    likeness: UUID
    attempt: int | None
    error: Error

    @property
    def place(self) -> tuple[datetime, int]:
        """Where it stands among those that look alike."""
        return self.failed_at, self.task_id


class Discarded(msgspec.Struct, frozen=True):
    """A dead letter that somebody took off the list."""

    letter: Letter
    at: datetime
    who: str
    note: str

    @property
    def place(self) -> tuple[datetime, int]:
        """Where it stands among those that were discarded."""
        return self.at, self.letter.task_id

    @property
    def words(self) -> str:
        return f"{self.letter.error.type}: {self.letter.error.message}"


class Remark(msgspec.Struct, frozen=True):
    """What somebody did to a task by hand, and why."""

    task_id: int
    term: int
    deed: str
    at: datetime
    who: str
    note: str


async def list_groups(
    connection: Connection,
    *,
    dag_id: int | None = None,
    task: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    counted_max: int = LETTERS_COUNTED_MAX,
    tenant_id: int = DEFAULT_TENANT,
) -> list[Group]:
    """Those that failed last come first."""
    found: list[Group] = []
    after, seen = UUID(int=0), 0
    while seen < GROUPS_MAX:
        rows = await fetch(
            connection,
            statement("page_likenesses"),
            tenant_id,
            after,
            _GROUPS_PER_QUESTION,
            dag_id,
            task,
            since or _ALWAYS,
            until or _NEVER,
            counted_max,
        )
        found += [_group(row) for row in rows if row["found"]]
        seen += len(rows)
        if len(rows) < _GROUPS_PER_QUESTION:
            break
        after = rows[-1]["likeness"]
    return sorted(found, key=lambda group: group.last_at, reverse=True)


async def find_likeness(
    connection: Connection, beginning: str, *, tenant_id: int = DEFAULT_TENANT
) -> UUID:
    """The likeness that begins with these hexadecimal digits."""
    rows = await fetch(
        connection,
        statement("find_likenesses"),
        tenant_id,
        UUID(beginning.ljust(32, "0")),
        UUID(beginning.ljust(32, "f")),
    )
    found: list[UUID] = [row["likeness"] for row in rows if row["likeness"]]
    if not found:
        raise NotFoundError(
            f"there is no group `e-{beginning}` of dead letters",
            hint="`mainspring dlq list` shows what there is; what was retried or discarded is gone",
        )
    if len(found) > 1:
        raise ConflictError(
            f"`e-{beginning}` stands for more than one group", hint="write more of its digits"
        )
    return found[0]


async def page_letters(
    connection: Connection,
    likeness: UUID,
    *,
    after: tuple[datetime, int] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 100,
    tenant_id: int = DEFAULT_TENANT,
) -> list[Letter]:
    """Dead letters that look alike, oldest first; those that come after this place."""
    failed_at, task_id = after or (_ALWAYS, -1)
    rows = await fetch(
        connection,
        statement("page_letters"),
        tenant_id,
        likeness,
        failed_at,
        task_id,
        since or _ALWAYS,
        until or _NEVER,
        limit,
    )
    return [_letter(row) for row in rows]


async def list_discarded(
    connection: Connection,
    *,
    dag_id: int | None = None,
    task: str | None = None,
    since: datetime | None = None,
    before: tuple[datetime, int] | None = None,
    limit: int = 1_000,
    tenant_id: int = DEFAULT_TENANT,
) -> list[Discarded]:
    """Those that were discarded last come first; those that come before this place."""
    discarded_at, task_id = before or (_NEVER, 0)
    rows = await fetch(
        connection,
        statement("page_discarded"),
        tenant_id,
        dag_id,
        task,
        since or _ALWAYS,
        limit,
        discarded_at,
        task_id,
    )
    return [Discarded(_letter(row), row["discarded_at"], row["who"], row["note"]) for row in rows]


async def letters_of_run(
    connection: Connection, run_id: int, *, tenant_id: int = DEFAULT_TENANT
) -> list[Letter]:
    rows = await fetch(connection, statement("letters_of_run"), tenant_id, run_id)
    return [_letter(row) for row in rows]


async def discard_letters(connection: Connection, letters: Sequence[Letter], by: Deed) -> int:
    """Take them off the list; says how many were on it."""
    rows = await fetch(
        connection,
        statement("discard_letters"),
        [letter.task_id for letter in letters],
        [letter.term for letter in letters],
        by.who,
        by.note,
    )
    return len(rows)


async def list_remarks(
    connection: Connection, run: RunLine, *, limit: int = 1_000
) -> dict[int, list[Remark]]:
    """By task id, oldest first."""
    rows = await fetch(connection, statement("page_remarks"), run.id, run.tasks, limit)
    found: dict[int, list[Remark]] = {}
    for row in rows:
        found.setdefault(row["task_id"], []).append(Remark(**row))
    return found


def _group(row: asyncpg.Record) -> Group:
    return Group(
        row["likeness"],
        row["dag"],
        row["task"],
        row["letters"],
        row["first_at"],
        row["last_at"],
        row["run_id"],
        _error(row["error"]),
    )


def _letter(row: asyncpg.Record) -> Letter:
    return Letter(
        row["task_id"],
        row["run_id"],
        row["dag"],
        row["task"],
        row["term"],
        row["failed_at"],
        row["likeness"],
        row["attempt"],
        _error(row["error"]),
    )


def _error(error: bytes | None) -> Error:
    return _UNKNOWN if error is None else _decode_error(error)
