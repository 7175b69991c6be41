"""Jobs as people look at them: how they stand, and their runs. Each answer is bounded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import asyncpg
import msgspec

from mainspring.domain.errors import NotFoundError
from mainspring.domain.jobs import JobKind, JobStatus, job_status
from mainspring.domain.states import RunState
from mainspring.schedule.specs import ScheduleSpec
from mainspring.store.connection import Connection, fetch
from mainspring.store.reading import RUNS_SEEN_MAX, RunLine, run_line
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement

JOBS_SEEN_MAX = 2_000
"""How many jobs are looked at for those that fit."""
_PAGE = 200
_BEYOND = 2**63 - 1
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

_decode_spec = msgspec.json.Decoder(ScheduleSpec).decode


class LastRun(msgspec.Struct, frozen=True):
    """The newest run of a job."""

    id: int
    state: RunState
    due_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    tasks: int
    open_tasks: int


class JobPause(msgspec.Struct, frozen=True):
    since: datetime
    by: str | None
    note: str | None


class JobCancel(msgspec.Struct, frozen=True):
    at: datetime
    by: str | None
    note: str | None


class JobLine(msgspec.Struct, frozen=True):
    """A job, and how it stands."""

    id: int
    name: str
    kind: JobKind
    status: JobStatus
    dag: str
    version: int
    """Rises with every change."""
    parameters: bytes | None
    """JSON, as given to the dag; None is {}."""
    created_at: datetime
    changed_at: datetime
    created_by: str | None
    priority: int | None
    """Where these four are None, it is as the tasks of the dag say."""
    attempts: int | None
    timeout_seconds: float | None
    queue: str | None
    schedule: str | None
    spec: ScheduleSpec | None
    next_run_at: datetime | None
    running: int
    """Open runs, of the newest hundred."""
    queued: int
    last_run: LastRun | None
    pause: JobPause | None
    cancel: JobCancel | None
    progress_percent: float | None
    """What the last run has told of itself, or how many of its tasks are over."""
    progress_text: str | None
    read_at: datetime

    @property
    def retries(self) -> int | None:
        return None if self.attempts is None else self.attempts - 1


async def read_job(
    connection: Connection, job_id: int, *, tenant_id: int = DEFAULT_TENANT
) -> JobLine:
    rows = await fetch(connection, statement("read_jobs"), tenant_id, [job_id])
    if not rows:
        raise NotFoundError(
            f"there is no job {job_id}", hint="`mainspring job list` shows what there is"
        )
    return _job(rows[0])


async def read_jobs(
    connection: Connection, job_ids: Sequence[int], *, tenant_id: int = DEFAULT_TENANT
) -> list[JobLine]:
    """Those that there are, newest first."""
    rows = await fetch(connection, statement("read_jobs"), tenant_id, job_ids)
    return [_job(row) for row in rows]


async def list_jobs(
    connection: Connection,
    *,
    status: JobStatus | None = None,
    kind: JobKind | None = None,
    beginning: str = "",
    before: int | None = None,
    limit: int,
    tenant_id: int = DEFAULT_TENANT,
) -> list[JobLine]:
    """Newest first, from below `before` on. With a filter, of the newest JOBS_SEEN_MAX jobs."""
    page = await page_jobs(
        connection,
        status=status,
        kind=kind,
        beginning=beginning,
        before=before,
        limit=limit,
        tenant_id=tenant_id,
    )
    return page.jobs


class JobPage(NamedTuple):
    jobs: list[JobLine]
    last: int | None
    """The next page is `before` this; None if there is nothing left to look at."""


async def page_jobs(
    connection: Connection,
    *,
    status: JobStatus | None = None,
    kind: JobKind | None = None,
    beginning: str = "",
    before: int | None = None,
    limit: int,
    tenant_id: int = DEFAULT_TENANT,
) -> JobPage:
    """As `list_jobs`, and how far was looked: with a filter, perhaps further than what is found."""
    found: list[JobLine] = []
    last: int | None = None
    filtered = (status, kind, beginning) != (None, None, "")
    below, seen = _BEYOND if before is None else before, 0
    while len(found) < limit and seen < max(limit, JOBS_SEEN_MAX):
        count = _PAGE if filtered else limit
        [page] = await fetch(
            connection, statement("page_jobs"), tenant_id, below, count, kind, beginning
        )
        jobs = await read_jobs(connection, page["ids"], tenant_id=tenant_id)
        found += [job for job in jobs if status is None or job.status is status]
        last = page["last"]
        if last is None:
            break
        below, seen = last, seen + count
    if len(found) > limit:
        last = found[limit - 1].id
    return JobPage(found[:limit], last)


async def list_job_runs(
    connection: Connection,
    job_id: int,
    *,
    states: Collection[RunState] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    before: tuple[datetime, int] | None = None,
    limit: int,
) -> list[RunLine]:
    """Newest first; created from `since` on, and before `until`.

    The next page is `before` the (created_at, id) of the last run of this one. With states, of the
    newest RUNS_SEEN_MAX runs of that time.
    """
    end = (_LAST, _BEYOND) if until is None else (until, 0)
    rows = await fetch(
        connection,
        statement("page_job_runs"),
        job_id,
        since or _FIRST,
        *(end if before is None else min(end, before)),
        limit if states is None else max(limit, RUNS_SEEN_MAX),
        None if states is None else [state.value for state in states],
        limit,
    )
    return [run_line(row) for row in rows]


async def last_seen_job_run(
    connection: Connection,
    job_id: int,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    before: tuple[datetime, int] | None = None,
    limit: int,
) -> tuple[datetime, int] | None:
    """The last run that `list_job_runs` looks at for states; None if it comes to the end."""
    end = (_LAST, _BEYOND) if until is None else (until, 0)
    rows = await fetch(
        connection,
        statement("last_seen_job_run"),
        job_id,
        since or _FIRST,
        *(end if before is None else min(end, before)),
        max(limit, RUNS_SEEN_MAX),
    )
    return (rows[0]["created_at"], rows[0]["id"]) if rows else None


async def jobs_of_runs(
    connection: Connection, run_ids: Sequence[int]
) -> dict[int, tuple[int, str]]:
    """The number and name of the job that each run is of; runs of no job are missing."""
    rows = await fetch(connection, statement("jobs_of_runs"), run_ids)
    return {row["id"]: (row["job_id"], row["name"]) for row in rows}


def _job(row: asyncpg.Record) -> JobLine:
    last = _last_run(row)
    return JobLine(
        id=row["id"],
        name=row["name"],
        kind=JobKind(row["kind"]),
        status=job_status(
            cancelled=row["cancelled_at"] is not None,
            paused=row["paused_at"] is not None,
            running=row["running"],
            queued=row["queued"],
            last=None if last is None else last.state,
            to_come=row["next_fire_at"] is not None,
        ),
        dag=row["dag"],
        version=row["version"],
        parameters=row["parameters"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        created_by=row["created_by"],
        priority=row["priority"],
        attempts=row["attempts"],
        timeout_seconds=row["timeout_seconds"],
        queue=row["queue"],
        schedule=row["schedule"],
        spec=None if row["schedule_spec"] is None else _decode_spec(row["schedule_spec"]),
        next_run_at=row["next_fire_at"],
        running=row["running"],
        queued=row["queued"],
        last_run=last,
        pause=None
        if row["paused_at"] is None
        else JobPause(row["paused_at"], row["paused_by"], row["pause_note"]),
        cancel=None
        if row["cancelled_at"] is None
        else JobCancel(row["cancelled_at"], row["cancelled_by"], row["cancel_note"]),
        progress_percent=_progress(row, last),
        progress_text=row["progress_text"],
        read_at=row["read_at"],
    )


def _last_run(row: asyncpg.Record) -> LastRun | None:
    if row["last_run_id"] is None:
        return None
    return LastRun(
        row["last_run_id"],
        RunState(row["last_run_state"]),
        row["last_run_due_at"],
        row["last_run_started_at"],
        row["last_run_finished_at"],
        row["last_run_tasks"],
        row["last_run_open_tasks"],
    )


def _progress(row: asyncpg.Record, last: LastRun | None) -> float | None:
    if last is None:
        return None
    if row["progress_percent"] is not None and last.tasks == 1:
        percent: float = row["progress_percent"]
        return percent
    return 100.0 * (last.tasks - last.open_tasks) / last.tasks
