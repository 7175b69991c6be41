"""What `--json` prints: objects with ids, names, states, RFC 3339 times in UTC, lengths in seconds.

Fields are only ever added. A value that is not known is null, a field is never left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from mainspring.cli.words import lasted_seconds
from mainspring.domain.outcomes import Error
from mainspring.domain.specs import DagSpec, RetrySpec, TaskSpec, parents_of
from mainspring.domain.states import AttemptState, TaskState
from mainspring.store.dags import DagRow
from mainspring.store.dead_letters import Remark
from mainspring.store.reading import (
    AttemptLine,
    DagLine,
    FileProblem,
    LaneLine,
    RunLine,
    TaskLine,
    WorkerLine,
)

if TYPE_CHECKING:
    from mainspring.store.pauses import Pause, Paused
    from mainspring.store.schedule_reading import ScheduleGlance
    from mainspring.store.versions import RolledBack, VersionLine

Shape = dict[str, Any]

RESULT_BYTES_MAX = 1024 * 1024
"""Larger results are left out of a run's document."""


def dag_line(dag: DagLine, schedules: Sequence[ScheduleGlance] = ()) -> Shape:
    last = dag.last_run_id and {
        "id": dag.last_run_id,
        "state": dag.last_run_state,
        "created_at": dag.last_run_created_at,
    }
    return {
        "name": dag.name,
        "version": dag.version,
        "snapshot": dag.snapshot,
        "file": dag.file,
        "task_count": dag.tasks,
        "description": dag.description,
        "owner": dag.owner,
        "tags": dag.tags,
        "changed_at": dag.changed_at,
        "rolled_back_at": dag.rolled_back_at,
        "gone_at": dag.gone_at,
        "pause": dag.pause,
        "last_run": last,
        "schedules": [schedule_glance(schedule) for schedule in schedules],
    }


def schedule_glance(schedule: ScheduleGlance) -> Shape:
    from mainspring.schedule.explaining import explain

    return {
        "name": schedule.name,
        "words": explain(schedule.spec, schedule.name),
        "in_code": schedule.in_code,
        "paused": schedule.paused,
        "next_fire_at": schedule.next_fire_at,
    }


def file_problem(problem: FileProblem) -> Shape:
    return {
        "file": problem.file,
        "line": problem.line,
        "message": problem.message,
        "seen_at": problem.seen_at,
    }


def dag_whole(dag: DagRow, schedules: Sequence[ScheduleGlance] = ()) -> Shape:
    spec, parents = dag.spec, parents_of(dag.spec)
    return {
        "name": dag.name,
        "version": dag.version,
        "snapshot": dag.snapshot,
        "file": dag.file,
        "description": spec.description,
        "doc": spec.doc,
        "owner": spec.owner,
        "tags": list(spec.tags),
        # Without addresses, which may be secrets.
        "notify": [entry.partition(":")[0] for entry in spec.notify],
        "timeout_seconds": spec.timeout_seconds,
        "version_created_at": dag.created_at,
        "changed_at": dag.changed_at,
        "rolled_back_at": dag.rolled_back_at,
        "gone_at": dag.gone_at,
        "pause": dag.pause,
        "schedules": [schedule_glance(schedule) for schedule in schedules],
        "parameters": [
            {"name": p.name, "schema": p.schema, "required": p.required, "default": p.default}
            for p in spec.parameters
        ],
        "task_count": len(spec.tasks),
        "tasks": [
            _task_spec(task, [spec.tasks[before].name for before in parents[node]])
            for node, task in enumerate(spec.tasks)
        ],
    }


def version_line(version: VersionLine) -> Shape:
    return {
        "version": version.number,
        "task_count": version.tasks,
        "created_at": version.created_at,
        "snapshot": version.snapshot,
        "code_bytes": version.packed_bytes,
        "in_use": version.used,
        "in_folder": version.in_folder,
    }


def rolled_back(done: RolledBack) -> Shape:
    return {
        "dag": done.dag,
        "version_before": done.version_before,
        "version": done.version,
        "snapshot": done.snapshot,
        "rolled_back_at": done.rolled_back_at,
    }


def run_line(run: RunLine) -> Shape:
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
        "data_interval": run.fire_at and {"start": run.interval_start, "end": run.fire_at},
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
    tasks: Sequence[TaskLine],
    attempts: Mapping[int, Sequence[AttemptLine]],
    problems: Sequence[AttemptLine],
    remarks: Mapping[int, Sequence[Remark]],
    pause: Pause | None,
) -> Shape:
    first = problems[0] if problems else None
    parents = parents_of(spec)
    return {
        **run_line(run),
        "dag_pause": pause,
        "parameters": msgspec.Raw(parameters),
        "error": first and first.error and error(first.error),
        "failed_task": first and spec.tasks[first.task_id - run.id].name,
        "tasks": [
            task_line(
                run,
                task,
                spec.tasks[task.node],
                [spec.tasks[before].name for before in parents[task.node]],
                attempts.get(task.id, ()),
                remarks.get(task.id, ()),
            )
            for task in tasks
        ],
    }


