"""What programs are told: by `--json` on the command line and by the server, in the same shapes.

Ids, names, states, RFC 3339 times in UTC, lengths in seconds. Fields are only ever added. A value
that is not known is null; a field is never left out. Each shape has one function that makes it
from what `store` has read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from mainspring.domain.differences import Difference
from mainspring.domain.durations import lasted_seconds
from mainspring.domain.lanes import SlotKind
from mainspring.domain.log_marks import Ending
from mainspring.domain.outcomes import Error
from mainspring.domain.specs import DagSpec, RetrySpec, TaskSpec, parents_of
from mainspring.domain.states import AttemptState, RunState, TaskState
from mainspring.domain.uses import Use
from mainspring.store.dags import DagRow
from mainspring.store.dead_letters import Remark
from mainspring.store.drains import Drained, Draining
from mainspring.store.logs import LogLine
from mainspring.store.marks import Mark, Marked
from mainspring.store.pauses import Pause, Paused
from mainspring.store.reading import (
    AttemptLine,
    DagLine,
    FileProblem,
    InHandLine,
    LaneLine,
    PausedLine,
    RunLine,
    TaskLine,
    WorkerLine,
)
from mainspring.store.schedule_reading import ScheduleGlance
from mainspring.store.versions import RolledBack, VersionLine

Uses = Mapping[tuple[int, int], Use]
"""What attempts used, by task and term."""
_NO_USES: Uses = {}

Content = bytes
"""In JSON as base64."""

RESULT_BYTES_MAX = 1024 * 1024
"""Larger results are left out of a run's document."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all shapes."""


class Clock(Shape, frozen=True, kw_only=True):
    """The database's clock."""

    now: datetime


# --- dags ---------------------------------------------------------------------------------------


class LastRun(Shape, frozen=True, kw_only=True):
    """The newest run of a dag."""

    id: int
    state: RunState | None
    created_at: datetime | None


class DagSchedule(Shape, frozen=True, kw_only=True):
    """A schedule next to its dag."""

    name: str
    words: str
    in_code: bool
    paused: bool
    next_fire_at: datetime | None


class Dag(Shape, frozen=True, kw_only=True):
    """A dag in a list."""

    name: str
    version: int
    snapshot: str
    file: str
    task_count: int
    description: str
    owner: str
    tags: list[str]
    changed_at: datetime
    rolled_back_at: datetime | None
    gone_at: datetime | None
    pause: Pause | None
    last_run: LastRun | None
    schedules: list[DagSchedule]


class DagParameter(Shape, frozen=True, kw_only=True):
    name: str
    schema: dict[str, Any]
    required: bool
    default: Any


class Retry(Shape, frozen=True, kw_only=True):
    """How often a task is tried and how long it rests between attempts."""

    attempts: int
    backoff: Literal["fixed", "exponential", "delays", "function"]
    first_seconds: float
    factor: float
    cap_seconds: float
    jitter: float
    delays_seconds: list[float]
    give_up_on: list[str]


class DagTask(Shape, frozen=True, kw_only=True):
    """A task as the dag says it."""

    name: str
    description: str
    kind: SlotKind
    queue: str
    priority: int
    after: list[str]
    retry: Retry
    timeout_seconds: float | None
    max_lost: int
    on_lost: Literal["retry", "fail"]


class DagWhole(Shape, frozen=True, kw_only=True):
    """A dag with its parameters and tasks."""

    name: str
    version: int
    snapshot: str
    file: str
    description: str
    doc: str
    owner: str
    tags: list[str]
    notify: list[str]
    timeout_seconds: float | None
    version_created_at: datetime
    changed_at: datetime
    rolled_back_at: datetime | None
    gone_at: datetime | None
    pause: Pause | None
    schedules: list[DagSchedule]
    parameters: list[DagParameter]
    task_count: int
    tasks: list[DagTask]


class DagWritten(DagWhole, frozen=True, kw_only=True):
    """A dag after it was written as JSON."""

    created: bool
    """Whether there was none."""
    changed: bool
    """Whether a trigger uses another version than before."""


class DagRemoved(Shape, frozen=True, kw_only=True):
    name: str
    schedules: list[str]
    """That went with it."""


