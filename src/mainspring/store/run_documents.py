"""A run and all that is known of it, as one document."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mainspring.domain.errors import NotFoundError
from mainspring.domain.names import closest, shown
from mainspring.domain.specs import DagSpec
from mainspring.domain.states import TaskState
from mainspring.store import shapes
from mainspring.store.backfills import backfill_of_run
from mainspring.store.connection import Connection
from mainspring.store.dead_letters import list_remarks
from mainspring.store.reading import (
    AttemptLine,
    RunLine,
    TaskLine,
    count_tasks,
    list_attempts,
    list_problems,
    list_reruns,
    list_tasks,
    read_dag_standing,
    read_run,
    read_run_parameters,
    read_spec,
)
from mainspring.store.uses import read_uses

ATTEMPTS_MAX = 100_000


class Narrowed(msgspec.Struct, frozen=True):
    """Which tasks are in a run's document, and how much of each."""

    states: tuple[TaskState, ...] = ()
    """Those in one of these states; none: all."""
    tasks_max: int | None = None
    result_bytes: int = shapes.RESULT_BYTES_MAX
    """Larger results are left out."""


_WHOLE = Narrowed()


async def read_run_document(
    connection: Connection, run: RunLine, narrowed: Narrowed = _WHOLE
) -> shapes.RunWhole:
    tasks = await list_tasks(
        connection,
        run,
        states=narrowed.states or None,
        limit=narrowed.tasks_max,
        result_bytes=narrowed.result_bytes,
    )
    return shapes.run_whole(
        run,
        await read_spec(connection, run),
        await read_run_parameters(connection, run.id),
        await count_tasks(connection, run),
        tasks,
        await _attempts(connection, run, tasks),
        await list_problems(connection, run),
        await list_remarks(connection, run),
        (await read_dag_standing(connection, run.dag)).pause,
        await list_reruns(connection, run.id),
        await backfill_of_run(connection, run.id),
        await _uses(connection, run, tasks),
    )


async def _attempts(
    connection: Connection, run: RunLine, tasks: Sequence[TaskLine]
) -> dict[int, list[AttemptLine]]:
    """Of these tasks, which are in their order: none is read beyond the last of them."""
    if not tasks:
        return {}
    found = await list_attempts(
        connection,
        run,
        first=tasks[0].node,
        count=tasks[-1].node - tasks[0].node + 1,
        limit=ATTEMPTS_MAX,
    )
    return shapes.by_task(found)


async def _uses(connection: Connection, run: RunLine, tasks: Sequence[TaskLine]) -> shapes.Uses:
    """What attempts of these tasks used, which are in their order."""
    if not tasks:
        return {}
    first, last = tasks[0].id, tasks[-1].id
    return await read_uses(connection, first, last - first + 1, limit=ATTEMPTS_MAX)


async def read_run_tasks(
    connection: Connection, run: RunLine, *, result_bytes: int = shapes.RESULT_BYTES_MAX
) -> list[shapes.Task]:
    """Its tasks alone, in the order of the dag. Larger results are left out."""
    spec = await read_spec(connection, run)
    tasks = await list_tasks(connection, run, result_bytes=result_bytes)
    return await _documents(connection, run, spec, tasks)


async def find_task(connection: Connection, run: RunLine, name: str) -> shapes.Task:
    """The task of this name, or an error that knows the nearest one; no other task is read."""
    spec = await read_spec(connection, run)
    for node, task in enumerate(spec.tasks):
        if task.name == name:
            found = await list_tasks(
                connection, run, first=node, limit=1, result_bytes=shapes.RESULT_BYTES_MAX
            )
            [document] = await _documents(connection, run, spec, found)
            return document
    hint = closest(name, [task.name for task in spec.tasks])
    raise NotFoundError(f"run {run.id} has no task {shown(name)}", hint=hint)


async def _documents(
    connection: Connection, run: RunLine, spec: DagSpec, tasks: Sequence[TaskLine]
) -> list[shapes.Task]:
    return shapes.run_tasks(
        run,
        spec,
        tasks,
        await _attempts(connection, run, tasks),
        await list_remarks(connection, run),
        await _uses(connection, run, tasks),
    )


async def find_attempt(
    connection: Connection, run_id: int, task: str, number: int
) -> tuple[int, int]:
    """The task's id, and the term of its last attempt with this number."""
    found = await find_task(connection, await read_run(connection, run_id), task)
    terms = [each.term for each in found.attempts if each.attempt == number]
    if not terms:
        raise NotFoundError(
            f"task {shown(task)} of run {run_id} has no attempt {number}",
            hint=f"it has {len(found.attempts)}",
        )
    return found.id, terms[-1]
