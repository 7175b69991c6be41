"""Two runs side by side, as one document: `domain.comparing` says what differs."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from mainspring.domain.comparing import Facts, compare_tasks, compare_values
from mainspring.domain.states import TaskState
from mainspring.store.connection import Connection
from mainspring.store.reading import RunLine, list_tasks, read_run, read_run_parameters
from mainspring.store.shapes import RESULT_BYTES_MAX, Run, Shape, run_line, task_seconds


class ComparedParameter(Shape, frozen=True, kw_only=True):
    """A parameter that is not the same in both runs."""

    name: str
    values: list[Any]
    """Of the first run and of the second."""
    given: list[bool]
    """Whether each of them has it at all."""


class ComparedTask(Shape, frozen=True, kw_only=True):
    """How a task stands in one of the runs."""

    state: TaskState
    attempt: int
    duration_seconds: float | None
    result: msgspec.Raw
    """JSON; null if there is none, or if it is too large to be shown."""
    result_bytes: int | None


class ComparedTasks(Shape, frozen=True, kw_only=True):
    """A task of both runs; null where there is no such task."""

    name: str
    changed: list[str]
    """What differs: its state, its attempts, its result."""
    runs: list[ComparedTask | None]


class Comparison(Shape, frozen=True, kw_only=True):
    """Two runs side by side."""

    runs: list[Run]
    same_dag: bool
    same_version: bool
    same_code: bool
    parameters: list[ComparedParameter]
    tasks: list[ComparedTasks]


class _Side(NamedTuple):
    run: RunLine
    parameters: dict[str, Any]
    tasks: dict[str, Facts]


async def read_comparison(connection: Connection, first_id: int, second_id: int) -> Comparison:
    first, second = await _side(connection, first_id), await _side(connection, second_id)
    return Comparison(
        runs=[run_line(first.run), run_line(second.run)],
        same_dag=first.run.dag == second.run.dag,
        same_version=first.run.version_id == second.run.version_id,
        same_code=first.run.snapshot == second.run.snapshot,
        parameters=[
            ComparedParameter(
                name=value.name,
                values=[_given(value.first), _given(value.second)],
                given=[value.first is not msgspec.UNSET, value.second is not msgspec.UNSET],
            )
            for value in compare_values(first.parameters, second.parameters)
        ],
        tasks=[
            ComparedTasks(
                name=pair.name,
                changed=[] if None in (pair.first, pair.second) else pair.changed,
                runs=[_task(pair.first), _task(pair.second)],
            )
            for pair in compare_tasks(first.tasks, second.tasks)
        ],
    )


async def _side(connection: Connection, run_id: int) -> _Side:
    run = await read_run(connection, run_id)
    tasks = await list_tasks(connection, run, result_bytes=RESULT_BYTES_MAX)
    return _Side(
        run,
        msgspec.json.decode(await read_run_parameters(connection, run.id)),
        {
            task.name: Facts(
                task.state,
                task.attempt,
                task_seconds(task, run.read_at),
                task.result,
                task.result_bytes,
            )
            for task in tasks
        },
    )


def _given(value: Any) -> Any:
    return None if value is msgspec.UNSET else value


def _task(facts: Facts | None) -> ComparedTask | None:
    if facts is None:
        return None
    whole = facts.result is not None and len(facts.result) == facts.result_bytes
    return ComparedTask(
        state=facts.state,
        attempt=facts.attempt,
        duration_seconds=facts.seconds,
        result=msgspec.Raw(facts.result if whole and facts.result else b"null"),
        result_bytes=facts.result_bytes,
    )
