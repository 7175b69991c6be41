"""What an author wrote, as plain data: a dag, its tasks, its edges, its parameters.

Specs are frozen, JSON in and JSON out. They hold no code; a task names its function by `entry`,
which a host child imports from the run's snapshot. A spec has two parts: its graph, which never
changes once stored, since `DagSpec.digest()` is the identity of a version; and what it says about
itself to people, which is stored with the dag, where a better text makes no new version. Neither
does another schedule: when a dag runs is no part of what it does.
"""

from __future__ import annotations

import hashlib
from collections import deque
from typing import Any, Literal

import msgspec

from mainspring.domain.lanes import PRIORITY_DEFAULT, SlotKind

TASKS_MAX = 10_000
EDGES_MAX = 100_000
PAYLOAD_BYTES_MAX = 4 * 1024 * 1024
"""The largest parameters, and the largest result, as JSON."""


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of all specs."""


# --- bindings: where an argument's value comes from ---------------------------------------


class Value(Spec, frozen=True, tag="value"):
    """A literal, already JSON data."""

    value: Any = None


class Parameter(Spec, frozen=True, tag="parameter"):
    """The run's parameter of this name."""

    name: str


class Result(Spec, frozen=True, tag="result"):
    """What a task before this one returned, or the part of it that `path` leads to."""

    task: int
    path: tuple[str | int, ...] = ()


class ListOf(Spec, frozen=True, tag="list"):
    items: tuple[Binding, ...]


class MappingOf(Spec, frozen=True, tag="mapping"):
    items: dict[str, Binding]


Binding = Value | Parameter | Result | ListOf | MappingOf


def results_in(binding: Binding) -> list[int]:
    """The task numbers whose results a binding needs."""
    match binding:
        case Result(task=task):
            return [task]
        case ListOf(items=items):
            return [task for item in items for task in results_in(item)]
        case MappingOf(items=items):
            return [task for item in items.values() for task in results_in(item)]
        case _:
            return []


# --- tasks and dags -----------------------------------------------------------------------


class RetrySpec(Spec, frozen=True):
    """How often a task is tried and how long it rests between attempts."""

    attempts: int = 1
    backoff: Literal["fixed", "exponential", "delays", "function"] = "fixed"
    first_seconds: float = 1.0
    factor: float = 2.0
    cap_seconds: float = 300.0
    jitter: float = 0.0
    """The share of a delay that is random: 0.1 takes off up to 10 %."""
    delays_seconds: tuple[float, ...] = ()
    give_up_on: tuple[str, ...] = ()
    """Qualified names of exception classes that end the task at once."""


class TaskSpec(Spec, frozen=True):
    name: str
    entry: str
    """`module:qualified_name` of the function, importable from the snapshot's root."""
    kind: SlotKind = SlotKind.PROCESS
    executor: str = ""
    """The plug-in that runs it, if it is not the one that the kind is called after."""
    queue: str = "default"
    priority: int = PRIORITY_DEFAULT
    arguments: dict[str, Binding] = {}
    retry: RetrySpec = RetrySpec()
    timeout_seconds: float | None = None
    max_lost: int = 3
    on_lost: Literal["retry", "fail"] = "retry"
    description: str = ""


def with_options(
    task: TaskSpec, attempts: int | None = None, timeout_seconds: float | None = None
) -> TaskSpec:
    """The task as a run wants it that says so itself; None leaves what the task says."""
    retry = task.retry
    return msgspec.structs.replace(
        task,
        retry=retry if attempts is None else msgspec.structs.replace(retry, attempts=attempts),
        timeout_seconds=task.timeout_seconds if timeout_seconds is None else timeout_seconds,
    )


class ParameterSpec(Spec, frozen=True):
    name: str
    schema: dict[str, Any] = {}
    """JSON Schema of the declared type; empty when the author gave none."""
    required: bool = True
    default: Any = None


class ScheduleInCode(Spec, frozen=True):
    """A schedule that the file of a dag defines."""

    name: str
    """Of the whole: the dag's, with its own after a dot if it has one."""
    spec: dict[str, Any]
    """As JSON data; what it says is for `mainspring.schedule`, where it is a `ScheduleSpec`."""
    parameters: dict[str, Any] = {}
    note: str = ""


class DagSpec(Spec, frozen=True):
    name: str
    tasks: tuple[TaskSpec, ...]
    edges: tuple[tuple[int, int], ...] = ()
    """(before, after) task numbers, sorted, without repetition; data and pure order alike."""
    parameters: tuple[ParameterSpec, ...] = ()
    timeout_seconds: float | None = None
    description: str = ""
    """One line, for lists."""
    doc: str = ""
    """Markdown."""
    owner: str = ""
    tags: tuple[str, ...] = ()
    notify: tuple[str, ...] = ()
    """Who is told of ends: `state notifier:address`."""
    schedules: tuple[ScheduleInCode, ...] = ()
    """Known where the file is read; afterwards they are rows of their own."""

    def digest(self) -> bytes:
        """Of the graph alone."""
        return hashlib.sha256(msgspec.json.encode(self.graph(), order="deterministic")).digest()

    def graph(self) -> DagSpec:
        """The spec without what it says about itself, and without when it runs."""
        return msgspec.structs.replace(self.told(About()), schedules=())

    def about(self) -> About:
        return About(
            self.description,
            self.doc,
            self.owner,
            self.tags,
            {task.name: task.description for task in self.tasks if task.description},
            self.notify,
        )

    def told(self, about: About) -> DagSpec:
        """The same graph with these texts."""
        texts = about.tasks
        return msgspec.structs.replace(
            self,
            description=about.description,
            doc=about.doc,
            owner=about.owner,
            tags=about.tags,
            notify=about.notify,
            tasks=tuple(
                task
                if task.description == texts.get(task.name, "")
                else msgspec.structs.replace(task, description=texts.get(task.name, ""))
                for task in self.tasks
            ),
        )


class About(Spec, frozen=True):
    """What a dag says about itself, to people."""

    description: str = ""
    doc: str = ""
    owner: str = ""
    tags: tuple[str, ...] = ()
    tasks: dict[str, str] = {}
    """The descriptions of those tasks that have one, by name."""
    notify: tuple[str, ...] = ()


def parents_of(spec: DagSpec) -> list[list[int]]:
    """For each task number, the tasks directly before it."""
    parents: list[list[int]] = [[] for _ in spec.tasks]
    for before, after in spec.edges:
        parents[after].append(before)
    return parents


def children_of(spec: DagSpec) -> list[list[int]]:
    """For each task number, the tasks directly after it."""
    children: list[list[int]] = [[] for _ in spec.tasks]
    for before, after in spec.edges:
        children[before].append(after)
    return children


def in_order(spec: DagSpec) -> list[int]:
    """Task numbers, parents before children; shorter than `tasks` when there is a cycle."""
    children = children_of(spec)
    unmet = [len(parents) for parents in parents_of(spec)]
    able = deque(number for number, count in enumerate(unmet) if count == 0)
    order: list[int] = []
    while able:
        number = able.popleft()
        order.append(number)
        for child in children[number]:
            unmet[child] -= 1
            if unmet[child] == 0:
                able.append(child)
    return order