class Version(Shape, frozen=True, kw_only=True):
    """A version of a dag."""

    version: int
    task_count: int
    created_at: datetime
    snapshot: str
    code_bytes: int | None
    in_use: bool
    in_folder: bool


class VersionsDiffer(Shape, frozen=True, kw_only=True):
    """What changed in a dag from one version to another."""

    dag: str
    before: int
    after: int
    difference: Difference


class VersionChange(Shape, frozen=True, kw_only=True):
    """What a rollback came to."""

    dag: str
    version_before: int
    version: int
    snapshot: str
    rolled_back_at: datetime | None


class UnreadFile(Shape, frozen=True, kw_only=True):
    """A file of the dags folder that could not be read."""

    file: str
    line: int | None
    message: str
    seen_at: datetime


class PauseChange(Shape, frozen=True, kw_only=True):
    """What a pause or resume came to; `changed` tells whether it was otherwise before."""

    name: str
    pause: Pause | None
    changed: bool
    pause_before: Pause | None


class PausedThing(Shape, frozen=True, kw_only=True):
    """A dag or a queue that is paused."""

    what: Literal["dag", "queue"]
    name: str
    pause: Pause


def dag_line(dag: DagLine, schedules: Sequence[ScheduleGlance] = ()) -> Dag:
    last = None
    if dag.last_run_id is not None:
        last = LastRun(
            id=dag.last_run_id, state=dag.last_run_state, created_at=dag.last_run_created_at
        )
    return Dag(
        name=dag.name,
        version=dag.version,
        snapshot=dag.snapshot,
        file=dag.file,
        task_count=dag.tasks,
        description=dag.description,
        owner=dag.owner,
        tags=dag.tags,
        changed_at=dag.changed_at,
        rolled_back_at=dag.rolled_back_at,
        gone_at=dag.gone_at,
        pause=dag.pause,
        last_run=last,
        schedules=[schedule_glance(schedule) for schedule in schedules],
    )


def schedule_glance(schedule: ScheduleGlance) -> DagSchedule:
    from mainspring.schedule.explaining import explain

    return DagSchedule(
        name=schedule.name,
        words=explain(schedule.spec, schedule.name),
        in_code=schedule.in_code,
        paused=schedule.paused,
        next_fire_at=schedule.next_fire_at,
    )


def file_problem(problem: FileProblem) -> UnreadFile:
    return UnreadFile(
        file=problem.file, line=problem.line, message=problem.message, seen_at=problem.seen_at
    )


def dag_whole(
    dag: DagRow, schedules: Sequence[ScheduleGlance] = (), *, with_tasks: bool = True
) -> DagWhole:
    """Without its tasks where nobody asked for them: ten thousand take longer than all the rest."""
    spec, parents = dag.spec, parents_of(dag.spec) if with_tasks else []
    return DagWhole(
        name=dag.name,
        version=dag.version,
        snapshot=dag.snapshot,
        file=dag.file,
        description=spec.description,
        doc=spec.doc,
        owner=spec.owner,
        tags=list(spec.tags),
        # Without addresses, which may be secrets.
        notify=[entry.partition(":")[0] for entry in spec.notify],
        timeout_seconds=spec.timeout_seconds,
        version_created_at=dag.created_at,
        changed_at=dag.changed_at,
        rolled_back_at=dag.rolled_back_at,
        gone_at=dag.gone_at,
        pause=dag.pause,
        schedules=[schedule_glance(schedule) for schedule in schedules],
        parameters=[
            DagParameter(name=p.name, schema=p.schema, required=p.required, default=p.default)
            for p in spec.parameters
        ],
        task_count=len(spec.tasks),
        tasks=[
            _task_spec(task, [spec.tasks[before].name for before in parents[node]])
            for node, task in enumerate(spec.tasks if with_tasks else ())
        ],
    )


def _task_spec(task: TaskSpec, after: Sequence[str]) -> DagTask:
    return DagTask(
        name=task.name,
        description=task.description,
        kind=task.kind,
        queue=task.queue,
        priority=task.priority,
        after=list(after),
        retry=_retry(task.retry),
        timeout_seconds=task.timeout_seconds,
        max_lost=task.max_lost,
        on_lost=task.on_lost,
    )


