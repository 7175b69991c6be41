"""Which tasks a rerun opens again, and when it may not.

A rerun goes on with the same run: the chosen tasks and all that comes after them are opened again,
what succeeded before them stays. Every task directly before an opened one has succeeded or is
opened with it, so nothing that can still end lies before an opened task. More depends on that than
good sense: see "Rerun" in docs/internals/protocol.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from mainspring.domain.errors import ConflictError, NotFoundError
from mainspring.domain.names import closest, listed, shown
from mainspring.domain.states import TASK, TaskState

UNDONE = (TaskState.FAILED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED)
"""What a rerun takes up if nobody chooses. What was skipped was done."""

_NAMED_MAX = 5
"""More tasks than this do not fit into a command that is to be typed."""


class TaskStanding(msgspec.Struct, frozen=True):
    name: str
    lane: int
    state: TaskState
    generation: int
    before: Sequence[int]
    """The numbers of the tasks directly before it."""
    term: int = 1


class Standing(msgspec.Struct, frozen=True):
    """How a run stands."""

    run_id: int
    stopped: bool
    """Whether it was asked to stop; when it is closed, that is over."""
    tasks: Sequence[TaskStanding]

    def names(self, nodes: Iterable[int]) -> list[str]:
        return [self.tasks[node].name for node in nodes]


# --- choosing -----------------------------------------------------------------------------


def named_tasks(standing: Standing, names: Collection[str]) -> list[int]:
    numbers = {task.name: node for node, task in enumerate(standing.tasks)}
    for name in names:
        if name not in numbers:
            raise NotFoundError(
                f"run {standing.run_id} has no task {shown(name)}", hint=closest(name, numbers)
            )
    return [numbers[name] for name in names]


def undone_tasks(standing: Standing) -> list[int]:
    found = [node for node, task in enumerate(standing.tasks) if task.state in UNDONE]
    if not found:
        raise ConflictError(
            f"no task of run {standing.run_id} has failed or was cancelled",
            hint=f"to run all of it again: `mainspring run rerun {standing.run_id} --all`",
        )
    return found


def with_descendants(standing: Standing, chosen: Iterable[int]) -> list[int]:
    """The chosen tasks and all that comes after them, in order: what a rerun opens."""
    after: list[list[int]] = [[] for _ in standing.tasks]
    for node, task in enumerate(standing.tasks):
        for parent in task.before:
            after[parent].append(node)
    found = set(chosen)
    rest = list(found)
    while rest:
        fresh = [child for child in after[rest.pop()] if child not in found]
        found.update(fresh)
        rest += fresh
    return sorted(found)


def without_doomed(standing: Standing, chosen: Collection[int]) -> list[int]:
    """The chosen tasks and what comes after them, but for what another failure keeps closed.

    What is left closed has an unsuccessful task before it that is not opened either.
    """
    opened = set(with_descendants(standing, chosen))
    while doomed := {
        node
        for node in opened.difference(chosen)
        for parent in standing.tasks[node].before
        if parent not in opened
        and standing.tasks[parent].state in TASK.closed - {TaskState.SUCCEEDED}
    }:
        opened -= doomed
    return sorted(opened)


def was_opened(standing: Standing, generations: Mapping[int, int]) -> bool:
    """Whether tasks that were seen in these generations have been opened once since, all of them.

    Then who asks for that asks again, after an answer that was lost. ConflictError if they stand
    otherwise: somebody else was quicker.
    """
    steps = {standing.tasks[node].generation - seen for node, seen in generations.items()}
    if len(steps) == 1 and steps <= {0, 1}:
        return steps == {1}
    moved = [node for node, seen in generations.items() if standing.tasks[node].generation != seen]
    raise ConflictError(
        f"{_tasks(standing, moved)} of run {standing.run_id} {_was(moved)} opened by somebody else"
        " in the meantime",
        hint=f"look at it (`mainspring run show {standing.run_id}`), and ask again if need be",
    )


def unmet_among(standing: Standing, nodes: Iterable[int]) -> dict[int, int]:
    """For each of these tasks, how many of those directly before it are among them."""
    opened = set(nodes)
    return {
        node: sum(parent in opened for parent in standing.tasks[node].before) for node in opened
    }


# --- checking -----------------------------------------------------------------------------


def check_opening(
    standing: Standing, chosen: Collection[int], opened: Collection[int] | None = None
) -> None:
    """ConflictError if the chosen tasks, with all that comes after them, cannot be opened."""
    opened = set(with_descendants(standing, chosen) if opened is None else opened)
    _check_ended(standing, opened)
    _check_before(standing, opened, chosen)


def check_marking(standing: Standing, node: int) -> None:
    """ConflictError if the task has ended and did not fail: then there is nothing to be closed."""
    task, run_id = standing.tasks[node], standing.run_id
    if task.state in TASK.open or task.state is TaskState.FAILED:
        return
    label = TASK.facts[task.state].label.lower()
    if task.state is TaskState.UPSTREAM_FAILED:
        roots = sorted(_unsuccessful_roots(standing, [node]))
        hint = f"mark what failed before it: {listed(standing.names(roots))}"
    else:
        hint = f"to run it again: `mainspring run rerun {run_id} --from {task.name}`"
    raise ConflictError(f"task {shown(task.name)} of run {run_id} has ended: {label}", hint=hint)


def _check_ended(standing: Standing, opened: Collection[int]) -> None:
    still_open = [node for node, task in enumerate(standing.tasks) if task.state in TASK.open]
    in_the_way = [node for node in still_open if node in opened]
    if in_the_way:
        raise ConflictError(
            f"{_tasks(standing, in_the_way)} of run {standing.run_id}"
            f" {'has' if len(in_the_way) == 1 else 'have'} not ended",
            hint=_wait(standing),
        )
    if still_open and standing.stopped:
        raise ConflictError(
            f"run {standing.run_id} was asked to stop, and has not ended",
            hint=f"wait for its end: `mainspring run watch {standing.run_id}`",
        )


def _check_before(standing: Standing, opened: Collection[int], chosen: Collection[int]) -> None:
    tasks = standing.tasks
    pairs = [
        (node, parent)
        for node in sorted(opened)
        for parent in tasks[node].before
        if parent not in opened and tasks[parent].state is not TaskState.SUCCEEDED
    ]
    if not pairs:
        return
    node, parent = pairs[0]
    after = (
        f"task {shown(tasks[node].name)} of run {standing.run_id} comes after"
        f" {shown(tasks[parent].name)}"
    )
    if tasks[parent].state in TASK.open:
        raise ConflictError(f"{after}, which has not ended", hint=_wait(standing))
    ended = [parent for _, parent in pairs if tasks[parent].state in TASK.closed]
    roots = _unsuccessful_roots(standing, ended)
    below = with_descendants(standing, roots)
    names = standing.names(sorted(roots | (set(chosen).difference(below))))
    command = f"mainspring run rerun {standing.run_id}"
    if len(names) <= _NAMED_MAX:
        command += "".join(f" --from {name}" for name in names)
    else:
        command += " --all"
    raise ConflictError(
        f"{after}, which did not succeed and would not run again",
        hint=f"run {listed(standing.names(sorted(roots)))} again as well: `{command}`",
    )


def _unsuccessful_roots(standing: Standing, nodes: Iterable[int]) -> set[int]:
    """From tasks that did not succeed upwards, to where that began."""
    roots: set[int] = set()
    seen = set(nodes)
    rest = list(seen)
    while rest:
        node = rest.pop()
        causes = [
            parent
            for parent in standing.tasks[node].before
            if standing.tasks[parent].state in TASK.closed - {TaskState.SUCCEEDED}
        ]
        if not causes:
            roots.add(node)
        rest += [parent for parent in causes if parent not in seen]
        seen.update(causes)
    return roots


# --- words --------------------------------------------------------------------------------


def _tasks(standing: Standing, nodes: Sequence[int]) -> str:
    return f"task{'' if len(nodes) == 1 else 's'} {listed(standing.names(nodes))}"


def _was(nodes: Sequence[int]) -> str:
    return "was" if len(nodes) == 1 else "were"


def _wait(standing: Standing) -> str:
    run_id = standing.run_id
    return (
        f"wait for it (`mainspring run watch {run_id}`), or cancel the run first"
        f" (`mainspring run cancel {run_id}`)"
    )
