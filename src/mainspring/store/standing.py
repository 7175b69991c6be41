"""How one task stands, why, and what would move it on; pure.

Each reason has a word of its own, for programs, a sentence, and the steps that would unblock it:
with a command where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from mainspring.domain.durations import format_duration
from mainspring.domain.lanes import PRIORITY_MAX, Lane, SlotKind
from mainspring.domain.names import shown
from mainspring.domain.specs import TaskSpec
from mainspring.domain.states import AttemptState, TaskState
from mainspring.domain.words import ago, clock, counted, error_words, pause_words, roughly, safe
from mainspring.store.dags import APP_SNAPSHOT
from mainspring.store.reading import (
    COUNT_MAX,
    AttemptLine,
    EngineLine,
    Situation,
    TaskLine,
    WorkerLine,
)

_LATE_SECONDS = 3.0
"""A timer that is due for longer than this has nobody who looks at it."""
_ENGINE_SILENT_SECONDS = 5.0


class Reason(StrEnum):
    DAG_PAUSED = "dag_paused"
    QUEUE_PAUSED = "queue_paused"
    NO_WORKER = "no_worker"
    NO_WORKER_FOR_QUEUE = "no_worker_for_queue"
    NO_WORKER_FOR_KIND = "no_worker_for_kind"
    WORKERS_DRAINING = "workers_draining"
    WORKERS_SILENT = "workers_silent"
    SLOTS_BUSY = "slots_busy"
    OTHERS_FIRST = "others_first"
    ANY_MOMENT = "any_moment"
    START_TIME = "start_time"
    JITTER = "jitter"
    BACKOFF = "backoff"
    HANDED_BACK = "handed_back"
    NO_ENGINE = "no_engine"
    PARKED = "parked"
    RUNNING = "running"
    WORKER_LOST = "worker_lost"
    STOPPING = "stopping"
    FAILED = "failed"
    UPSTREAM_FAILED = "upstream_failed"
    CANCELLED = "cancelled"
    ENDED = "ended"


class Step(msgspec.Struct, frozen=True):
    """Something that would move it on."""

    text: str
    command: str | None = None


class Standing(msgspec.Struct, frozen=True):
    reason: Reason
    text: str
    """Completes a sentence that begins with the task's name."""
    unblocks: list[Step] = []


def standing(
    situation: Situation, task: TaskLine, last: AttemptLine | None, ahead: int | None
) -> Standing:
    spec = situation.spec.tasks[task.node]
    now = situation.run.read_at
    match task.state:
        case TaskState.WAITING:
            return _start(situation, task)
        case TaskState.BACKOFF:
            return _backoff(situation, task, spec, last)
        case TaskState.READY:
            return _ready(situation, task, spec, last, ahead)
        case TaskState.RUNNING:
            return _running(situation, task, spec)
        case TaskState.PARKED:
            return Standing(Reason.PARKED, f"is parked for {_since(task.due_at, now)}")
        case TaskState.SUCCEEDED:
            text = f"succeeded{_closed(task, now)}{_of_attempts(task.attempt, spec)}"
            return Standing(Reason.ENDED, text)
        case TaskState.FAILED:
            return Standing(Reason.FAILED, _failed(task, spec, last, now), [_again(situation)])
        case TaskState.SKIPPED:
            reason = f": {_reason(last)}" if last and _reason(last) else ""
            return Standing(Reason.ENDED, f"was skipped{_closed(task, now)}{reason}")
        case TaskState.UPSTREAM_FAILED:
            text = "never ran: a task before it failed"
            return Standing(Reason.UPSTREAM_FAILED, text, [_again(situation)])
        case TaskState.CANCELLED:
            by = "its run's time limit had passed" if task.stop == "deadline" else "by request"
            text = f"was cancelled{_closed(task, now)}, {by}"
            return Standing(Reason.CANCELLED, text, [_again(situation)])


def _again(situation: Situation) -> Step:
    return Step("once its cause is gone, run it again", f"mainspring run rerun {situation.run.id}")


# --- what rests ---------------------------------------------------------------------------