def _retry(retry: RetrySpec) -> Retry:
    return Retry(
        attempts=retry.attempts,
        backoff=retry.backoff,
        first_seconds=retry.first_seconds,
        factor=retry.factor,
        cap_seconds=retry.cap_seconds,
        jitter=retry.jitter,
        delays_seconds=list(retry.delays_seconds),
        give_up_on=list(retry.give_up_on),
    )


def version_line(version: VersionLine) -> Version:
    return Version(
        version=version.number,
        task_count=version.tasks,
        created_at=version.created_at,
        snapshot=version.snapshot,
        code_bytes=version.packed_bytes,
        in_use=version.used,
        in_folder=version.in_folder,
    )


def rolled_back(done: RolledBack) -> VersionChange:
    return VersionChange(
        dag=done.dag,
        version_before=done.version_before,
        version=done.version,
        snapshot=done.snapshot,
        rolled_back_at=done.rolled_back_at,
    )


def paused(name: str, done: Paused) -> PauseChange:
    return PauseChange(
        name=name,
        pause=done.now,
        changed=(done.before is None) != (done.now is None),
        pause_before=done.before,
    )


def paused_thing(line: PausedLine) -> PausedThing:
    what: Literal["dag", "queue"] = "dag" if line.what == "dag" else "queue"
    return PausedThing(what=what, name=line.name, pause=line.pause)


# --- runs ---------------------------------------------------------------------------------------


class DataInterval(Shape, frozen=True, kw_only=True):
    """The time that a scheduled run is about."""

    start: datetime | None
    end: datetime


class Run(Shape, frozen=True, kw_only=True):
    """A run without its tasks."""

    id: int
    dag: str
    version: int
    snapshot: str
    state: RunState
    trigger: str
    created_by: str | None
    rerun_of: int | None
    created_at: datetime
    due_at: datetime
    schedule: str | None
    fire_at: datetime | None
    data_interval: DataInterval | None
    started_at: datetime | None
    finished_at: datetime | None
    duration_seconds: float | None
    stop: str | None
    task_count: int
    open_tasks: int
    failed_tasks: int


class RunStopping(Run, frozen=True, kw_only=True):
    """A run that was asked to stop, and how many of its tasks still ran then."""

    asked_to_stop: int
    had_ended: bool
    """Whether it was over before."""


class RunAgain(Run, frozen=True, kw_only=True):
    """A run of which tasks run again."""

    reopened: list[str]


class RunMarked(Run, frozen=True, kw_only=True):
    """A run of which a task was closed by hand."""

    task: str
    marked: Literal["succeeded", "skipped"]
    repeated: bool
    """It was closed so before, and nothing was changed."""
    stopped: bool
    """Whether a worker had it in hand, and stops it."""
    opened: list[str]
    """Tasks that came after it and wait again."""


class RunReordered(Run, frozen=True, kw_only=True):
    """A run whose waiting tasks have another priority."""

    priority: int
    changed_tasks: int


class TaskError(Shape, frozen=True, kw_only=True):
    """What went wrong in an attempt."""

    type: str
    message: str
    trace: str


class Progress(Shape, frozen=True, kw_only=True):
    """What a running attempt told of itself."""

    percent: float
    text: str | None
    at: datetime | None


class Attempt(Shape, frozen=True, kw_only=True):
    """One try of a task."""

    attempt: int
    term: int
    generation: int
    state: AttemptState
    started_at: datetime | None
    finished_at: datetime | None
    duration_seconds: float | None
    worker: str | None
    error: TaskError | None
    cpu_seconds: float | None
    """Of what ran in a process of its own, and lasted."""
    peak_bytes: int | None
    """The most memory that it held, where that is known."""


class ByHand(Shape, frozen=True, kw_only=True):
    """What somebody did to a task, and why."""

    deed: str
    term: int
    at: datetime
    who: str
    note: str


