"""What attempts printed: chunks in the database, and what moved from there to objects.

A chunk is found by the number of bytes before it. So a log is read by byte range, from wherever it
is; a chunk that is written again, after an answer was lost, finds itself; and a hole is seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mainspring.domain.log_marks import LogMark, log_mark
from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement

LONG_BYTES = 64 * 1024
"""A log that has come so far will be moved; shorter ones stay until their period is dropped."""
SETTLED_SECONDS = 5.0
"""So long after its last chunk is a log moved: none can be on its way any more."""
INTENT_SECONDS = 86_400.0
"""An object that was begun so long ago, and is not in use, is removed."""


class LogChunk(msgspec.Struct, frozen=True):
    task_id: int
    term: int
    start: int
    content: bytes


class LogObject(msgspec.Struct, frozen=True):
    """Where a log is that has moved."""

    store: str
    key: str
    frames: tuple[int, ...]
    """Where each frame ends, in bytes of the object."""


class LogLine(msgspec.Struct, frozen=True):
    """One try of a task, and how much of its log there is."""

    task_id: int
    term: int
    attempt: int
    state: str
    """Of the attempt, or of the task if it is the current one."""
    stored: int
    """Up to this byte something is there."""
    mark: LogMark
    moved: LogObject | None = None
    content: bytes | None = None
    """All of it, if it is short."""


class LongLog(msgspec.Struct, frozen=True):
    task_id: int
    term: int
    bytes: int


class Removal(msgspec.Struct, frozen=True):
    """An object that nobody needs."""

    url: str
    store_id: int
    key: str


async def append_log(connection: Connection, chunks: Sequence[tuple[int, int, int, bytes]]) -> None:
    """`chunks` holds (task, term, start, content). Empty: what came next is lost."""
    await fetch(
        connection,
        statement("append_log"),
        [chunk[0] for chunk in chunks],
        [chunk[1] for chunk in chunks],
        [chunk[2] for chunk in chunks],
        [chunk[3] for chunk in chunks],
        LONG_BYTES,
    )


# --- reading ------------------------------------------------------------------------------


async def list_logs(connection: Connection, first_id: int, below_id: int) -> list[LogLine]:
    """All tries of neighbouring tasks, in order."""
    rows = await fetch(connection, statement("list_logs"), first_id, below_id, LONG_BYTES)
    return [
        LogLine(
            row["task_id"],
            row["term"],
            row["attempt"],
            row["state"],
            row["bytes"],
            log_mark(
                state=row["state"],
                ended=row["ended"],
                stored=row["bytes"],
                cut=row["cut"],
                hole_at=row["hole_at"],
            ),
            LogObject(row["store"], row["key"], tuple(row["frames"])) if row["key"] else None,
            row["content"],
        )
        for row in rows
    ]


async def read_chunks(
    connection: Connection, task_id: int, term: int, start: int, end: int, *, limit: int = 8
) -> list[LogChunk]:
    """Some chunks of one log, from the one that holds byte `start` on; none if it has moved."""
    rows = await fetch(connection, statement("read_chunks"), task_id, term, start, end, limit)
    return [LogChunk(**row) for row in rows]


async def find_grown_logs(
    connection: Connection, places: Sequence[tuple[int, int, int]]
) -> list[tuple[int, int, int]]:
    """Those (task, term, byte) where something is to be read, or nothing will come any more."""
    columns = [list(column) for column in zip(*places, strict=True)]
    rows = await fetch(connection, statement("find_grown_logs"), *columns)
    return [(row["task_id"], row["term"], row["start"]) for row in rows]


# --- moving -------------------------------------------------------------------------------


async def find_long_logs(
    connection: Connection, limit: int, *, settled_seconds: float = SETTLED_SECONDS
) -> list[LongLog]:
    """Logs to be moved, with how far they go."""
    rows = await fetch(connection, statement("find_long_logs"), limit, settled_seconds)
    return [LongLog(**row) for row in rows]


async def intend_object(
    connection: Connection, url: str, key: str, *, seconds: float = INTENT_SECONDS
) -> int:
    """Note that an object is about to be put; the number of its store.

    Unless something takes it into use within `seconds`, it is removed, so none is left behind.
    """
    rows = await fetch(connection, statement("intend_object"), url, key, seconds)
    store_id: int = rows[0]["store_id"]
    return store_id


async def adopt_log(
    connection: Connection, log: LongLog, store_id: int, key: str, frames: Sequence[int]
) -> bool:
    """Let the object take the place of the chunks; False if it may not, then nothing is changed."""
    return bool(
        await fetch(
            connection,
            statement("adopt_log"),
            log.task_id,
            log.term,
            store_id,
            key,
            log.bytes,
            list(frames),
        )
    )


async def let_log_stay(connection: Connection, task_id: int, term: int) -> None:
    await fetch(connection, statement("let_log_stay"), task_id, term)


# --- removing -----------------------------------------------------------------------------


async def list_objects_of_period(connection: Connection, first_id: int, until_id: int) -> None:
    """Put the objects of work that is over on the list of those to be removed."""
    await fetch(connection, statement("list_objects_of_period"), first_id, until_id)


async def take_removals(connection: Connection, limit: int) -> list[Removal]:
    """Objects to be removed now; nobody can take them into use any more."""
    return [Removal(**row) for row in await fetch(connection, statement("take_removals"), limit)]


async def forget_removals(connection: Connection, store_id: int, keys: Sequence[str]) -> None:
    await fetch(connection, statement("forget_removals"), store_id, list(keys))


async def count_removals(connection: Connection) -> int:
    rows = await fetch(connection, statement("count_removals"))
    objects: int = rows[0]["objects"]
    return objects
