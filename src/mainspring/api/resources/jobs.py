"""Jobs: a command, a request or a task under a name, made without writing a dag.

A job that is asked for goes with all that are asked for meanwhile in one statement. Its
Idempotency-Key is a column of it, so that the common request costs one statement and nothing else.
(`/jobs/bulk` is a route, so a job that is called `bulk` is reached by its number.)
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from mainspring.api.bounds import NAMED, between, one_of
from mainspring.api.calls import Call
from mainspring.api.pages import (
    Cursor,
    Fields,
    Limit,
    Page,
    check_fields,
    cursor_of,
    id_of,
    place_of,
)
from mainspring.api.preconditions import Expected, expected_version, version_tag
from mainspring.api.problems import Refusal, field_refusal
from mainspring.api.repeating import used_otherwise
from mainspring.api.resources.schedules import WrittenSpec
from mainspring.api.routes import Example, Resource
from mainspring.client.jobs import MadeJob, job_order
from mainspring.domain.errors import KeyConflict, NotFoundError, Outdated
from mainspring.domain.jobs import ATTEMPTS_MAX, CommandCall, HttpCall, JobKind, JobStatus
from mainspring.domain.lanes import PRIORITY_MAX, PRIORITY_MIN
from mainspring.domain.roles import Role
from mainspring.domain.specs import PAYLOAD_BYTES_MAX
from mainspring.domain.states import RunState
from mainspring.schedule.parsing import NOW, schedule_from
from mainspring.schedule.specs import ScheduleSpec
from mainspring.store import job_shapes, reading, shapes
from mainspring.store.connection import Connection
from mainspring.store.job_orders import JobOrder
from mainspring.store.job_reading import (
    last_seen_job_run,
    list_job_runs,
    page_jobs,
    read_job,
    read_jobs,
)
from mainspring.store.jobs import find_job

jobs = Resource("jobs", "Commands, requests and tasks under a name, at once or by a schedule.")

JOBS_MAX = 10_000
"""How many one request may make."""
BULK_BYTES_MAX = 16 * 1024 * 1024

JobRef = Annotated[str, Meta(max_length=200, description="A job's name, or its number.")]
Text = Annotated[str, Meta(max_length=200)]
Times = str | list[str] | WrittenSpec
Note = Annotated[str, Meta(max_length=1000)]

_JOB = Example(path={"job": "tidy"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


# --- made -------------------------------------------------------------------------------------


class JobBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of `command`, `http` and `task`, and when it runs."""

    name: Annotated[Text, NAMED] | None = None
    """Without one it is called after its kind and number."""
    command: list[str] | CommandCall | None = None
    """The program and its arguments; no shell reads them."""
    http: str | HttpCall | None = None
    """An address, or a whole request."""
    task: Annotated[Text, NAMED] | None = None
    """The name of a dag that is stored."""
    schedule: Times | None = None
    """Null: at once. A cron line, `every 90m`, an instant, an RRULE, several, or a schedule."""
    parameters: dict[str, Any] = {}
    """Of a task; variables of a command's environment; what fills the address of a request."""
    retries: Annotated[int, between(0, ATTEMPTS_MAX - 1)] | None = None
    """How often it is tried again."""
    timeout: str | float | None = None
    """Of each attempt, such as `10m`, or in seconds."""
    priority: Annotated[int, between(PRIORITY_MIN, PRIORITY_MAX)] | None = None
    """0 to 9; higher is sooner within a queue."""
    queue: Annotated[Text, NAMED] | None = None
    """Where it waits, and which workers run it."""


def spec_of(times: Times | None) -> ScheduleSpec | None:
    """The schedule that is meant, checked; None for at once."""
    if times is None or times in (NOW, [NOW]):
        return None
    if isinstance(times, WrittenSpec):
        return schedule_from(list(times.when), **times.options)
    return schedule_from(times)