class Task(Shape, frozen=True, kw_only=True):
    """One node of a run."""

    id: int
    name: str
    state: TaskState
    attempt: int
    attempts_max: int
    lost: int
    term: int
    generation: int
    queue: str
    kind: SlotKind
    priority: int
    after: list[str]
    stop: str | None
    due_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration_seconds: float | None
    worker: str | None
    progress: Progress | None
    result: msgspec.Raw
    """JSON; null if there is none, or if it is too large to be shown."""
    result_bytes: int | None
    error: TaskError | None
    attempts: list[Attempt]
    by_hand: list[ByHand]


class RunWhole(Run, frozen=True, kw_only=True):
    """A run with its parameters and tasks."""

    dag_pause: Pause | None
    parameters: msgspec.Raw
    error: TaskError | None
    failed_task: str | None
    task_counts: dict[TaskState, int]
    """How many tasks are in each state."""
    tasks: list[Task]
    reruns: list[int]
    backfill: int | None


def run_line(run: RunLine) -> Run:
    return Run(**_run_fields(run))


def run_stopping(run: RunLine, asked: int, *, had_ended: bool) -> RunStopping:
    return RunStopping(**_run_fields(run), asked_to_stop=asked, had_ended=had_ended)


def run_again(run: RunLine, names: Sequence[str]) -> RunAgain:
    return RunAgain(**_run_fields(run), reopened=list(names))


def run_marked(run: RunLine, task: str, state: Mark, marked: Marked) -> RunMarked:
    return RunMarked(
        **_run_fields(run),
        task=task,
        marked=state,
        repeated=marked.repeated,
        stopped=marked.claimed,
        opened=list(marked.opened),
    )


def run_reordered(run: RunLine, priority: int, changed: int) -> RunReordered:
    return RunReordered(**_run_fields(run), priority=priority, changed_tasks=changed)


def _run_fields(run: RunLine) -> dict[str, Any]:
    interval = None
    if run.fire_at is not None:
        interval = DataInterval(start=run.interval_start, end=run.fire_at)
    return {
        "id": run.id,
        "dag": run.dag,
        "version": run.version,
        "snapshot": run.snapshot,
        "state": run.state,
        "trigger": run.trigger,
        "created_by": run.created_by,
        "rerun_of": run.rerun_of,
        "created_at": run.created_at,
        "due_at": run.due_at,
        "schedule": run.schedule,
        "fire_at": run.fire_at,
        "data_interval": interval,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "duration_seconds": lasted_seconds(run.started_at, run.finished_at, run.read_at),
        "stop": run.stop,
        "task_count": run.tasks,
        "open_tasks": run.open_tasks,
        "failed_tasks": run.failed_tasks,
    }


def run_whole(
    run: RunLine,
    spec: DagSpec,
    parameters: bytes,
    counts: Mapping[TaskState, int],
    tasks: Sequence[TaskLine],
    attempts: Mapping[int, Sequence[AttemptLine]],
    problems: Sequence[AttemptLine],
    remarks: Mapping[int, Sequence[Remark]],
    pause: Pause | None,
    reruns: Sequence[int],
    backfill: int | None,
    uses: Uses = _NO_USES,
) -> RunWhole:
    first = problems[0] if problems else None
    return RunWhole(
        **_run_fields(run),
        dag_pause=pause,
        parameters=msgspec.Raw(parameters),
        error=error(first.error) if first and first.error else None,
        failed_task=spec.tasks[first.task_id - run.id].name if first else None,
        task_counts=dict(counts),
        tasks=run_tasks(run, spec, tasks, attempts, remarks, uses),
        reruns=list(reruns),
        backfill=backfill,
    )


def run_tasks(
    run: RunLine,
    spec: DagSpec,
    tasks: Sequence[TaskLine],
    attempts: Mapping[int, Sequence[AttemptLine]],
    remarks: Mapping[int, Sequence[Remark]],
    uses: Uses = _NO_USES,
) -> list[Task]:
    parents = parents_of(spec)
    return [
        task_line(
            run,
            task,
            spec.tasks[task.node],
            [spec.tasks[before].name for before in parents[task.node]],
            attempts.get(task.id, ()),
            remarks.get(task.id, ()),
            uses,
        )
        for task in tasks
    ]


