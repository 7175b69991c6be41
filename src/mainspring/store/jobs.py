"""Jobs are made, triggered, rescheduled, paused, resumed and cancelled. Thin calls of `jobs.sql`.

What can be one guarded statement is one: making jobs with their runs, and triggering them. A change
locks its job first, then what belongs to it (schedule, runs, tasks), in one transaction; `version`
says which state of the job the caller has seen, and a change of another one is Outdated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import msgspec

from mainspring.domain.errors import (
    ConflictError,
    InputError,
    KeyConflict,
    NotFoundError,
    Outdated,
    UnavailableError,
)
from mainspring.domain.jobs import JobKind, schedule_of
from mainspring.domain.names import closest, name_problem, shown
from mainspring.domain.notes import checked_note
from mainspring.schedule.specs import ScheduleSpec
from mainspring.store.connection import Connection, fetch
from mainspring.store.job_orders import JobDraft, RunDraft
from mainspring.store.runs import DEFAULT_TENANT, stop_runs
from mainspring.store.schedule_changes import (
    Intent,
    create_schedule,
    pause_schedule,
    put_schedule,
    remove_schedule,
    resume_schedule,
)
from mainspring.store.statements import statement

_NAMES_FOR_HINT = 200
_TRIES = 3
_ID_MAX = 2**63 - 1


class NewJob(msgspec.Struct, frozen=True):
    """A job to be made. Its id is reserved by the caller: sending it twice makes one job."""

    id: int
    draft: JobDraft

    @property
    def name(self) -> str:
        given = self.draft.order.name
        return f"{self.draft.kind}-{self.id}" if given is None else given

    @property
    def at_once(self) -> bool:
        return self.draft.order.schedule is None


class CreatedJobs(msgspec.Struct, frozen=True):
    ids: list[int]
    """The job of each request, in order; an older one's where the key was known."""
    made: set[int]
    """Those of `ids` that did not exist before."""
    lanes: set[int]
    """Lanes that got ready tasks: whom to wake."""


class NewJobRun(msgspec.Struct, frozen=True):
    """A run of a job to be made, under an id that the caller has reserved."""

    id: int
    draft: RunDraft
    created_by: str | None = None
    key: str | None = None


class Triggered(msgspec.Struct, frozen=True):
    run_id: int
    made: bool
    """False: its key was known, or it was asked before."""
    lanes: set[int]


class JobChanged(msgspec.Struct, frozen=True):
    version: int
    lanes: frozenset[int] = frozenset()
    """Lanes that got tasks when fires were settled: whom to wake."""
    stopping: int = 0
    """Tasks that run and were asked to stop: somebody is to tell their workers."""
    changed: bool = True
    """False: it was so already."""


class JobBinding(msgspec.Struct, frozen=True):
    """What the runs of a job are made of."""

    id: int
    name: str
    version: int
    kind: JobKind
    dag: str
    parameters: bytes | None
    cancelled_at: datetime | None
    schedule: str | None
    """The name of its schedule, if it has one."""


class VersionGone(UnavailableError):
    """What a draft is bound to is not in the database: it was restored or made anew."""


# --- made ------------------------------------------------------------------------------------


