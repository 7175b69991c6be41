"""What somebody wants of a worker: to drain, and to go on.

What a drain promises: once it was answered, the worker is given nothing more, be it by a claim or
as the child of what it completes, until it is resumed. It need not have heard of it: claims and
completions look at its lease, which is locked here against those under way. What runs it finishes;
what it has in hand and has not begun it hands back when it hears.
"""

from __future__ import annotations

from datetime import datetime

import asyncpg
import msgspec

from mainspring.domain.draining import Drain
from mainspring.domain.errors import ConflictError, NotFoundError
from mainspring.domain.names import shown
from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement


class Draining(msgspec.Struct, frozen=True):
    """That a worker is to claim no more: what then, since when, and why."""

    then: Drain
    at: datetime
    by: str | None
    note: str | None


class Drained(msgspec.Struct, frozen=True):
    """A worker, and what was wanted of it before."""

    id: int
    before: Draining | None


def draining_of(row: asyncpg.Record) -> Draining | None:
    if row["drain"] is None:
        return None
    return Draining(Drain(row["drain"]), row["drain_at"], row["drain_by"], row["drain_note"])


async def drain_worker(
    connection: Connection,
    worker: str,
    *,
    then: Drain,
    by: str | None = None,
    note: str | None = None,
) -> Drained:
    """From the answer on it is given nothing. Asked again, what then or the note may change."""
    async with connection.transaction():
        drained = await _held(connection, worker)
        await fetch(connection, statement("drain_worker"), drained.id, then, by, note)
        return drained


async def resume_worker(connection: Connection, worker: str) -> Drained:
    """The worker claims again, as soon as it has heard of it."""
    async with connection.transaction():
        drained = await _held(connection, worker)
        await fetch(connection, statement("resume_worker"), drained.id)
        return drained


async def _held(connection: Connection, worker: str) -> Drained:
    """A living worker by id or name, with its lease locked until the commit."""
    rows = await fetch(connection, statement("find_living"), worker)
    if not rows:
        raise NotFoundError(
            f"no living worker is called {shown(worker)}, or has that id",
            hint="`mainspring worker list` shows those that live",
        )
    # An id is meant before a name that looks like one.
    chosen = [row["id"] for row in rows if str(row["id"]) == worker] or [r["id"] for r in rows]
    if len(chosen) > 1:
        ids = ", ".join(map(str, chosen))
        raise ConflictError(
            f"several living workers are called {shown(worker)}: {ids}",
            hint="name the one that you mean by its id",
        )
    locked = await fetch(connection, statement("hold_worker"), chosen[0])
    if not locked:
        raise NotFoundError(f"worker {shown(worker)} has just left")
    return Drained(chosen[0], draining_of(locked[0]))
