"""A job in words."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rich.text import Text

from mainspring.cli.output import MARKS, STYLES
from mainspring.domain.jobs import JobKind, JobStatus
from mainspring.domain.states import Tone

if TYPE_CHECKING:
    from mainspring.store.job_shapes import Job

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


def subject_words(job: Job) -> str:
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


def when_words(job: Job) -> str:
    from mainspring.schedule.explaining import explain

    if job.schedule is None or job.schedule_name is None:
        return ""
    return explain(job.schedule, job.schedule_name)


def option_words(job: Job) -> str:
    """What it says instead of its tasks."""
    from mainspring.cli.words import counted
    from mainspring.domain.durations import format_duration

    parts = []
    if job.retries is not None:
        parts.append(f"up to {counted(job.retries + 1, 'attempt')}")
    if job.timeout_seconds is not None:
        parts.append(f"timeout {format_duration(job.timeout_seconds)} each")
    if job.priority is not None:
        parts.append(f"priority {job.priority}")
    if job.queue is not None:
        parts.append(f"queue {job.queue}")
    return ", ".join(parts)


def given_parameters(job: Job) -> dict[str, Any]:
    import msgspec

    given: dict[str, Any] = msgspec.json.decode(job.parameters)
    return given