def task_line(
    run: RunLine,
    task: TaskLine,
    spec: TaskSpec,
    after: Sequence[str],
    attempts: Sequence[AttemptLine],
    remarks: Sequence[Remark] = (),
    uses: Uses = _NO_USES,
) -> Task:
    whole = task.result is not None and len(task.result) == task.result_bytes
    ended = [
        attempt for attempt in attempts if attempt.error and attempt.generation == task.generation
    ]
    last_error = ended[-1].error if ended and task.state is not TaskState.SUCCEEDED else None
    return Task(
        id=task.id,
        name=task.name,
        state=task.state,
        attempt=task.attempt,
        attempts_max=spec.retry.attempts,
        lost=task.lost,
        term=task.term,
        generation=task.generation,
        queue=spec.queue,
        kind=spec.kind,
        priority=task.priority,
        after=list(after),
        stop=task.stop,
        due_at=task.due_at,
        started_at=task.started_at,
        finished_at=task.finished_at,
        duration_seconds=task_seconds(task, run.read_at),
        worker=task.worker,
        progress=progress(task),
        result=msgspec.Raw(task.result if whole and task.result else b"null"),
        result_bytes=task.result_bytes,
        error=error(last_error) if last_error else None,
        attempts=[
            attempt_line(attempt, run.read_at, uses.get((task.id, attempt.term)))
            for attempt in all_attempts(task, attempts)
        ],
        by_hand=[remark_line(remark) for remark in remarks],
    )


def progress(task: TaskLine) -> Progress | None:
    if task.progress_percent is None:
        return None
    return Progress(percent=task.progress_percent, text=task.progress_text, at=task.progress_at)


def task_seconds(task: TaskLine, now: datetime) -> float | None:
    """How long its current or last attempt takes; None for what waits or never ran."""
    if task.state is TaskState.RUNNING:
        return lasted_seconds(task.started_at, None, now)
    return lasted_seconds(task.started_at, task.finished_at) if task.finished_at else None


def by_task(attempts: Sequence[AttemptLine]) -> dict[int, list[AttemptLine]]:
    """The attempts of each task, in their order."""
    found: dict[int, list[AttemptLine]] = {}
    for attempt in attempts:
        found.setdefault(attempt.task_id, []).append(attempt)
    return found


def all_attempts(task: TaskLine, ended: Sequence[AttemptLine]) -> list[AttemptLine]:
    """Those that ended otherwise, and the running or successful one that the task row tells."""
    found = list(ended)
    told = {TaskState.RUNNING: AttemptState.RUNNING, TaskState.SUCCEEDED: AttemptState.SUCCEEDED}
    # What was marked by hand succeeded without an attempt.
    began = task.state is not TaskState.SUCCEEDED or task.started_at is not None
    if task.state in told and began and all(attempt.term != task.term for attempt in ended):
        found.append(
            AttemptLine(
                task_id=task.id,
                term=task.term,
                attempt=task.attempt,
                state=told[task.state],
                started_at=task.started_at,
                finished_at=task.finished_at,
                worker=task.worker,
                error=None,
                generation=task.generation,
            )
        )
    return found


def attempt_line(attempt: AttemptLine, now: datetime, use: Use | None = None) -> Attempt:
    return Attempt(
        attempt=attempt.attempt,
        term=attempt.term,
        generation=attempt.generation,
        state=attempt.state,
        started_at=attempt.started_at,
        finished_at=attempt.finished_at,
        duration_seconds=lasted_seconds(attempt.started_at, attempt.finished_at, now),
        worker=attempt.worker,
        error=error(attempt.error) if attempt.error else None,
        cpu_seconds=None if use is None else use.cpu_seconds,
        peak_bytes=None if use is None else use.peak_bytes,
    )


def remark_line(remark: Remark) -> ByHand:
    return ByHand(
        deed=remark.deed, term=remark.term, at=remark.at, who=remark.who, note=remark.note
    )


def error(found: Error) -> TaskError:
    return TaskError(type=found.type, message=found.message, trace=found.trace)