def order_of(body: JobBody, by: str, key: str | None) -> JobOrder:
    return job_order(
        body.name,
        command=CommandCall(body.command) if isinstance(body.command, list) else body.command,
        http=body.http,
        task=body.task,
        when=spec_of(body.schedule),
        parameters=body.parameters,
        retries=body.retries,
        timeout=body.timeout,
        priority=body.priority,
        queue=body.queue,
        created_by=by,
        key=key,
        options={},
    )


@jobs.post(
    "/jobs",
    needs=Role.OPERATOR,
    status=201,
    repeats=True,
    body_bytes_max=PAYLOAD_BYTES_MAX + 65536,
    example=Example(
        body={
            "name": "sweep",
            "command": ["find", "/tmp", "-name", "old-*", "-delete"],
            "schedule": {"when": ["0 3 * * *"], "timezone": "Europe/Berlin"},
            "retries": 2,
            "timeout": "10m",
        },
        headers={"Idempotency-Key": "sweep-1"},
    ),
)
async def create_job(call: Call, body: Annotated[JobBody, one_of(*JobKind)]) -> job_shapes.JobMade:
    """Make a job of a command, a request or a task; without a schedule it runs at once.

    That run has the job's number. With an `Idempotency-Key` it is one job, however often it is
    asked for; the answer tells how it stands.
    """
    order = order_of(body, call.who, call.key)
    try:
        made = await call.services.client.jobs.make(order)
    except KeyConflict:
        assert call.key is not None
        raise used_otherwise(call.key) from None
    except NotFoundError as error:
        raise field_refusal("/task", error.message, hint=error.hint) from None
    [told] = await _told(call, [made])
    return told


class JobBodies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    jobs: Annotated[list[JobBody], Meta(max_length=JOBS_MAX)]


@jobs.post(
    "/jobs/bulk",
    needs=Role.OPERATOR,
    status=201,
    body_bytes_max=BULK_BYTES_MAX,
    example=Example(
        body={
            "jobs": [
                {"name": "report-1", "command": ["make-report", "--customer", "1"]},
                {"name": "report-2", "command": ["make-report", "--customer", "2"]},
            ]
        },
        headers={"Idempotency-Key": "reports-of-november"},
    ),
)
async def create_jobs(call: Call, body: JobBodies) -> Page[job_shapes.JobMade]:
    """Make up to 10,000 jobs, all or none. The answer has them in the order of the request."""
    # The answer is kept under the caller's key. These keep a second set from being made even if a
    # server dies before that.
    prefix = None if call.key is None else f"{call.caller.id}:{call.key}:"
    orders = [
        order_of(each, call.who, prefix and f"{prefix}{number}")
        for number, each in enumerate(body.jobs)
    ]
    try:
        made = await call.services.client.jobs.make_many(orders)
    except KeyConflict:
        assert call.key is not None
        raise used_otherwise(call.key) from None
    except NotFoundError as error:
        raise field_refusal("/jobs", error.message, hint=error.hint) from None
    return Page(await _told(call, made))


async def _told(call: Call, made: list[MadeJob]) -> list[job_shapes.JobMade]:
    """What has just been made is pending; only what was there before has to be looked at."""
    known = [job.id for job in made if job.name is None]
    before = {}
    if known:
        before = {job.id: job for job in await call.services.read(read_jobs, known)}
    told = []
    for job in made:
        if job.name is not None:
            line = job_shapes.JobMade(job_id=job.id, name=job.name, status=JobStatus.PENDING)
        elif job.id in before:
            there = before[job.id]
            line = job_shapes.JobMade(job_id=there.id, name=there.name, status=there.status)
        else:
            raise NotFoundError(f"job {job.id} was made before, and has left since")
        told.append(line)
    return told


# --- looked at --------------------------------------------------------------------------------


class JobsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    status: Annotated[JobStatus | None, Meta(description="Only jobs that stand so.")] = None
    kind: Annotated[JobKind | None, Meta(description="Only jobs of this kind.")] = None
    name: Annotated[str, Meta(max_length=200, description="Only names that begin so.")] = ""
    before: (
        Annotated[int, Meta(ge=1, le=2**63 - 1, description="Only those with a lower number.")]
        | None
    ) = None
    limit: Limit = 50
    cursor: Cursor | None = None
    fields: Fields | None = None


