"""A dag's graph by the names of its tasks, for tests to assert on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mainspring.authoring.dags import Dag
from mainspring.authoring.tasks import Task
from mainspring.domain.errors import InputError
from mainspring.domain.names import shown
from mainspring.domain.specs import DagSpec, TaskSpec

Subject = Dag[...] | Task[..., Any]


def tasks_of(dag: Subject) -> dict[str, TaskSpec]:
    """The tasks of a dag by name, with their options: `tasks_of(d)["load"].queue`."""
    return {task.name: task for task in spec_of(dag).tasks}


def edges_of(dag: Subject) -> set[tuple[str, str]]:
    """What comes before what, for data or for order: `{("extract", "load")}`."""
    spec = spec_of(dag)
    return {(spec.tasks[before].name, spec.tasks[after].name) for before, after in spec.edges}


def spec_of(dag: Subject) -> DagSpec:
    return drawn(dag)[0]


def drawn(dag: Subject) -> tuple[DagSpec, dict[str, Callable[..., Any]]]:
    """A dag as data, and the functions of its tasks by entry; a task is a dag of its own."""
    given: object = dag
    if isinstance(given, Task):
        return given.as_dag(), {given.spec.entry: given.function}
    if isinstance(given, Dag):
        return given.spec, given.functions
    raise InputError(
        f"{shown(given)} is neither a dag nor a task",
        hint="give the function that has `@dag` or `@task` above it, not its name or its result",
    )