class Log(Shape, frozen=True, kw_only=True):
    """What one try of a task wrote, and whether that is all."""

    task: str
    task_id: int
    attempt: int
    term: int
    state: str
    log: Ending
    bytes: int
    """So many are there without a hole."""
    stored: int
    """Up to this byte something is there."""
    content: Content | None
    """All of it, if it is short and was asked for."""


def log_line(log: LogLine, task: str, *, content: bool = False) -> Log:
    return Log(
        task=task,
        task_id=log.task_id,
        attempt=log.attempt,
        term=log.term,
        state=log.state,
        log=log.mark.ending,
        bytes=log.mark.bytes,
        stored=log.stored,
        content=log.content if content else None,
    )


# --- queues and workers -------------------------------------------------------------------------


class Lane(Shape, frozen=True, kw_only=True):
    """What waits and what runs for one queue and slot kind."""

    queue: str
    kind: SlotKind
    ready: int
    oldest_seconds: float | None
    running: int
    workers: int
    aside: int
    pause: Pause | None
    per_second: float
    """How many attempts ended per second, as living workers told with their last beats."""


class QueueWhole(Shape, frozen=True, kw_only=True):
    """A queue with its lanes and the workers that serve it."""

    name: str
    pause: Pause | None
    kinds: list[Lane]
    workers: list[str]


class Worker(Shape, frozen=True, kw_only=True):
    """A living worker and what it has in hand.

    One that is `draining` claims nothing: somebody wants so (`drain`), or it is about to leave.
    """

    id: int
    name: str
    host: str
    pid: int
    queues: list[str]
    slots: dict[SlotKind, int]
    running: dict[SlotKind, int]
    started_at: datetime
    renewed_at: datetime
    lease_seconds: float
    draining: bool
    drain: Draining | None
    per_second: float
    overdue: bool


class DrainChange(Shape, frozen=True, kw_only=True):
    """A worker that was asked to drain or to go on, and what was wanted of it before."""

    worker: Worker
    changed: bool
    drain_before: Draining | None


class InHand(Shape, frozen=True, kw_only=True):
    """A task that a worker has in hand, and since when."""

    run: int
    dag: str
    task: str
    attempt: int
    kind: SlotKind
    worker_id: int
    worker: str
    claimed_at: datetime


def in_hand(line: InHandLine) -> InHand:
    return InHand(
        run=line.run_id,
        dag=line.dag,
        task=line.task,
        attempt=line.attempt,
        kind=line.kind,
        worker_id=line.worker_id,
        worker=line.worker,
        claimed_at=line.claimed_at,
    )


def lane_line(lane: LaneLine) -> Lane:
    return Lane(
        queue=lane.queue,
        kind=lane.kind,
        ready=lane.ready,
        oldest_seconds=lane.oldest_seconds,
        running=lane.running,
        workers=lane.workers,
        aside=lane.aside,
        pause=lane.pause,
        per_second=lane.per_second,
    )


def queue_whole(
    name: str, pause: Pause | None, lanes: Sequence[LaneLine], workers: Sequence[WorkerLine]
) -> QueueWhole:
    """Of these lanes and workers, those of the queue."""
    return QueueWhole(
        name=name,
        pause=pause,
        kinds=[lane_line(lane) for lane in lanes if lane.queue == name],
        workers=[worker.name for worker in workers if worker.serves(name)],
    )


def worker_line(worker: WorkerLine) -> Worker:
    return Worker(
        id=worker.id,
        name=worker.name,
        host=worker.host,
        pid=worker.pid,
        queues=worker.queues,
        slots=worker.slots,
        running={kind: worker.running.get(kind, 0) for kind in worker.slots},
        started_at=worker.started_at,
        renewed_at=worker.renewed_at,
        lease_seconds=worker.lease_seconds,
        draining=worker.draining,
        drain=worker.drain,
        per_second=sum(worker.rates.values()),
        overdue=worker.overdue,
    )


def drained(done: Drained, worker: WorkerLine) -> DrainChange:
    return DrainChange(
        worker=worker_line(worker),
        changed=(None if done.before is None else done.before.then)
        != (None if worker.drain is None else worker.drain.then),
        drain_before=done.before,
    )