@jobs.get(
    "/jobs",
    needs=Role.VIEWER,
    shared=True,
    example=Example(query={"kind": "command", "name": "ti", "fields": "id,name,status"}),
)
async def list_jobs(call: Call, query: JobsQuery) -> Page[job_shapes.Job]:
    """Jobs, the newest first.

    A filter looks at the newest 2,000 jobs from the cursor on; follow `next` to look further.
    """
    check_fields(job_shapes.Job, query.fields)
    page = await call.services.read(
        page_jobs,
        status=query.status,
        kind=query.kind,
        beginning=query.name,
        before=min(filter(None, (id_of("job", query.cursor), query.before)), default=None),
        limit=query.limit,
    )
    return Page(
        [job_shapes.job_line(job) for job in page.jobs],
        None if page.last is None else cursor_of("job", page.last),
    )


@jobs.get("/jobs/{job}", needs=Role.VIEWER, shared=True, versioned=True, example=_JOB)
async def show_job(call: Call, job: JobRef) -> job_shapes.Job:
    """How a job stands: status, progress, last and next run.

    The `ETag` is good for `If-Match`.
    """
    return await call.services.read(_known, job)


async def _known(connection: Connection, job: str) -> job_shapes.Job:
    return job_shapes.job_line(await read_job(connection, await find_job(connection, job)))


class RunsOfJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    state: Annotated[
        list[RunState], Meta(description="Only runs in this state; several: in one of them.")
    ] = []
    since: (
        Annotated[datetime, Meta(description="Only runs made then or later.", tz=True)] | None
    ) = None
    until: Annotated[datetime, Meta(description="Only runs made before.", tz=True)] | None = None
    before: (
        Annotated[int, Meta(ge=1, le=2**63 - 1, description="Only runs older than this one.")]
        | None
    ) = None
    limit: Limit = 50
    cursor: Cursor | None = None
    fields: Fields | None = None


@jobs.get(
    "/jobs/{job}/runs",
    needs=Role.VIEWER,
    shared=True,
    example=Example(path={"job": "tidy"}, query={"state": "failed", "limit": "2"}),
)
async def list_runs_of_job(call: Call, job: JobRef, query: RunsOfJob) -> Page[shapes.Run]:
    """Runs of a job, the newest first.

    With states, the newest 2,000 from the cursor on are looked at; follow `next` to look further.
    """
    check_fields(shapes.Run, query.fields)
    return await call.services.read(_page_of_runs, job, query)


async def _page_of_runs(connection: Connection, job: str, query: RunsOfJob) -> Page[shapes.Run]:
    job_id = await find_job(connection, job)
    before = _moment_of(query.cursor)
    if query.before is not None:
        run = await reading.read_run(connection, query.before)
        before = min(filter(None, (before, (run.created_at, run.id))))
    look: dict[str, Any] = {
        "since": query.since,
        "until": query.until,
        "before": before,
        "limit": query.limit,
    }
    lines = await list_job_runs(connection, job_id, states=query.state or None, **look)
    last: tuple[datetime, int] | None = None
    if len(lines) == query.limit:
        last = (lines[-1].created_at, lines[-1].id)
    elif query.state:
        last = await last_seen_job_run(connection, job_id, **look)
    return Page(
        [shapes.run_line(line) for line in lines],
        None if last is None else cursor_of("job run", _place_of(*last)),
    )


def _place_of(made_at: datetime, run_id: int) -> str:
    return f"{(made_at - _EPOCH) // _MICROSECOND}.{run_id}"


