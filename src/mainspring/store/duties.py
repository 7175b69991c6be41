"""What engines ask of the store. Thin calls of `duties.sql`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
import structlog

from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement

log = structlog.get_logger(__name__)


class Shard(msgspec.Struct, frozen=True):
    term: int
    beat: int
    holder: UUID | None
    holder_name: str | None


class Lease(msgspec.Struct, frozen=True):
    worker_id: int
    beat: int
    seconds: float
    name: str


class Woken(msgspec.Struct, frozen=True):
    due: int
    lanes: set[int]


class Overdue(msgspec.Struct, frozen=True):
    due: int
    """Deadlines that had passed."""
    runs: list[int]
    """Runs in the hot tables whose last deadline it was."""


class Audit(msgspec.Struct, frozen=True):
    last: int | None
    """The last task id of the slice; None when there was none."""
    seen: int
    stuck: list[tuple[int, int]]
    """(task, term) of open tasks that nothing would move on."""


async def read_shard(connection: Connection, number: int) -> Shard:
    row = (await fetch(connection, statement("read_shard"), number))[0]
    return Shard(row["term"], row["beat"], row["holder"], row["holder_name"])


async def take_shard(
    connection: Connection, number: int, holder: UUID, holder_name: str, beat_seen: int
) -> int | None:
    """The new term, or None if somebody was quicker."""
    rows = await fetch(connection, statement("take_shard"), number, holder, holder_name, beat_seen)
    return rows[0]["term"] if rows else None


async def renew_shard(connection: Connection, number: int, holder: UUID, term: int) -> bool:
    return bool(await fetch(connection, statement("renew_shard"), number, holder, term))


async def free_shard(connection: Connection, number: int, holder: UUID, term: int) -> None:
    await fetch(connection, statement("free_shard"), number, holder, term)


async def raise_epoch(connection: Connection) -> int | None:
    """Notice that the server's history forked, by a failover or a restore; the new epoch, if any.

    For `Line(greet=…)`: whoever claims has asked this on the very connection that it claims on.
    """
    rows = await fetch(connection, statement("raise_epoch"))
    if not rows:
        return None
    epoch: int = rows[0]["number"]
    if epoch > 1:
        log.warning("the database's history has forked", epoch=epoch)
    return epoch


async def wake_backoff(connection: Connection, now: datetime | None, limit: int) -> Woken:
    row = (await fetch(connection, statement("wake_backoff"), now, limit))[0]
    return Woken(row["due"], set(row["lanes"]))


async def wake_starts(connection: Connection, now: datetime | None, limit: int) -> Woken:
    row = (await fetch(connection, statement("wake_starts"), now, limit))[0]
    return Woken(row["due"], set(row["lanes"]))


async def due_deadlines(connection: Connection, now: datetime | None, limit: int) -> Overdue:
    """To be called in a transaction: the runs stay locked, so that no rerun comes in between."""
    due = await fetch(connection, statement("due_deadlines"), now, limit)
    if not due:
        return Overdue(0, [])
    runs, terms = [row["run_id"] for row in due], [row["term"] for row in due]
    await fetch(connection, statement("lock_runs"), sorted(runs))
    rows = await fetch(connection, statement("overdue_runs"), runs, terms)
    return Overdue(len(due), [row["id"] for row in rows])


async def read_leases(connection: Connection) -> list[Lease]:
    rows = await fetch(connection, statement("read_leases"))
    return [Lease(row["worker_id"], row["beat"], row["seconds"], row["name"]) for row in rows]


async def lock_lease(connection: Connection, worker_id: int, beat: int) -> bool:
    return bool(await fetch(connection, statement("lock_lease"), worker_id, beat))


async def audit_open(connection: Connection, first: int, limit: int) -> Audit:
    row = (await fetch(connection, statement("audit_open"), first, limit))[0]
    stuck = list(zip(row["stuck_ids"], row["stuck_terms"], strict=True))
    return Audit(row["last"], row["seen"], stuck)


async def mend_stuck(connection: Connection, stuck: Sequence[tuple[int, int]]) -> set[int]:
    rows = await fetch(
        connection,
        statement("mend_stuck"),
        [task_id for task_id, _ in stuck],
        [term for _, term in stuck],
    )
    return {row["lane"] for row in rows}
