"""Answers to requests with an Idempotency-Key: a request that is repeated gets the same again.

The key is taken before the work and the answer kept after it. A server that dies in between leaves
a key without an answer; after `GIVEN_UP_SECONDS` it is free for who asks the same again. What must
not happen twice even then is guarded by its own statement, as everything here is.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement

GIVEN_UP_SECONDS = 60.0
ANSWERS_KEPT = timedelta(days=1)


class Kept(msgspec.Struct, frozen=True):
    status: int
    content: bytes


class Begun(msgspec.Struct, frozen=True):
    """What a key stands for: an answer, or a request that is still worked at."""

    ours: bool
    """Whether the key is this request's: it is the first, or the first one died."""
    same: bool
    """Whether the same was asked."""
    salt: bytes
    kept: Kept | None = None


async def begin_answer(
    connection: Connection, token_id: int, key: str, digest: bytes, salt: bytes
) -> Begun:
    """Take the key. `salt` is random and the request's own: asked again, it knows its own row."""
    while True:
        taken = await fetch(
            connection,
            statement("begin_answer"),
            *(token_id, key, digest, salt, GIVEN_UP_SECONDS),
        )
        if taken:
            return Begun(ours=True, same=True, salt=taken[0]["salt"])
        rows = await fetch(connection, statement("read_answer"), token_id, key)
        # None if the first request failed in between: the key is free again.
        if rows:
            row = rows[0]
            kept = None if row["status"] is None else Kept(row["status"], row["content"])
            return Begun(
                ours=row["salt"] == salt,
                same=row["digest"] == digest,
                salt=row["salt"],
                kept=kept,
            )


async def keep_answer(
    connection: Connection, token_id: int, key: str, status: int, content: bytes
) -> None:
    await fetch(connection, statement("keep_answer"), token_id, key, status, content)


async def drop_answer(connection: Connection, token_id: int, key: str) -> None:
    await fetch(connection, statement("drop_answer"), token_id, key)


async def forget_answers(connection: Connection, before: datetime, limit: int) -> int:
    """Remove answers of requests that began before then; says how many."""
    rows = await fetch(connection, statement("forget_answers"), before, limit)
    forgotten: int = rows[0]["forgotten"]
    return forgotten