def _start(situation: Situation, task: TaskLine) -> Standing:
    now = situation.run.read_at
    late = (now - task.due_at).total_seconds()
    if late < _LATE_SECONDS:
        text = f"starts {ago(task.due_at, now)}, at {clock(task.due_at)}"
        unblocks = [Step("nothing to do: it starts by itself")]
        run = situation.run
        if run.trigger == "schedule" and run.fire_at is not None and run.fire_at < task.due_at:
            by = f"schedule `{safe(run.schedule)}`" if run.schedule else "its schedule"
            text += f": {by} fired at {clock(run.fire_at)}, and its jitter lets runs start later"
            return Standing(Reason.JITTER, text, unblocks)
        return Standing(Reason.START_TIME, text, unblocks)
    words, unblocks = _engine(situation.engine)
    return Standing(Reason.NO_ENGINE, f"was to start {ago(task.due_at, now)}; {words}", unblocks)


def _backoff(
    situation: Situation, task: TaskLine, spec: TaskSpec, last: AttemptLine | None
) -> Standing:
    now = situation.run.read_at
    reason, unblocks = Reason.BACKOFF, [Step("nothing to do: it is tried again by itself")]
    if last is None:
        before = "is in backoff"
    elif last.state is AttemptState.YIELDED:
        before = f"was handed back ({_reason(last) or 'no reason given'})"
        reason = Reason.HANDED_BACK
        unblocks = [_able_worker(situation, spec)]
    else:
        before = f"is in backoff after attempt {last.attempt} of {spec.retry.attempts}"
        before += f" ({_error(last)})"
    if task.due_at > now:
        when = f"{ago(task.due_at, now)}, at {clock(task.due_at)}"
        return Standing(reason, f"{before}, next try {when}", unblocks)
    if (now - task.due_at).total_seconds() < _LATE_SECONDS:
        return Standing(reason, f"{before}, next try is due now", unblocks)
    words, unblocks = _engine(situation.engine)
    text = f"{before}, next try was due {ago(task.due_at, now)}; {words}"
    return Standing(Reason.NO_ENGINE, text, unblocks)


def _able_worker(situation: Situation, spec: TaskSpec) -> Step:
    if situation.run.snapshot == APP_SNAPSHOT:
        module = spec.entry.partition(":")[0]
        return Step("start a worker that has the application", f"mainspring worker --app {module}")
    return Step("a worker that can run it: the reason says what was missing")


# --- what is ready ------------------------------------------------------------------------


def _ready(
    situation: Situation,
    task: TaskLine,
    spec: TaskSpec,
    last: AttemptLine | None,
    ahead: int | None,
) -> Standing:
    """Ready tasks are held by a pause, or lack a worker or a free slot."""
    again = ""
    if last is not None and task.term > 1:
        again = (
            f" again after a {last.state} attempt" if last.state is not AttemptState.YIELDED else ""
        )
    waits = f"is ready{again} for {_since(task.due_at, situation.run.read_at)}"
    lane = Lane.of(task.lane)
    known = situation.queues.get(lane.queue_id)
    queue = known.name if known else spec.queue
    obstacles = _pauses(situation, lane) or [
        _obstacle(situation.workers, queue, lane.kind, ahead, situation.run.id)
    ]
    text = f"{waits}, but {' and '.join(obstacle.text for obstacle in obstacles)}"
    unblocks = [step for obstacle in obstacles for step in obstacle.unblocks]
    return Standing(obstacles[0].reason, text, unblocks)


def _pauses(situation: Situation, lane: Lane) -> list[Standing]:
    now, found = situation.run.read_at, []
    if situation.dag.pause is not None:
        name = situation.run.dag
        text = f"its dag was paused {pause_words(situation.dag.pause, now)}"
        step = Step("let the dag go on", f"mainspring dag resume {name}")
        found.append(Standing(Reason.DAG_PAUSED, text, [step]))
    queue = situation.queues.get(lane.queue_id)
    if queue is not None and queue.pause is not None:
        text = f"the queue {shown(queue.name)} was paused {pause_words(queue.pause, now)}"
        step = Step("let the queue go on", f"mainspring queue resume {queue.name}")
        found.append(Standing(Reason.QUEUE_PAUSED, text, [step]))
    return found


