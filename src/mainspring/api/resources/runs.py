"""Runs: what was executed, and what can be done to it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mainspring.api.answers import Answer
from mainspring.api.calls import Call
from mainspring.api.pages import (
    Cursor,
    Fields,
    Limit,
    Page,
    check_fields,
    cursor_of,
    id_of,
)
from mainspring.api.problems import Refusal
from mainspring.api.repeating import used_otherwise
from mainspring.api.routes import Example, Resource
from mainspring.domain.errors import KeyConflict, NotFoundError
from mainspring.domain.names import closest, shown
from mainspring.domain.roles import Role
from mainspring.domain.states import RunState
from mainspring.store import reading, shapes
from mainspring.store.connection import Connection
from mainspring.store.logs import list_logs
from mainspring.store.reading import RunLine
from mainspring.store.run_documents import read_run_document, read_run_tasks

runs = Resource("runs", "What was executed, and what can be done to it.")

SEEN_MAX = 2_000
"""How many runs one request looks at for those that fit a filter."""
LOG_BYTES_MAX = 1024 * 1024
"""How much of a log one answer holds."""

RunId = Annotated[int, Meta(ge=0, le=2**63 - 1, description="A run's number.")]
TaskName = Annotated[str, Meta(max_length=200, description="A task's name.")]
Number = Annotated[int, Meta(ge=1, le=2**31 - 1, description="A number, from 1.")]
Trigger = Literal["schedule", "event", "manual", "backfill", "upstream", "rerun"]

_RUN = Example(path={"run": "4097"})


class RunsOfDag(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    state: Annotated[RunState | None, Meta(description="Only runs in this state.")] = None
    trigger: Annotated[Trigger | None, Meta(description="Only runs that began so.")] = None
    since: (
        Annotated[datetime, Meta(description="Only runs made then or later.", tz=True)] | None
    ) = None
    until: Annotated[datetime, Meta(description="Only runs made before.", tz=True)] | None = None
    limit: Limit = 50
    cursor: Cursor | None = None
    fields: Fields | None = None


class Runs(RunsOfDag, frozen=True, forbid_unknown_fields=True, kw_only=True):
    dag: Annotated[str, Meta(max_length=200, description="Only runs of this dag.")] | None = None


@runs.get(
    "/runs",
    needs=Role.VIEWER,
    shared=True,
    example=Example(query={"state": "succeeded", "limit": "2", "fields": "id,dag,state"}),
    refusals=(404,),
)
async def list_runs(call: Call, query: Runs) -> Page[shapes.Run]:
    """Runs, the newest first.

    A filter looks at the newest 2,000 runs from the cursor on; follow `next` to look further.
    """
    return await call.services.read(page_of_runs, query, query.dag)


async def page_of_runs(
    connection: Connection, query: RunsOfDag, dag: str | None
) -> Page[shapes.Run]:
    check_fields(shapes.Run, query.fields)
    before = id_of("run", query.cursor)
    dag_id = None if dag is None else await dag_id_of(connection, dag)
    lines = await reading.list_runs(
        connection,
        dag_id=dag_id,
        state=query.state,
        before=before,
        since=query.since,
        until=query.until,
        trigger=query.trigger,
        limit=query.limit,
        seen_max=SEEN_MAX,
    )
    last: int | None = None
    if len(lines) == query.limit:
        last = lines[-1].id
    elif (query.state, query.since, query.until, query.trigger) != (None, None, None, None):
        last = await reading.last_seen_run(
            connection, dag_id=dag_id, before=before, seen_max=max(SEEN_MAX, query.limit)
        )
    return Page(
        [shapes.run_line(line) for line in lines],
        None if last is None else cursor_of("run", last),
    )


async def dag_id_of(connection: Connection, name: str) -> int:
    dag_id = await reading.find_dag(connection, name)
    if dag_id is None:
        known = await reading.list_dag_names(connection)
        raise NotFoundError(f"there is no dag {shown(name)}", hint=closest(name, known))
    return dag_id


@runs.get("/runs/{run}", needs=Role.VIEWER, shared=True, example=_RUN)
async def show_run(call: Call, run: RunId) -> shapes.RunWhole:
    """One run with its parameters, its tasks and their attempts."""

    async def read(connection: Connection) -> shapes.RunWhole:
        return await read_run_document(connection, await reading.read_run(connection, run))

    return await call.services.read(read)


@runs.get("/runs/{run}/tasks", needs=Role.VIEWER, shared=True, example=_RUN)
async def list_tasks(call: Call, run: RunId) -> Page[shapes.Task]:
    """The tasks of a run, in the order of its dag."""

    async def read(connection: Connection) -> list[shapes.Task]:
        return await read_run_tasks(connection, await reading.read_run(connection, run))

    return Page(await call.services.read(read))


@runs.get(
    "/runs/{run}/tasks/{task}/attempts",
    needs=Role.VIEWER,
    shared=True,
    example=Example(path={"run": "4097", "task": "extract"}),
)
async def list_attempts(call: Call, run: RunId, task: TaskName) -> Page[shapes.Attempt]:
    """The attempts of one task, in their order."""

    async def read(connection: Connection) -> list[shapes.Attempt]:
        line = await reading.read_run(connection, run)
        return (await _task(connection, line, task)).attempts

    return Page(await call.services.read(read))


async def _task(connection: Connection, run: RunLine, name: str) -> shapes.Task:
    tasks = await read_run_tasks(connection, run)
    for task in tasks:
        if task.name == name:
            return task
    hint = closest(name, [task.name for task in tasks])
    raise NotFoundError(f"run {run.id} has no task {shown(name)}", hint=hint)


@runs.get(
    "/runs/{run}/tasks/{task}/attempts/{number}/logs",
    needs=Role.VIEWER,
    produces="text/plain",
    refusals=(416,),
    example=Example(
        path={"run": "4097", "task": "extract", "number": "1"}, headers={"Range": "bytes=0-99"}
    ),
)
async def read_log(call: Call, run: RunId, task: TaskName, number: Number) -> Answer:
    """What an attempt wrote, by byte range.

    Without `Range: bytes=A-B`, from its beginning; at most 1 MiB at a time, and `Content-Range`
    says which part it is. `Mainspring-Log` says whether more may come: `open`, or how it ended.
    """
    reader = call.services.logs

    async def find(connection: Connection) -> tuple[int, int]:
        line = await reading.read_run(connection, run)
        found = await _task(connection, line, task)
        terms = [each.term for each in found.attempts if each.attempt == number]
        if not terms:
            raise NotFoundError(
                f"task {shown(task)} of run {run} has no attempt {number}",
                hint=f"it has {len(found.attempts)}",
            )
        return found.id, terms[-1]

    task_id, term = await call.services.read(find)
    lines = await call.services.read(list_logs, task_id, task_id + 1)
    log = next((line for line in lines if line.term == term), None)
    # What comes after a hole has no place that could be told.
    size = 0 if log is None else log.mark.bytes
    start, end = _range(call.headers.get("range"), size)
    end = min(end, start + LOG_BYTES_MAX)
    content = b""
    if log is not None and start < end:
        content = b"".join([piece async for _, piece in reader.pieces(log, start, end)])
    ending = "open" if log is None else log.mark.ending.value
    headers = [
        (b"accept-ranges", b"bytes"),
        (b"mainspring-log", ending.encode()),
        (b"content-security-policy", b"sandbox"),
    ]
    whole = start == 0 and end == size
    if not whole:
        headers.append((b"content-range", b"bytes %d-%d/%d" % (start, max(end - 1, 0), size)))
    return Answer(
        content,
        status=200 if whole else 206,
        content_type=b"text/plain; charset=utf-8",
        headers=headers,
    )


def _range(given: str | None, size: int) -> tuple[int, int]:
    """`bytes=A-B`, `bytes=A-` or `bytes=-N` as a start, and an end that is not part of it."""
    if given is None:
        return 0, size
    unit, _, text = given.partition("=")
    first, dash, last = text.partition("-")
    numbers = all(not each or (each.isascii() and each.isdigit()) for each in (first, last))
    if unit.strip() != "bytes" or not dash or not numbers or not (first or last):
        raise Refusal(
            416, "range", f"{shown(given)} is no range", hint="write it like `Range: bytes=0-999`"
        )
    if not first:
        return max(0, size - int(last)), size
    start, end = int(first), size if not last else min(int(last) + 1, size)
    if start >= end:
        raise Refusal(
            416,
            "range",
            f"the log has {size:,} bytes so far",
            headers=((b"content-range", b"bytes */%d" % size),),
        )
    return start, end


# --- what can be done -------------------------------------------------------------------------


class Cancel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    at_once: bool = False
    """Leave processes and commands no time to tidy up."""


@runs.post(
    "/runs/{run}/cancel",
    needs=Role.OPERATOR,
    example=Example(path={"run": "4097"}, body={"at_once": False}),
)
async def cancel_run(call: Call, run: RunId, body: Cancel) -> shapes.RunStopping:
    """Stop a run. What runs is asked to end, what waits never starts.

    A run that has ended stays as it is.
    """
    before = await call.services.read(reading.read_run, run)
    asked = 0
    if not before.closed:
        asked = await call.services.client.cancel(run, at_once=body.at_once)
    return shapes.run_stopping(await call.services.read(reading.read_run, run), asked)


class Rerun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tasks: Annotated[list[TaskName], Meta(max_length=10_000)] | None = None
    """These, and what comes after them; without, those that failed or were cancelled."""
    all: bool = False
    """All tasks."""


@runs.post(
    "/runs/{run}/rerun",
    needs=Role.OPERATOR,
    example=Example(path={"run": "4097"}, body={"all": True}),
)
async def rerun_run(call: Call, run: RunId, body: Rerun) -> shapes.RunAgain:
    """Run tasks of a run again, in the same run, and what comes after them."""
    names = await call.services.client.rerun(run, tasks=body.tasks, all=body.all)
    return shapes.run_again(await call.services.read(reading.read_run, run), names)


@runs.post(
    "/runs/{run}/rerun-latest",
    needs=Role.OPERATOR,
    status=201,
    repeats=True,
    example=_RUN,
)
async def rerun_latest(call: Call, run: RunId) -> shapes.Run:
    """Make a new run with the parameters of another one, on the dag's version and code of now.

    Asked again while version and code are the same, it is the same new run; with another
    `Idempotency-Key` it is another one.
    """
    try:
        made = await call.services.client.rerun_latest(run, key=call.key, created_by=call.who)
    except KeyConflict:
        assert call.key is not None
        raise used_otherwise(call.key) from None
    return shapes.run_line(await call.services.read(reading.read_run, made))
