"""Why a run or a task stands where it stands, in words that name what would move it on.

Pure: a `Situation` (with the newest attempts and the places in queues of what matters) goes in,
sentences come out. A task that waits is explained by what it waits for, and so on up to the tasks
that hold everything else back: `roots` finds those, `explain` tells of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import msgspec

from mainspring.cli.words import ago, clock, counted, error_words, roughly, safe
from mainspring.domain.durations import format_duration
from mainspring.domain.lanes import Lane, SlotKind
from mainspring.domain.names import shown
from mainspring.domain.specs import TaskSpec, parents_of
from mainspring.domain.states import RUN, AttemptState, RunState, TaskState
from mainspring.store.reading import (
    COUNT_MAX,
    AttemptLine,
    EngineLine,
    RunLine,
    Situation,
    TaskLine,
    WorkerLine,
)

CAUSES_MAX = 10
"""How many are told; the rest is counted."""
_ALIKE_MAX = 3
"""How many that stand alike are told one by one."""
_LATE_SECONDS = 3.0
"""A timer that is due for longer than this has nobody who looks at it."""
_ENGINE_SILENT_SECONDS = 5.0

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
        text = _standing(situation, task, last, ahead.get(task.id))
        causes.append(Cause(task.name, task.state, text))
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
        return Explanation(
            f"{name} is {RUN.facts[run.state].label.lower()}, {done:,} of"
            f" {counted(run.tasks, 'task')} done{stop}",
            causes,
            more,
        )
    if run.state is not RunState.FAILED:
        causes, more = [], 0
    return Explanation(f"{name} {_ended(run)}", causes, more)


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
    if found == [node]:
        return Explanation(causes[0].text, causes, more)
    name = safe(task.name)
    verb = {TaskState.UPSTREAM_FAILED: "never ran", TaskState.SKIPPED: "was skipped"}
    does = verb.get(task.state, "waits")
    if len(found) > 1:
        return Explanation(f"{name} {does}, because of {len(found):,} tasks:", causes, more)
    way = [safe(situation.tasks[step].name) for step in _way(situation, node, found[0])]
    through = ""
    if does == "waits" and way:
        through = " for " + ", which waits for ".join(way[:3] + ["…"] * (len(way) > 3))
    return Explanation(f"{name} {does}{through}: {causes[0].text}", causes, more)


# --- how one task stands ------------------------------------------------------------------


def _standing(
    situation: Situation, task: TaskLine, last: AttemptLine | None, ahead: int | None
) -> str:
    spec = situation.spec.tasks[task.node]
    name, now = safe(task.name), situation.run.read_at
    match task.state:
        case TaskState.WAITING:
            return f"{name} {_start(situation, task)}"
        case TaskState.BACKOFF:
            return f"{name} {_backoff(situation, task, spec, last)}"
        case TaskState.READY:
            return f"{name} {_ready(situation, task, spec, last, ahead)}"
        case TaskState.RUNNING:
            return f"{name} {_running(situation, task, spec)}"
        case TaskState.PARKED:
            return f"{name} is parked for {_since(task.due_at, now)}"
        case TaskState.SUCCEEDED:
            return f"{name} succeeded{_closed(task, now)}{_of_attempts(task.attempt, spec)}"
        case TaskState.FAILED:
            return f"{name} {_failed(task, spec, last, now)}"
        case TaskState.SKIPPED:
            reason = f": {_reason(last)}" if last and _reason(last) else ""
            return f"{name} was skipped{_closed(task, now)}{reason}"
        case TaskState.UPSTREAM_FAILED:
            return f"{name} never ran: a task before it failed"
        case TaskState.CANCELLED:
            by = "its run's time limit had passed" if task.stop == "deadline" else "by request"
            return f"{name} was cancelled{_closed(task, now)}, {by}"


def _start(situation: Situation, task: TaskLine) -> str:
    now = situation.run.read_at
    late = (now - task.due_at).total_seconds()
    if late < _LATE_SECONDS:
        return f"starts {ago(task.due_at, now)}, at {clock(task.due_at)}"
    return f"was to start {ago(task.due_at, now)}{_engine_words(situation.engine)}"


def _backoff(situation: Situation, task: TaskLine, spec: TaskSpec, last: AttemptLine | None) -> str:
    now = situation.run.read_at
    if last is None:
        before = "is in backoff"
    elif last.state is AttemptState.YIELDED:
        before = f"was handed back ({_reason(last) or 'no reason given'})"
    else:
        before = f"is in backoff after attempt {last.attempt} of {spec.retry.attempts}"
        before += f" ({_error(last)})"
    if task.due_at > now:
        return f"{before}, next try {ago(task.due_at, now)}"
    if (now - task.due_at).total_seconds() < _LATE_SECONDS:
        return f"{before}, next try is due now"
    overdue = f"{before}, next try was due {ago(task.due_at, now)}"
    return overdue + _engine_words(situation.engine)


def _ready(
    situation: Situation,
    task: TaskLine,
    spec: TaskSpec,
    last: AttemptLine | None,
    ahead: int | None,
) -> str:
    """Ready tasks lack a worker or a free slot; the sentence says which, and how to get it."""
    lane = Lane.of(task.lane)
    known = situation.queues.get(lane.queue_id)
    queue = known.name if known else spec.queue
    again = ""
    if last is not None and task.term > 1:
        again = (
            f" again after a {last.state} attempt" if last.state is not AttemptState.YIELDED else ""
        )
    waits = f"is ready{again} for {_since(task.due_at, situation.run.read_at)}"
    return f"{waits}, but {_obstacle(situation.workers, queue, lane.kind, ahead)}"


def _obstacle(workers: Sequence[WorkerLine], queue: str, kind: SlotKind, ahead: int | None) -> str:
    if not workers:
        return "no worker lives: start one with `mainspring worker`"
    serving = [worker for worker in workers if queue in worker.queues]
    if not serving:
        return (
            f"no live worker serves the queue {shown(queue)}:"
            f" start one with `mainspring worker --queues {queue}`"
        )
    able = [worker for worker in serving if worker.slots.get(kind, 0) > 0]
    if not able:
        return (
            f"no live worker of the queue {shown(queue)} has slots of kind `{kind}`:"
            f" start one with `mainspring worker --queues {queue} --slots {kind}=1`"
        )
    taking = [worker for worker in able if not worker.draining]
    if not taking:
        return f"every worker of the queue {shown(queue)} is draining: start another one"
    heard = [worker for worker in taking if not worker.overdue]
    if not heard:
        silent = min(worker.silent_seconds for worker in taking)
        return f"no worker of the queue {shown(queue)} was heard of for {roughly(silent)}"
    slots = sum(worker.slots[kind] for worker in heard)
    busy = sum(min(worker.running.get(kind, 0), worker.slots[kind]) for worker in heard)
    queued = ""
    if ahead:
        queued = f" and {counted(ahead, 'task', at_most=COUNT_MAX)} {_are(ahead)} ahead of it"
    place = f"in the queue {shown(queue)}"
    if busy >= slots:
        return f"{_all_slots(slots, kind)} {place} {_are(slots)} busy{queued}"
    if ahead:
        return f"{counted(ahead, 'task', at_most=COUNT_MAX)} {_are(ahead)} ahead of it {place}"
    return f"a worker with free `{kind}` slots should take it any moment"


def _running(situation: Situation, task: TaskLine, spec: TaskSpec) -> str:
    now = situation.run.read_at
    where = f" on worker {shown(task.worker)}" if task.worker else ""
    since = f" for {format_duration(_seconds(task.started_at, now))}" if task.started_at else ""
    text = f"runs{where}{since}{_of_attempts(task.attempt, spec)}"
    if spec.timeout_seconds is not None:
        text += f", at most {format_duration(spec.timeout_seconds)}"
    worker = next((each for each in situation.workers if each.name == task.worker), None)
    if worker is None:
        text += "; its worker is gone, and the engine will hand it to another"
        text += _engine_words(situation.engine) if not _alive(situation.engine) else ""
    elif worker.overdue:
        text += f"; its worker was not heard of for {roughly(worker.silent_seconds)}"
        text += ", and the engine will hand its tasks to others"
        text += _engine_words(situation.engine) if not _alive(situation.engine) else ""
    else:
        text += f"; its worker was heard of {ago(worker.renewed_at, now)}"
    if task.stop:
        text += "; it was asked to stop"
    return text


def _failed(task: TaskLine, spec: TaskSpec, last: AttemptLine | None, now: datetime) -> str:
    when = f" {ago(task.finished_at, now)}" if task.finished_at else ""
    if last is None:
        return f"failed{when}"
    if last.state is AttemptState.LOST:
        once = "it may not be tried again (`on_lost`)"
        many = f"lost {counted(task.lost, 'time')}, and no more are allowed"
        return f"failed{when} ({_error(last)}): {once if spec.on_lost == 'fail' else many}"
    allowed = spec.retry.attempts
    if last.attempt >= allowed:
        left = "no attempt is left" if allowed > 1 else "it has one attempt"
        return f"failed{when} in attempt {last.attempt} of {allowed} ({_error(last)}); {left}"
    return (
        f"failed{when} in attempt {last.attempt} of {allowed} ({_error(last)});"
        " this error is not tried again"
    )


# --- small words --------------------------------------------------------------------------


def _engine_words(engine: EngineLine) -> str:
    if not engine.held:
        return "; no engine runs: start one with `mainspring engine`"
    if not _alive(engine):
        return f"; the engine was not heard of for {roughly(engine.silent_seconds)}"
    return "; the engine is late"


def _alive(engine: EngineLine) -> bool:
    return engine.held and engine.silent_seconds < _ENGINE_SILENT_SECONDS


def _closed(task: TaskLine, now: datetime) -> str:
    if task.finished_at is None:
        return ""
    took = ""
    if task.started_at is not None:
        took = f" after {format_duration(_seconds(task.started_at, task.finished_at))}"
    return f" {ago(task.finished_at, now)}{took}"


def _of_attempts(attempt: int, spec: TaskSpec) -> str:
    return f", attempt {attempt} of {spec.retry.attempts}" if spec.retry.attempts > 1 else ""


def _since(then: datetime, now: datetime) -> str:
    return roughly(max((now - then).total_seconds(), 0.0))


def _seconds(started_at: datetime, end: datetime) -> float:
    return max((end - started_at).total_seconds(), 0.0)


def _error(last: AttemptLine) -> str:
    if last.error is None:
        return str(last.state)
    return error_words(last.error.type, last.error.message, 120)


def _reason(last: AttemptLine) -> str:
    return safe(last.error.message) if last.error else ""


def _all_slots(slots: int, kind: SlotKind) -> str:
    return f"the only `{kind}` slot" if slots == 1 else f"all {slots:,} `{kind}` slots"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