def _obstacle(
    workers: Sequence[WorkerLine], queue: str, kind: SlotKind, ahead: int | None, run_id: int
) -> Standing:
    worker = f"mainspring worker --queues {queue}"
    if not workers:
        text = "no worker lives"
        command = worker if queue != "default" else "mainspring worker"
        return Standing(Reason.NO_WORKER, text, [Step("start one", command)])
    serving = [each for each in workers if each.serves(queue)]
    if not serving:
        text = f"no live worker serves the queue {shown(queue)}"
        return Standing(Reason.NO_WORKER_FOR_QUEUE, text, [Step("start one", worker)])
    able = [each for each in serving if each.slots.get(kind, 0) > 0]
    if not able:
        text = f"no live worker of the queue {shown(queue)} has slots of kind `{kind}`"
        step = Step("start one", f"{worker} --slots {kind}=1")
        return Standing(Reason.NO_WORKER_FOR_KIND, text, [step])
    taking = [each for each in able if not each.draining]
    if not taking:
        text = f"every worker of the queue {shown(queue)} is draining"
        asked = [each for each in able if each.drain is not None]
        resume = [Step("let it go on", f"mainspring worker resume {each.id}") for each in asked[:1]]
        return Standing(Reason.WORKERS_DRAINING, text, [*resume, Step("start another one", worker)])
    heard = [each for each in taking if not each.overdue]
    if not heard:
        silent = min(each.silent_seconds for each in taking)
        text = f"no worker of the queue {shown(queue)} was heard of for {roughly(silent)}"
        return Standing(
            Reason.WORKERS_SILENT, text, [Step("look after them, or start one", worker)]
        )
    slots = sum(each.slots[kind] for each in heard)
    busy = sum(min(each.running.get(kind, 0), each.slots[kind]) for each in heard)
    queued = ""
    sooner = []
    if ahead:
        queued = f" and {counted(ahead, 'task', at_most=COUNT_MAX)} {_are(ahead)} ahead of it"
        sooner = [Step("let it go sooner", f"mainspring run priority {run_id} {PRIORITY_MAX}")]
    place = f"in the queue {shown(queue)}"
    if busy >= slots:
        text = f"{_all_slots(slots, kind)} {place} {_are(slots)} busy{queued}"
        steps = [Step("the end of one of them, or another worker", worker), *sooner]
        return Standing(Reason.SLOTS_BUSY, text, steps)
    if ahead:
        text = f"{counted(ahead, 'task', at_most=COUNT_MAX)} {_are(ahead)} ahead of it {place}"
        return Standing(Reason.OTHERS_FIRST, text, sooner)
    text = f"a worker with free `{kind}` slots should take it any moment"
    return Standing(Reason.ANY_MOMENT, text)


# --- what runs, and what failed -----------------------------------------------------------


def _running(situation: Situation, task: TaskLine, spec: TaskSpec) -> Standing:
    now, run_id = situation.run.read_at, situation.run.id
    where = f" on worker {shown(task.worker)}" if task.worker else ""
    since = f" for {format_duration(_seconds(task.started_at, now))}" if task.started_at else ""
    text = f"runs{where}{since}{_of_attempts(task.attempt, spec)}"
    if spec.timeout_seconds is not None:
        text += f", at most {format_duration(spec.timeout_seconds)}"
    reason = Reason.RUNNING
    unblocks = [Step("its end; see what it does", f"mainspring run logs {run_id} {task.name}")]
    worker = next((each for each in situation.workers if each.name == task.worker), None)
    if worker is None or worker.overdue:
        reason, unblocks = Reason.WORKER_LOST, [Step("nothing to do: the engine takes it back")]
        if worker is None:
            text += "; its worker is gone, and the engine will hand it to another"
        else:
            text += f"; its worker was not heard of for {roughly(worker.silent_seconds)}"
            text += ", and the engine will hand its tasks to others"
        if not _alive(situation.engine):
            words, unblocks = _engine(situation.engine)
            text += f"; {words}"
    else:
        text += f"; its worker was heard of {ago(worker.renewed_at, now)}"
    if task.stop:
        text += "; it was asked to stop"
        if reason is Reason.RUNNING:
            reason = Reason.STOPPING
    return Standing(reason, text, unblocks)


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


def _engine(engine: EngineLine) -> tuple[str, list[Step]]:
    """Why nobody looks at what is due."""
    if not engine.held:
        return "no engine runs", [Step("start one", "mainspring engine")]
    if not _alive(engine):
        words = f"the engine was not heard of for {roughly(engine.silent_seconds)}"
        return words, [Step("look after it, or start another one", "mainspring engine")]
    return "the engine is late", [Step("nothing to do: it catches up; see", "mainspring doctor")]


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
