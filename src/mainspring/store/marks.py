"""Closing a task by hand: it counts as succeeded or skipped, whatever it did.

Everything happens under the locks of a rerun, run and tasks by id, in a few statements, because
each must see what was committed while the one before it waited. The term rises, so a worker that
has the task in hand is refused; its next beat says so, also if the run is in history by then.

A task that failed is opened again first, under the next generation, with what comes after it, and
then closed: its children start as they would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from mainspring.domain.errors import ConflictError
from mainspring.domain.names import shown
from mainspring.domain.outcomes import Error
from mainspring.domain.reruns import (
    Standing,
    check_marking,
    check_opening,
    unmet_among,
    without_doomed,
)
from mainspring.domain.states import TaskState
from mainspring.store.connection import Connection, fetch
from mainspring.store.runs import Deed, hold_run, lock_standing
from mainspring.store.statements import statement

Mark: TypeAlias = Literal["succeeded", "skipped"]

_encode = msgspec.json.Encoder().encode


class Marked(msgspec.Struct, frozen=True):
    before: TaskState
    """As stored: of a task that ran it is `ready`."""
    claimed: bool = False
    """Whether a worker had it in hand, and is to be told."""
    opened: Sequence[str] = ()
    """Tasks that came after it and wait again."""
    lanes: set[int] = set()
    """Lanes that got ready tasks: whom to wake."""
    repeated: bool = False
    """It was closed so before, and nothing was changed."""


class _Repeated(Exception):
    """It was done before; what was looked at for it is left as it was."""


async def mark_task(
    connection: Connection,
    run_id: int,
    node: int,
    term: int,
    state: Mark,
    by: Deed,
    *,
    result: bytes | None = None,
    now: datetime | None = None,
) -> Marked:
    """Close a task by hand that was seen under this term; ConflictError if it cannot be.

    What was closed so before, by hand, is left as it is: then who asks has lost an answer, or asks
    for what is so already.
    """
    try:
        async with connection.transaction():
            return await _mark_task(connection, run_id, node, term, state, by, result, now)
    except _Repeated:
        return Marked(TaskState(state), repeated=True)


async def _mark_task(
    connection: Connection,
    run_id: int,
    node: int,
    term: int,
    state: Mark,
    by: Deed,
    result: bytes | None,
    now: datetime | None,
) -> Marked:
    await hold_run(connection, run_id)
    standing = await lock_standing(connection, run_id)
    task = standing.tasks[node]
    if await _was_marked(connection, standing, node, state):
        raise _Repeated
    if task.term != term:
        raise ConflictError(
            f"task {shown(task.name)} of run {run_id} has moved on in the meantime",
            hint=f"look at it (`mainspring run show {run_id}`), and ask again if need be",
        )
    check_marking(standing, node)
    opened: list[str] = []
    if task.state is TaskState.FAILED:
        opened = await _open(connection, standing, node, now)
    task_id = run_id + node
    unclaimed = bool(await fetch(connection, statement("unqueue_task"), task_id))
    rows = await fetch(
        connection,
        statement("mark_task"),
        run_id,
        task_id,
        state,
        result if state == "succeeded" else None,
        by.who,
        by.note,
        unclaimed,
        _encode(Error("MarkedByHand", f"{state}, by {by.who}: {by.note}")),
        now,
    )
    claimed = task.state is TaskState.READY and not unclaimed
    return Marked(task.state, claimed, opened, {row["lane"] for row in rows})


async def _was_marked(connection: Connection, standing: Standing, node: int, state: Mark) -> bool:
    task = standing.tasks[node]
    return task.state == state and bool(
        await fetch(connection, statement("find_mark"), standing.run_id + node, task.term, state)
    )


async def _open(
    connection: Connection, standing: Standing, node: int, now: datetime | None
) -> list[str]:
    """Open a task that failed, and what comes after it; the names of the latter."""
    nodes = without_doomed(standing, [node])
    check_opening(standing, [node], nodes)
    unmet = unmet_among(standing, nodes)
    ids, counts = [standing.run_id + each for each in nodes], [unmet[each] for each in nodes]
    await fetch(connection, statement("reopen_tasks"), standing.run_id, ids, counts, now)
    return standing.names(each for each in nodes if each != node)