def task_line(
    run: RunLine,
    task: TaskLine,
    spec: TaskSpec,
    after: Sequence[str],
    attempts: Sequence[AttemptLine],
    remarks: Sequence[Remark] = (),
) -> Shape:
    whole = task.result is not None and len(task.result) == task.result_bytes
    ended = [
        attempt for attempt in attempts if attempt.error and attempt.generation == task.generation
    ]
    last_error = ended[-1].error if ended and task.state is not TaskState.SUCCEEDED else None
    return {
        "id": task.id,
        "name": task.name,
        "state": task.state,
        "attempt": task.attempt,
        "attempts_max": spec.retry.attempts,
        "lost": task.lost,
        "term": task.term,
        "generation": task.generation,
        "queue": spec.queue,
        "kind": spec.kind,
        "priority": task.priority,
        "after": list(after),
        "stop": task.stop,
        "due_at": task.due_at,
        "started_at": task.started_at,
        "finished_at": task.finished_at,
        "duration_seconds": task_seconds(task, run.read_at),
        "worker": task.worker,
        "progress": progress(task),
        "result": msgspec.Raw(task.result) if whole and task.result else None,
        "result_bytes": task.result_bytes,
        "error": last_error and error(last_error),
        "attempts": [
            attempt_line(attempt, run.read_at) for attempt in all_attempts(task, attempts)
        ],
        "by_hand": [remark_line(remark) for remark in remarks],
    }


def progress(task: TaskLine) -> Shape | None:
    if task.progress_percent is None:
        return None
    return {
        "percent": task.progress_percent,
        "text": task.progress_text,
        "at": task.progress_at,
    }


def task_seconds(task: TaskLine, now: datetime) -> float | None:
    """How long its current or last attempt takes; None for what waits or never ran."""
    if task.state is TaskState.RUNNING:
        return lasted_seconds(task.started_at, None, now)
    return lasted_seconds(task.started_at, task.finished_at) if task.finished_at else None


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


def attempt_line(attempt: AttemptLine, now: datetime) -> Shape:
    return {
        "attempt": attempt.attempt,
        "term": attempt.term,
        "generation": attempt.generation,
        "state": attempt.state,
        "started_at": attempt.started_at,
        "finished_at": attempt.finished_at,
        "duration_seconds": lasted_seconds(attempt.started_at, attempt.finished_at, now),
        "worker": attempt.worker,
        "error": attempt.error and error(attempt.error),
    }


def remark_line(remark: Remark) -> Shape:
    return {
        "deed": remark.deed,
        "term": remark.term,
        "at": remark.at,
        "who": remark.who,
        "note": remark.note,
    }


def error(found: Error) -> Shape:
    return {"type": found.type, "message": found.message, "trace": found.trace}


def lane_line(lane: LaneLine) -> Shape:
    return {
        "queue": lane.queue,
        "kind": lane.kind,
        "ready": lane.ready,
        "oldest_seconds": lane.oldest_seconds,
        "running": lane.running,
        "workers": lane.workers,
        "aside": lane.aside,
        "pause": lane.pause,
    }


def paused(name: str, done: Paused) -> Shape:
    """What a pause or resume came to; `changed` tells whether it was so before."""
    return {
        "name": name,
        "pause": done.now,
        "changed": (done.before is None) != (done.now is None),
    }


def worker_line(worker: WorkerLine) -> Shape:
    return {
        "id": worker.id,
        "name": worker.name,
        "host": worker.host,
        "pid": worker.pid,
        "queues": worker.queues,
        "slots": worker.slots,
        "running": {kind: worker.running.get(kind, 0) for kind in worker.slots},
        "started_at": worker.started_at,
        "renewed_at": worker.renewed_at,
        "lease_seconds": worker.lease_seconds,
        "draining": worker.draining,
        "overdue": worker.overdue,
    }


def _task_spec(task: TaskSpec, after: Sequence[str]) -> Shape:
    return {
        "name": task.name,
        "description": task.description,
        "kind": task.kind,
        "queue": task.queue,
        "priority": task.priority,
        "after": list(after),
        "retry": _retry(task.retry),
        "timeout_seconds": task.timeout_seconds,
        "max_lost": task.max_lost,
        "on_lost": task.on_lost,
    }


def _retry(retry: RetrySpec) -> Shape:
    return {name: getattr(retry, name) for name in retry.__struct_fields__}
