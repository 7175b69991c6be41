"""Pausing dags and queues, and the priority of what waits.

What a pause promises: once it was answered, nothing of the dag or queue is handed to a worker,
until it is resumed. What workers had in hand before goes on, and runs can be made all the time.

A queue's pause is a mark that every claim looks at. A dag's is that and more: its tasks stand
aside, at priorities below 0 which no claim asks for, so that a million of them are in nobody's way.
They are moved there, and back, in slices by whoever gave the command; the engine's duty `shift`
finishes what a command left, and finds what slipped past because its transaction had begun before.
"""

from __future__ import annotations

import asyncio
from datetime import datetime

import asyncpg
import msgspec

from mainspring.domain.errors import NotFoundError, UnavailableError
from mainspring.domain.lanes import Lane, SlotKind
from mainspring.domain.names import shown
from mainspring.store.connection import Connection, fetch
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement

_GATE_PATIENCE = "500ms"
"""Claims wait behind us while we wait for those under way, so not for long at a time."""
_GATE_REST_SECONDS = 0.5
_GATE_TRIES = 20

RUNS_PER_SLICE = 500
TASKS_PER_SLICE = 2_000


class Pause(msgspec.Struct, frozen=True):
    """Since when, and why."""

    at: datetime
    by: str | None
    note: str | None


class Paused(msgspec.Struct, frozen=True):
    """A dag or queue, and its pause before and after what was asked."""

    id: int
    before: Pause | None
    now: Pause | None


class Slice(msgspec.Struct, frozen=True):
    """Some runs of a dag, whose tasks stand where they belong."""

    last: int | None
    """The last run of the slice; None when there was none."""
    tasks: int
    """How many were moved."""
    lanes: set[int]
    """Lanes in which tasks became claimable: whom to wake."""


class Shifting(msgspec.Struct, frozen=True):
    """A dag of which some tasks may not have followed its last pause or resume."""

    dag_id: int
    tenant_id: int
    by: int
    """The transaction that paused or resumed it."""
    over: bool
    """Whether no transaction is left that began before that one."""


def pause_of(row: asyncpg.Record) -> Pause | None:
    if row["paused_at"] is None:
        return None
    return Pause(row["paused_at"], row["paused_by"], row["pause_note"])


# --- queues -------------------------------------------------------------------------------


async def pause_queue(
    connection: Connection,
    name: str,
    *,
    by: str | None = None,
    note: str | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Paused:
    """From the answer on nobody claims from the queue. Paused again, it may get another note."""
    async with connection.transaction():
        row = await _held(connection, "queue", name, tenant_id)
        await _close_gate(connection)
        rows = await fetch(connection, statement("pause_queue"), row["id"], by, note)
        return Paused(row["id"], pause_of(row), pause_of(rows[0]))


async def resume_queue(
    connection: Connection, name: str, *, tenant_id: int = DEFAULT_TENANT
) -> Paused:
    async with connection.transaction():
        row = await _held(connection, "queue", name, tenant_id)
        await fetch(connection, statement("resume_queue"), row["id"])
        return Paused(row["id"], pause_of(row), None)


def lanes_of(queue_id: int) -> set[int]:
    return {Lane(queue_id, kind).number for kind in SlotKind}


# --- dags ---------------------------------------------------------------------------------


async def pause_dag(
    connection: Connection,
    name: str,
    *,
    by: str | None = None,
    note: str | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Paused:
    """From the answer on no claim takes a task of the dag; `shift_slice` is to move them aside."""
    async with connection.transaction():
        row = await _held(connection, "dag", name, tenant_id)
        await _close_gate(connection)
        rows = await fetch(connection, statement("pause_dag"), row["id"], by, note)
        return Paused(row["id"], pause_of(row), pause_of(rows[0]))


async def resume_dag(
    connection: Connection, name: str, *, tenant_id: int = DEFAULT_TENANT
) -> Paused:
    """Nothing stands in the way of the dag any more; `shift_slice` is to move its tasks back."""
    async with connection.transaction():
        row = await _held(connection, "dag", name, tenant_id)
        await fetch(connection, statement("resume_dag"), row["id"])
        return Paused(row["id"], pause_of(row), None)


async def shift_slice(
    connection: Connection,
    dag_id: int,
    after_run: int,
    *,
    tenant_id: int = DEFAULT_TENANT,
    runs: int = RUNS_PER_SLICE,
) -> Slice:
    """The tasks of the next runs go where they belong: aside if the dag is paused, else back."""
    async with connection.transaction():
        side = await fetch(connection, statement("hold_side"), dag_id)
        paused: bool = side[0]["paused"]
        found = await fetch(
            connection,
            statement("lock_astray"),
            tenant_id,
            dag_id,
            after_run,
            paused,
            runs,
            TASKS_PER_SLICE,
        )
        last, ids = found[0]["last"], found[0]["ids"]
        if not ids:
            return Slice(last, 0, set())
        # By itself, with a snapshot that was taken under the locks.
        moved = await fetch(connection, statement("shift_tasks"), ids)
        return Slice(last, len(ids), set() if paused else {row["lane"] for row in moved})


async def shifting_dags(connection: Connection) -> list[Shifting]:
    rows = await fetch(connection, statement("shifting_dags"))
    return [Shifting(row["id"], row["tenant_id"], row["shifted_by"], row["over"]) for row in rows]


async def end_shift(connection: Connection, shifting: Shifting) -> None:
    await fetch(connection, statement("end_shift"), shifting.dag_id, shifting.by)


# --- priorities ---------------------------------------------------------------------------


async def change_priority(
    connection: Connection, run_id: int, priority: int
) -> tuple[int, set[int]]:
    """Of all tasks of a run that nobody has claimed: how many, and whom to wake.

    Three statements, as with a stop: each must see what was committed while the one before it
    waited for its locks.
    """
    async with connection.transaction():
        locked = await fetch(connection, statement("lock_runs"), [run_id])
        ids = [row["id"] for row in locked]
        tasks = [row["id"] for row in await fetch(connection, statement("lock_tasks"), ids)]
        rows = await fetch(connection, statement("change_priority"), tasks, priority)
        return rows[0]["tasks"], set(rows[0]["lanes"])


async def _close_gate(connection: Connection) -> None:
    """From here to the commit nothing is claimed, and every claim before was answered."""
    for _ in range(_GATE_TRIES):
        try:
            async with connection.transaction():
                await fetch(
                    connection, "select set_config('lock_timeout', $1, true)", _GATE_PATIENCE
                )
                await fetch(connection, statement("close_gate"))
                return
        except asyncpg.LockNotAvailableError:
            # Those who waited behind us get their turn.
            await asyncio.sleep(_GATE_REST_SECONDS)
    raise UnavailableError(
        "nothing was paused: a claim or completion of some worker does not end",
        hint="`mainspring doctor` may say why; then try again",
    )


_HOLD = {"dag": "hold_dag", "queue": "hold_queue"}


async def _held(connection: Connection, what: str, name: str, tenant_id: int) -> asyncpg.Record:
    rows = await fetch(connection, statement(_HOLD[what]), tenant_id, name)
    if not rows:
        raise NotFoundError(
            f"there is no {what} {shown(name)}",
            hint=f"`mainspring {what} list` shows what there is",
        )
    return rows[0]
