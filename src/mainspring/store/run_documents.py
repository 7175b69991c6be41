"""A run and all that is known of it, as one document."""

from __future__ import annotations

import msgspec

from mainspring.domain.errors import NotFoundError
from mainspring.domain.names import closest, shown
from mainspring.domain.states import TaskState
from mainspring.store import shapes
from mainspring.store.backfills import backfill_of_run
from mainspring.store.connection import Connection
from mainspring.store.dead_letters import list_remarks
from mainspring.store.reading import (
    RunLine,
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
    return shapes.run_whole(
        run,
        await read_spec(connection, run),
        await read_run_parameters(connection, run.id),
        await count_tasks(connection, run),
        await list_tasks(
            connection,
            run,
            states=narrowed.states or None,
            limit=narrowed.tasks_max,
            result_bytes=narrowed.result_bytes,
        ),
        shapes.by_task(await list_attempts(connection, run, limit=ATTEMPTS_MAX)),
        await list_problems(connection, run),
        await list_remarks(connection, run),
        (await read_dag_standing(connection, run.dag)).pause,
        await list_reruns(connection, run.id),
        await backfill_of_run(connection, run.id),
    )


async def read_run_tasks(
    connection: Connection, run: RunLine, *, result_bytes: int = shapes.RESULT_BYTES_MAX
) -> list[shapes.Task]:
    """Its tasks alone, in the order of the dag. Larger results are left out."""
    return shapes.run_tasks(
        run,
        await read_spec(connection, run),
        await list_tasks(connection, run, result_bytes=result_bytes),
        shapes.by_task(await list_attempts(connection, run, limit=ATTEMPTS_MAX)),
        await list_remarks(connection, run),
    )


async def find_task(connection: Connection, run: RunLine, name: str) -> shapes.Task:
    """The task of this name, or an error that knows the nearest one."""
    tasks = await read_run_tasks(connection, run)
    for task in tasks:
        if task.name == name:
            return task
    hint = closest(name, [task.name for task in tasks])
    raise NotFoundError(f"run {run.id} has no task {shown(name)}", hint=hint)


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
