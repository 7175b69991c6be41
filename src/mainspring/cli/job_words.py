"""A job in words, and as JSON."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rich.text import Text

from mainspring.cli.output import MARKS, STYLES
from mainspring.domain.jobs import JobKind, JobStatus
from mainspring.domain.states import Tone

if TYPE_CHECKING:
    from mainspring.store.job_reading import JobLine

TONES = {
    JobStatus.PENDING: Tone.PENDING,
    JobStatus.RUNNING: Tone.ACTIVE,
    JobStatus.SUCCEEDED: Tone.GOOD,
    JobStatus.FAILED: Tone.BAD,
    JobStatus.PAUSED: Tone.WARN,
    JobStatus.CANCELLED: Tone.QUIET,
    JobStatus.FINISHED: Tone.QUIET,
}


def status_text(status: JobStatus) -> Text:
    tone = TONES[status]
    return Text(f"{MARKS[tone]} {status}", style=STYLES[tone])


def subject_words(job: JobLine) -> str:
    """What it does, on one line."""
    from mainspring.domain.requests import address_shown

    given = given_parameters(job)
    match job.kind:
        case JobKind.COMMAND:
            return " ".join(shlex.join(given["arguments"]).split())
        case JobKind.HTTP:
            return f"{given['method']} {address_shown(given['url'])}"
        case JobKind.TASK:
            return f"task {job.dag}"


def when_words(job: JobLine) -> str:
    from mainspring.schedule.explaining import explain

    return "" if job.spec is None or job.schedule is None else explain(job.spec, job.schedule)


def option_words(job: JobLine) -> str:
    """What it says instead of its tasks."""
    from mainspring.cli.words import counted
    from mainspring.domain.durations import format_duration

    parts = []
    if job.attempts is not None:
        parts.append(f"up to {counted(job.attempts, 'attempt')}")
    if job.timeout_seconds is not None:
        parts.append(f"timeout {format_duration(job.timeout_seconds)} each")
    if job.priority is not None:
        parts.append(f"priority {job.priority}")
    if job.queue is not None:
        parts.append(f"queue {job.queue}")
    return ", ".join(parts)


def given_parameters(job: JobLine) -> dict[str, Any]:
    import msgspec

    given: dict[str, Any] = msgspec.json.decode(job.parameters or b"{}")
    return given


def job_shape(job: JobLine) -> dict[str, Any]:
    """As JSON: names that scripts rely on."""
    import msgspec

    last = job.last_run
    return {
        "id": job.id,
        "name": job.name,
        "kind": job.kind,
        "status": job.status,
        "dag": job.dag,
        "version": job.version,
        "parameters": given_parameters(job),
        "schedule": None if job.spec is None else msgspec.to_builtins(job.spec),
        "next_run_at": job.next_run_at,
        "retries": job.retries,
        "timeout_seconds": job.timeout_seconds,
        "priority": job.priority,
        "queue": job.queue,
        "running": job.running,
        "queued": job.queued,
        "progress": None
        if job.progress_percent is None
        else {"percent": round(job.progress_percent, 1), "text": job.progress_text},
        "last_run": None
        if last is None
        else {
            "id": last.id,
            "state": last.state,
            "due_at": last.due_at,
            "started_at": last.started_at,
            "finished_at": last.finished_at,
        },
        "created_at": job.created_at,
        "created_by": job.created_by,
        "changed_at": job.changed_at,
        "paused": None if job.pause is None else msgspec.to_builtins(job.pause),
        "cancelled": None if job.cancel is None else msgspec.to_builtins(job.cancel),
    }
