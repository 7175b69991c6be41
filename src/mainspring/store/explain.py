"""Why a run or a task stands where it stands, in words that name what would move it on.

Pure: a `Situation` (with the newest attempts and the places in queues of what matters) goes in,
sentences come out. A task that waits is explained by what it waits for, and so on up to the tasks
that hold everything else back: `roots` finds those, `explain` tells of them, and `standing` knows
how each of them stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from mainspring.domain.durations import format_duration
from mainspring.domain.specs import parents_of
from mainspring.domain.states import RUN, RunState, TaskState
from mainspring.domain.words import ago, counted, pause_words, safe
from mainspring.store.reading import AttemptLine, RunLine, Situation, TaskLine
from mainspring.store.standing import Reason, Step, standing

CAUSES_MAX = 10
"""How many are told; the rest is counted."""
_ALIKE_MAX = 3
"""How many that stand alike are told one by one."""

_RANKS: Mapping[TaskState, int] = {
    TaskState.FAILED: 0,
    TaskState.READY: 1,
    TaskState.BACKOFF: 2,
    TaskState.WAITING: 3,
    TaskState.PARKED: 4,
    TaskState.RUNNING: 5,
}
"""What is told first: what somebody may have to act on."""


class Cause(msgspec.Struct, frozen=True):
    """One task that holds others back, or holds the answer itself."""

    task: str
    state: TaskState
    text: str
    reason: Reason
    unblocks: list[Step]


class Explanation(msgspec.Struct, frozen=True):
    headline: str
    causes: list[Cause]
    more: int
    """Causes that are not told."""


def roots(situation: Situation, node: int | None) -> list[int]:
    """The tasks whose own standing explains this task's, or the run's; what matters most first."""
    if node is None:
        found = _roots_of_run(situation)
    elif situation.tasks[node].state is TaskState.UPSTREAM_FAILED:
        found = _above(situation, node, _is(TaskState.UPSTREAM_FAILED), _is(TaskState.FAILED))
    elif situation.tasks[node].state is TaskState.SKIPPED:
        found = _above(situation, node, _is(TaskState.SKIPPED), _is(TaskState.SKIPPED))
        # The first in a row of skipped tasks is the one that wished it.
        found = [skipped for skipped in found if not _skipped_parents(situation, skipped)]
    elif _waits_for_parents(situation.tasks[node]):
        found = _above(situation, node, _waits_for_parents, _holds_back)
    else:
        found = [node]
    return sorted(found or [node or 0], key=lambda root: _rank(situation, root))


def explain(
    situation: Situation,
    node: int | None,
    attempts: Mapping[int, AttemptLine],
    ahead: Mapping[int, int],
) -> Explanation:
    """`attempts` and `ahead` are by task id: the newest ended attempt, and the place in a queue."""
    found = roots(situation, node)
    causes = []
    for root in told(situation, found):
        task = situation.tasks[root]
        last = attempts.get(task.id)
        if last is not None and last.generation != task.generation:
            last = None  # What happened before a rerun explains nothing.
        stands = standing(situation, task, last, ahead.get(task.id))
        text = f"{safe(task.name)} {stands.text}"
        causes.append(Cause(task.name, task.state, text, stands.reason, stands.unblocks))
    more = len(found) - len(causes)
    if node is None:
        return _of_run(situation, causes, more)
    return _of_task(situation, node, found, causes, more)


def told(situation: Situation, found: Sequence[int]) -> list[int]:
    """A few of the roots: some of each sort, so that a crowd hides nothing."""
    seen: dict[tuple[TaskState, int], int] = {}
    some = []
    for root in found:
        task = situation.tasks[root]
        # What waits in one queue waits for the same thing; the first in it says all.
        lane = task.lane if task.state is TaskState.READY else 0
        alike = seen[task.state, lane] = seen.get((task.state, lane), 0) + 1
        if alike <= (1 if lane else _ALIKE_MAX):
            some.append(root)
    return some[:CAUSES_MAX]


# --- who holds whom back ------------------------------------------------------------------


def _roots_of_run(situation: Situation) -> list[int]:
    if situation.run.closed:
        return [task.node for task in situation.tasks if task.state is TaskState.FAILED]
    return [task.node for task in situation.tasks if _holds_back(task)]


def _above(
    situation: Situation,
    node: int,
    passes: Callable[[TaskLine], bool],
    stops: Callable[[TaskLine], bool],
) -> list[int]:
    """From a task upwards through tasks that `passes` lets by, to those that `stops` names."""
    parents = parents_of(situation.spec)
    seen, rest, found = {node}, [node], []
    if stops(situation.tasks[node]):
        found.append(node)
    while rest:
        for parent in parents[rest.pop()]:
            if parent in seen:
                continue
            seen.add(parent)
            if stops(situation.tasks[parent]):
                found.append(parent)
            if passes(situation.tasks[parent]):
                rest.append(parent)
    return found


def _is(state: TaskState) -> Callable[[TaskLine], bool]:
    return lambda task: task.state is state


def _waits_for_parents(task: TaskLine) -> bool:
    return task.state is TaskState.WAITING and task.unmet > 0


def _holds_back(task: TaskLine) -> bool:
    return task.finished_at is None and not _waits_for_parents(task)


def _skipped_parents(situation: Situation, node: int) -> list[int]:
    return [
        before
        for before, after in situation.spec.edges
        if after == node and situation.tasks[before].state is TaskState.SKIPPED
    ]


def _rank(situation: Situation, node: int) -> tuple[int, int]:
    return _RANKS.get(situation.tasks[node].state, len(_RANKS)), node


def _way(situation: Situation, node: int, root: int) -> list[int]:
    """The shortest way up from a task to what it waits for, both ends left out."""
    parents = parents_of(situation.spec)
    came_from: dict[int, int] = {}
    rest = [node]
    while rest and root not in came_from:
        level, rest = rest, []
        for child in level:
            for parent in parents[child]:
                if parent not in came_from:
                    came_from[parent] = child
                    rest.append(parent)
    way = []
    at = came_from.get(root, node)
    while at != node:
        way.append(at)
        at = came_from[at]
    return way[::-1]


# --- the frame of an answer ---------------------------------------------------------------


def _of_run(situation: Situation, causes: list[Cause], more: int) -> Explanation:
    run = situation.run
    name = f"run {run.id} of {safe(run.dag)}"
    if not run.closed:
        done = run.tasks - run.open_tasks
        stop = "; it was asked to stop" if run.stop else ""
        stop += _of_dag(situation, causes)
        return Explanation(
            f"{name} is {RUN.facts[run.state].label.lower()}, {done:,} of"
            f" {counted(run.tasks, 'task')} done{stop}",
            causes,
            more,
        )
    if run.state is not RunState.FAILED:
        causes, more = [], 0
    return Explanation(f"{name} {_ended(run)}", causes, more)


def _of_dag(situation: Situation, causes: Sequence[Cause]) -> str:
    """What concerns the whole run, whatever its tasks wait for now; unless a cause tells it."""
    words = ""
    told = any(cause.reason is Reason.DAG_PAUSED for cause in causes)
    if situation.dag.pause is not None and not told:
        words += f"; its dag was paused {pause_words(situation.dag.pause, situation.run.read_at)}"
    if situation.dag.gone_at is not None:
        words += "; its dag is gone, since no file defines it any more, but the run goes on"
    return words


def _ended(run: RunLine) -> str:
    assert run.finished_at is not None
    when = ago(run.finished_at, run.read_at)
    took = ""
    if run.started_at is not None:
        took = f" after {format_duration((run.finished_at - run.started_at).total_seconds())}"
    if run.stop == "deadline":
        return f"was stopped {when}{took}: its time limit had passed"
    if run.state is RunState.CANCELLED:
        return f"was cancelled {when}{took}"
    return f"{run.state} {when}{took}"


def _of_task(
    situation: Situation, node: int, found: Sequence[int], causes: list[Cause], more: int
) -> Explanation:
    task = situation.tasks[node]
    also = _of_dag(situation, causes) if task.finished_at is None else ""
    if found == [node]:
        return Explanation(causes[0].text + also, causes, more)
    name = safe(task.name)
    verb = {TaskState.UPSTREAM_FAILED: "never ran", TaskState.SKIPPED: "was skipped"}
    does = verb.get(task.state, "waits")
    if len(found) > 1:
        return Explanation(f"{name} {does}, because of {len(found):,} tasks{also}:", causes, more)
    way = [safe(situation.tasks[step].name) for step in _way(situation, node, found[0])]
    through = ""
    if does == "waits" and way:
        through = " for " + ", which waits for ".join(way[:3] + ["…"] * (len(way) > 3))
    return Explanation(f"{name} {does}{through}: {causes[0].text}{also}", causes, more)