async def create_jobs(
    connection: Connection,
    jobs: Sequence[NewJob],
    *,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> CreatedJobs:
    """Make the jobs that do not exist yet, all or none.

    ConflictError if a name is taken, or a key was used for something else.
    """
    names = [job.name for job in jobs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConflictError(f"two of the jobs are called {shown(twice)}")
    if len(jobs) == 1 and jobs[0].at_once:
        return await _create(connection, jobs, now, tenant_id)
    # What is found to clash after the statement takes along what was made beside.
    async with connection.transaction():
        created = await _create(connection, jobs, now, tenant_id)
        for job in jobs:
            if not job.at_once and job.id in created.made:
                await _make_schedule(connection, job, now, tenant_id)
        return created


async def _create(
    connection: Connection, jobs: Sequence[NewJob], now: datetime | None, tenant_id: int
) -> CreatedJobs:
    digests = [job.draft.order.digest() if job.draft.order.key else None for job in jobs]
    arguments = columns_of(jobs, digests, now, tenant_id)
    made: set[int] = set()
    lanes: set[int] = set()
    for _ in range(_TRIES):
        rows = await fetch(connection, statement("create_jobs"), *arguments)
        made |= {row["id"] for row in rows if row["kind"] == "job"}
        lanes |= {row["id"] for row in rows if row["kind"] == "lane"}
        ids = await _identified(connection, jobs, digests, made, tenant_id)
        if ids is not None:
            return CreatedJobs(ids, made, lanes)
        # Who was in the way has gone since: once more.
    raise VersionGone(
        "the database no longer knows the dag that a job is of: it was restored or made anew",
        hint="try again; the dag will be stored anew",
    )


def columns_of(
    jobs: Sequence[NewJob],
    digests: Sequence[bytes | None],
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> tuple[object, ...]:
    """What `create_jobs` takes."""
    orders = [job.draft.order for job in jobs]
    return (
        [job.id for job in jobs],
        [job.draft.version_id for job in jobs],
        [job.draft.snapshot_id for job in jobs],
        tenant_id,
        [job.draft.kind for job in jobs],
        [job.name for job in jobs],
        [job.draft.parameters for job in jobs],
        [job.draft.complete for job in jobs],
        [job.draft.queue_id for job in jobs],
        [order.priority for order in orders],
        [job.draft.attempts for job in jobs],
        [order.timeout_seconds for order in orders],
        [order.created_by for order in orders],
        [order.key for order in orders],
        digests,
        [job.at_once for job in jobs],
        now,
    )


async def _identified(
    connection: Connection,
    jobs: Sequence[NewJob],
    digests: Sequence[bytes | None],
    made: set[int],
    tenant_id: int,
) -> list[int] | None:
    """The id of each; None if one was not made and nobody is in its way."""
    lost = [job for job in jobs if job.id not in made]
    if not lost:
        return [job.id for job in jobs]
    # In a statement of its own: the snapshot of the one before was too old.
    rows = await fetch(
        connection,
        statement("find_jobs"),
        tenant_id,
        [job.id for job in lost],
        [job.name for job in lost],
        [job.draft.order.key for job in lost if job.draft.order.key],
    )
    by_id = {row["id"]: row for row in rows}
    by_name = {row["name"]: row for row in rows}
    by_key = {row["key"]: row for row in rows if row["key"]}
    ids: list[int] = []
    for job, digest in zip(jobs, digests, strict=True):
        key = job.draft.order.key
        if job.id in made or job.id in by_id:
            ids.append(job.id)
        elif key and key in by_key:
            if bytes(by_key[key]["digest"]) != digest:
                raise KeyConflict(
                    f"idempotency key {shown(key)} was used for another job,"
                    f" {shown(by_key[key]['name'])}",
                    hint="use a new key, or repeat exactly what was asked before",
                )
            ids.append(by_key[key]["id"])
        elif job.name in by_name:
            raise ConflictError(
                f"there is a job {shown(job.name)} already",
                hint="choose another name, or run that one again:"
                f" `mainspring job trigger {job.name}`",
            )
        else:
            return None
    return ids


async def _make_schedule(
    connection: Connection, job: NewJob, now: datetime | None, tenant_id: int
) -> None:
    draft = job.draft
    spec = draft.order.schedule
    assert spec is not None
    binding = JobBinding(job.id, job.name, 1, draft.kind, draft.dag, draft.parameters, None, None)
    intent = _intent(binding, spec)
    by = draft.order.created_by or "client"
    put = await create_schedule(connection, intent, by=by, now=now, tenant_id=tenant_id)
    if put.next_fire_at is None:
        raise _never(job.name)
    await fetch(connection, statement("schedule_job"), job.id, put.schedule_id)


def _intent(job: JobBinding, spec: ScheduleSpec) -> Intent:
    parameters = {} if job.parameters is None else msgspec.json.decode(job.parameters)
    return Intent(schedule_of(job.name), job.dag, spec, parameters, job_id=job.id)


def _never(name: str) -> InputError:
    return InputError(
        f"the schedule of job {shown(name)} has no fire to come", hint="give an instant after now"
    )


# --- triggered -------------------------------------------------------------------------------


async def find_job(
    connection: Connection, given: str | int, *, tenant_id: int = DEFAULT_TENANT
) -> int:
    """The number of a job, given by its name or its number; NotFoundError says what is close."""
    text = str(given)
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
    if number is not None and number > _ID_MAX:
        number = None
    if not name_problem(text):
        rows = await fetch(connection, statement("identify_job"), tenant_id, text, number)
        if rows:
            found: int = rows[0]["id"]
            return found
    names: list[str] = []
    if not name_problem(text):
        names = await complete_job_names(connection, text[:1], _NAMES_FOR_HINT, tenant_id=tenant_id)
    near = closest(text, names)
    raise NotFoundError(
        f"there is no job {shown(text)}",
        hint=near if near.startswith("did") else "`mainspring job list` shows what there is",
    )


async def complete_job_names(
    connection: Connection, beginning: str, limit: int, *, tenant_id: int = DEFAULT_TENANT
) -> list[str]:
    rows = await fetch(connection, statement("complete_job_names"), tenant_id, beginning, limit)
    return [row["name"] for row in rows]


async def read_job_binding(
    connection: Connection, job_id: int, *, tenant_id: int = DEFAULT_TENANT
) -> JobBinding:
    rows = await fetch(connection, statement("read_job"), tenant_id, job_id)
    if not rows:
        raise NotFoundError(
            f"there is no job {job_id}", hint="`mainspring job list` shows what there is"
        )
    return JobBinding(**{**rows[0], "kind": JobKind(rows[0]["kind"])})


async def trigger_job(
    connection: Connection,
    run: NewJobRun,
    *,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> Triggered:
    """A run of a job; ConflictError if that is cancelled, or a key was used for something else."""
    draft = run.draft
    digest = _trigger_digest(draft.job_id) if run.key else None
    for _ in range(_TRIES):
        rows = await fetch(
            connection,
            statement("trigger_jobs"),
            [run.id],
            [draft.version_id],
            [draft.snapshot_id],
            tenant_id,
            [draft.job_id],
            [draft.parameters],
            [run.created_by],
            [run.key],
            [digest],
            now,
        )
        if not any(row["kind"] == "job" for row in rows):
            job = await read_job_binding(connection, draft.job_id, tenant_id=tenant_id)
            raise _is_cancelled(job)
        lanes = {row["id"] for row in rows if row["kind"] == "lane"}
        if any(row["kind"] == "run" for row in rows):
            return Triggered(run.id, True, lanes)
        if await fetch(connection, statement("existing_runs"), [run.id]):
            return Triggered(run.id, False, lanes)
        if run.key:
            keys = await fetch(connection, statement("read_keys"), tenant_id, [run.key])
            if keys and bytes(keys[0]["digest"]) != digest:
                raise KeyConflict(
                    f"idempotency key {shown(run.key)} was used for another request"
                    f" (run {keys[0]['run_id']})",
                    hint="use a new key, or repeat exactly what was asked before",
                )
            if keys:
                return Triggered(keys[0]["run_id"], False, lanes)
    raise VersionGone(
        f"the database no longer knows the dag of job {draft.job_id}",
        hint="try again; the dag will be stored anew",
    )


def _trigger_digest(job_id: int) -> bytes:
    import hashlib

    return hashlib.sha256(b"trigger job %d" % job_id).digest()


def _is_cancelled(job: JobBinding) -> ConflictError:
    return ConflictError(
        f"job {shown(job.name)} is cancelled", hint="make another one: `mainspring job create`"
    )


# --- let go ----------------------------------------------------------------------------------


class ForgottenJobs(msgspec.Struct, frozen=True):
    count: int
    last: int | None
    """How far was looked; None when all that may be old enough was."""


async def forget_jobs(
    connection: Connection, changed_before: datetime, above: int, limit: int
) -> ForgottenJobs:
    """Some jobs go of which nothing is to come and no run is kept."""
    async with connection.transaction():
        [row] = await fetch(connection, statement("lock_old_jobs"), changed_before, above, limit)
        gone = await fetch(connection, statement("forget_jobs"), row["ids"])
    more = row["seen"] == limit and not row["recent"]
    return ForgottenJobs(len(gone), row["last"] if more else None)


# --- changed ---------------------------------------------------------------------------------


async def reschedule_job(
    connection: Connection,
    job_id: int,
    spec: ScheduleSpec | None,
    *,
    by: str,
    version: int | None = None,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> JobChanged:
    """From now on it runs by this schedule, or by none; what was due until now is settled."""

    async def change(job: JobBinding) -> JobChanged:
        if spec is None:
            if job.schedule is None:
                return JobChanged(job.version, changed=False)
            removed = await remove_schedule(connection, job.schedule, now=now, tenant_id=tenant_id)
            return JobChanged(job.version + 1, removed.lanes)
        make = put_schedule if job.schedule else create_schedule
        put = await make(connection, _intent(job, spec), by=by, now=now, tenant_id=tenant_id)
        if put.next_fire_at is None:
            raise _never(job.name)
        await fetch(connection, statement("schedule_job"), job.id, put.schedule_id)
        return JobChanged(job.version + 1, put.lanes)

    return await _change(connection, job_id, version, change, now, tenant_id)


async def pause_job(
    connection: Connection,
    job_id: int,
    *,
    by: str,
    note: str | None = None,
    version: int | None = None,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> JobChanged:
    """Its schedule fires no more until it is resumed; what runs goes on."""

    async def change(job: JobBinding) -> JobChanged:
        done = await pause_schedule(
            connection, _scheduled(job), by=by, note=note, now=now, tenant_id=tenant_id
        )
        return JobChanged(job.version + 1, done.lanes, changed=done.changed)

    return await _change(connection, job_id, version, change, now, tenant_id)


async def resume_job(
    connection: Connection,
    job_id: int,
    *,
    version: int | None = None,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> JobChanged:
    """It goes on with its first fire after now."""

    async def change(job: JobBinding) -> JobChanged:
        done = await resume_schedule(connection, _scheduled(job), now=now, tenant_id=tenant_id)
        return JobChanged(job.version + 1, done.lanes, changed=done.changed)

    return await _change(connection, job_id, version, change, now, tenant_id)


async def cancel_job(
    connection: Connection,
    job_id: int,
    *,
    by: str,
    note: str | None = None,
    version: int | None = None,
    now: datetime | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> JobChanged:
    """Nothing of it starts any more, and its open runs are stopped. A second one does nothing."""
    note = checked_note(note)
    async with connection.transaction():
        job = await _locked(connection, job_id, version, tenant_id)
        if job.cancelled_at is not None:
            return JobChanged(job.version, changed=False)
        await fetch(connection, statement("change_job"), job_id, True, by, note, now)
        if job.schedule is not None:
            await remove_schedule(connection, job.schedule, now=now, tenant_id=tenant_id)
        # Nobody makes another one now: triggers wait for our lock, and the schedule is gone.
        runs = await fetch(connection, statement("open_runs_of_job"), job_id)
        stopping = 0
        if runs:
            stopping = await stop_runs(connection, [row["id"] for row in runs], "cancel", now=now)
        return JobChanged(job.version + 1, stopping=stopping)


async def _change(
    connection: Connection,
    job_id: int,
    version: int | None,
    change: Callable[[JobBinding], Awaitable[JobChanged]],
    now: datetime | None,
    tenant_id: int,
) -> JobChanged:
    async with connection.transaction():
        job = await _locked(connection, job_id, version, tenant_id)
        if job.cancelled_at is not None:
            raise _is_cancelled(job)
        done = await change(job)
        if not done.changed:
            return msgspec.structs.replace(done, version=job.version)
        await fetch(connection, statement("change_job"), job_id, False, None, None, now)
        return done


async def _locked(
    connection: Connection, job_id: int, version: int | None, tenant_id: int
) -> JobBinding:
    """As it is now, and stays until we are done."""
    await fetch(connection, statement("lock_job"), tenant_id, job_id)
    job = await read_job_binding(connection, job_id, tenant_id=tenant_id)
    if version is not None and version != job.version:
        raise Outdated(
            f"job {shown(job.name)} is at version {job.version}, not {version}:"
            " somebody has changed it meanwhile",
            hint=f"`mainspring job show {job.name}` shows how it is now",
        )
    return job


def _scheduled(job: JobBinding) -> str:
    if job.schedule is None:
        raise ConflictError(
            f"job {shown(job.name)} has no schedule that could be paused",
            hint=f"`mainspring job cancel {job.name}` stops what runs of it",
        )
    return job.schedule
