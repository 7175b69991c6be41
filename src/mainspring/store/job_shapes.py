"""What programs are told of jobs; the conventions are those of `shapes.py`."""

from __future__ import annotations

from datetime import datetime

import msgspec

from mainspring.domain.jobs import JobKind, JobStatus
from mainspring.domain.states import RunState
from mainspring.schedule.specs import ScheduleSpec
from mainspring.store.job_reading import JobCancel, JobLine, JobPause
from mainspring.store.shapes import Shape


class LastRunOfJob(Shape, frozen=True, kw_only=True):
    """The newest run of a job."""

    id: int
    state: RunState
    due_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class JobProgress(Shape, frozen=True, kw_only=True):
    """What the last run has told of itself, or how many of its tasks are over."""

    percent: float
    text: str | None


class Job(Shape, frozen=True, kw_only=True):
    """A command, a request or a task under a name, and how it stands."""

    id: int
    name: str
    kind: JobKind
    status: JobStatus
    dag: str
    version: int
    """It rises with every change."""
    parameters: msgspec.Raw
    schedule: ScheduleSpec | None
    schedule_name: str | None
    next_run_at: datetime | None
    retries: int | None
    timeout_seconds: float | None
    priority: int | None
    queue: str | None
    running: int
    queued: int
    progress: JobProgress | None
    last_run: LastRunOfJob | None
    created_at: datetime
    created_by: str | None
    changed_at: datetime
    paused: JobPause | None
    cancelled: JobCancel | None


class JobMade(Shape, frozen=True, kw_only=True, rename={"job_id": "jobId"}):
    """A job that was asked for, and how it stands."""

    job_id: int
    name: str
    status: JobStatus


def job_line(job: JobLine) -> Job:
    last = job.last_run
    progress = None
    if job.progress_percent is not None:
        progress = JobProgress(percent=round(job.progress_percent, 1), text=job.progress_text)
    return Job(
        id=job.id,
        name=job.name,
        kind=job.kind,
        status=job.status,
        dag=job.dag,
        version=job.version,
        parameters=msgspec.Raw(job.parameters or b"{}"),
        schedule=job.spec,
        schedule_name=None if job.spec is None else job.schedule,
        next_run_at=job.next_run_at,
        retries=job.retries,
        timeout_seconds=job.timeout_seconds,
        priority=job.priority,
        queue=job.queue,
        running=job.running,
        queued=job.queued,
        progress=progress,
        last_run=None
        if last is None
        else LastRunOfJob(
            id=last.id,
            state=last.state,
            due_at=last.due_at,
            started_at=last.started_at,
            finished_at=last.finished_at,
        ),
        created_at=job.created_at,
        created_by=job.created_by,
        changed_at=job.changed_at,
        paused=job.pause,
        cancelled=job.cancel,
    )