def _moment_of(cursor: str | None) -> tuple[datetime, int] | None:
    place = place_of("job run", cursor)
    if place is None:
        return None
    first, _, second = place.partition(".")
    numbers = [each for each in (first, second) if each.isascii() and each.isdigit()]
    if len(numbers) < 2 or len(first) > 17 or len(second) > 18:
        raise field_refusal("query/cursor", "is none of this list")
    return _EPOCH + int(first) * _MICROSECOND, int(second)


# --- acted upon -------------------------------------------------------------------------------


@jobs.post("/jobs/{job}/trigger", needs=Role.OPERATOR, status=201, repeats=True, example=_JOB)
async def trigger_job(call: Call, job: JobRef) -> shapes.Run:
    """Run a job now, whatever its schedule says. `id` is the run's.

    With an `Idempotency-Key` it is one run, however often it is asked for.
    """
    client = call.services.client
    try:
        run_id = await client.trigger_job(job, idempotency_key=call.key, by=call.who)
    except KeyConflict:
        assert call.key is not None
        raise used_otherwise(call.key) from None
    return shapes.run_line(await call.services.read(reading.read_run, run_id))


CHANGES = ("schedule", "paused", "cancelled")


class JobChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of `schedule`, `paused` and `cancelled`."""

    schedule: Times | UnsetType | None = UNSET
    """From now on it runs then; null: by no schedule any more."""
    paused: bool | UnsetType = UNSET
    """Whether its schedule fires nothing until it is resumed."""
    cancelled: bool | UnsetType = UNSET
    """Nothing of it starts any more, and its open runs are stopped. It stays so."""
    note: Note | None = None
    """Why, for those who will wonder."""


@jobs.patch(
    "/jobs/{job}",
    needs=Role.OPERATOR,
    versioned=True,
    refusals=(412,),
    example=Example(
        path={"job": "tidy"},
        body={"paused": True, "note": "the disk is being copied"},
        headers={"If-Match": '"1"'},
    ),
)
async def change_job(
    call: Call, job: JobRef, body: Annotated[JobChange, one_of(*CHANGES)]
) -> job_shapes.Job:
    """Reschedule, pause, resume or cancel a job: one of them at a time.

    With `If-Match` it is changed only if it is still at that version; a 412 has how it is now
    in `current`.
    """
    _check_change(body)
    client, who, version = call.services.client, call.who, _wanted(call)
    try:
        if body.cancelled is not UNSET:
            line = await client.cancel_job(job, note=body.note, version=version, by=who)
        elif body.paused is UNSET:
            assert body.schedule is not UNSET
            spec = spec_of(body.schedule)
            line = await client.reschedule_job(job, spec, version=version, by=who)
        elif body.paused:
            line = await client.pause_job(job, note=body.note, version=version, by=who)
        else:
            line = await client.resume_job(job, version=version)
    except Outdated as error:
        current = await call.services.read(_known, job)
        raise Refusal(
            412,
            "precondition",
            error.message,
            hint=f'look at it, and send `If-Match: "{current.version}"` to change it',
            headers=((b"etag", version_tag(current.version)),),
            current=current,
        ) from None
    return job_shapes.job_line(line)


def _wanted(call: Call) -> int | None:
    """The version that has to be in force; None for whichever is."""
    match expected_version(call.headers):
        case Expected.NONE:
            raise Refusal(412, "precondition", "what is not there cannot be changed")
        case Expected():
            return None
        case version:
            return version


def _check_change(body: JobChange) -> None:
    given = [name for name in CHANGES if getattr(body, name) is not UNSET]
    if len(given) != 1:
        raise Refusal(
            422,
            "input",
            "several changes are asked for at once" if given else "no change is asked for",
            hint="send one of `schedule`, `paused` and `cancelled`",
        )
    if body.cancelled is False:
        raise field_refusal("/cancelled", "a job that is cancelled stays so", hint="make another")
    if body.schedule in ("now", ["now"]):
        raise field_refusal("/schedule", "`now` is no schedule", hint="trigger the job")
    if body.note is not None and not (body.paused is True or body.cancelled is True):
        raise field_refusal("/note", "goes with a pause or a cancel")
