"""Runs: what was executed, and what can be done to it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from mainspring.api.answers import Answer, encode
from mainspring.api.bounds import NAMED
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
from mainspring.api.problems import Refusal, field_refusal
from mainspring.api.repeating import used_otherwise
from mainspring.api.routes import Example, Resource
from mainspring.api.watching import Wait
from mainspring.domain.errors import KeyConflict, NotFoundError
from mainspring.domain.lanes import PRIORITY_MAX, PRIORITY_MIN
from mainspring.domain.log_marks import Ending
from mainspring.domain.names import closest, shown
from mainspring.domain.notes import NOTE_LENGTH_MAX
from mainspring.domain.roles import Role
from mainspring.domain.specs import PAYLOAD_BYTES_MAX
from mainspring.domain.states import RunState, TaskState
from mainspring.store import reading, shapes
from mainspring.store.comparison import Comparison, read_comparison
from mainspring.store.connection import Connection
from mainspring.store.logs import LogLine
from mainspring.store.logs import list_logs as find_logs
from mainspring.store.marks import Mark as MarkedState
from mainspring.store.run_documents import (
    Narrowed,
    find_task,
    read_run_document,
    read_run_tasks,
)
from mainspring.store.run_lists import RunFilter, choose_dags, page_runs
from mainspring.store.runs import Deed
from mainspring.store.why import Why, read_why

runs = Resource("runs", "What was executed, and what can be done to it.")

SEEN_MAX = 2_000
"""How many runs one request looks at for those that fit a filter."""
LOG_TASKS = 100
"""Of how many tasks a page tells the logs."""
LOG_BYTES_MAX = 1024 * 1024
"""How much of a log one answer holds."""

RunId = Annotated[int, Meta(ge=0, le=2**63 - 1, description="A run's number.")]
TaskName = Annotated[str, Meta(max_length=200, description="A task's name."), NAMED]
Number = Annotated[int, Meta(ge=1, le=2**31 - 1, description="A number, from 1.")]
Trigger = Literal["schedule", "event", "manual", "backfill", "upstream", "rerun"]

_RUN = Example(path={"run": "4097"})
_BYTE = re.compile(r"[0-9]{1,18}")


class RunsOfDag(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    state: Annotated[RunState | None, Meta(description="Only runs in this state.")] = None
    trigger: Annotated[Trigger | None, Meta(description="Only runs that began so.")] = None
    since: (
        Annotated[datetime, Meta(description="Only runs made then or later.", tz=True)] | None
    ) = None
    until: Annotated[datetime, Meta(description="Only runs made before.", tz=True)] | None = None
    before: (
        Annotated[int, Meta(ge=0, le=2**63 - 1, description="Only runs older than this.")] | None
    ) = None
    limit: Limit = 50
    cursor: Cursor | None = None
    fields: Fields | None = None


class Runs(RunsOfDag, frozen=True, forbid_unknown_fields=True, kw_only=True):
    dag: Annotated[str, Meta(max_length=200, description="Only runs of this dag.")] | None = None
    tag: Annotated[
        list[Annotated[str, Meta(max_length=200)]],
        Meta(
            max_length=20,
            description="Only runs of dags that have this tag now; several: that have all.",
        ),
    ] = []
    text: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=200,
                description="Only runs of dags with this in their names, in capitals or not.",
            ),
        ]
        | None
    ) = None


@runs.get(
    "/runs",
    needs=Role.VIEWER,
    shared=True,
    example=Example(query={"state": "succeeded", "limit": "2", "fields": "id,dag,state"}),
    refusals=(404,),
)
async def list_runs(call: Call, query: Runs) -> Page[shapes.Run]:
    """Runs, the newest first.

    Dags, states and times are looked up. What that leaves is looked through, 2,000 runs in a
    request: a page may hold less than was asked for, or nothing, and still have a `next` to follow.
    """
    return await call.services.read(page_of_runs, query, query.dag)


async def page_of_runs(
    connection: Connection, query: RunsOfDag, dag: str | None
) -> Page[shapes.Run]:
    check_fields(shapes.Run, query.fields)
    chosen = RunFilter(
        dag_ids=await _chosen_dags(connection, query, dag),
        state=query.state,
        trigger=query.trigger,
        since=query.since,
        until=query.until,
    )
    below = _first_of([id_of("run", query.cursor), query.before])
    page = await page_runs(connection, chosen, below=below, limit=query.limit, seen_max=SEEN_MAX)
    following = page.next_below
    return Page(
        [shapes.run_line(line) for line in page.runs],
        None if following is None else cursor_of("run", following),
    )


async def _chosen_dags(
    connection: Connection, query: RunsOfDag, dag: str | None
) -> list[int] | None:
    """None: any."""
    dag_id = None if dag is None else await dag_id_of(connection, dag)
    if not isinstance(query, Runs) or (not query.tag and query.text is None):
        return None if dag_id is None else [dag_id]
    return await choose_dags(connection, name=dag, tags=query.tag, text=query.text)


def _first_of(places: Sequence[int | None]) -> int | None:
    return min((place for place in places if place is not None), default=None)


async def dag_id_of(connection: Connection, name: str) -> int:
    dag_id = await reading.find_dag(connection, name)
    if dag_id is None:
        known = await reading.list_dag_names(connection)
        raise NotFoundError(f"there is no dag {shown(name)}", hint=closest(name, known))
    return dag_id


class OneRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    wait: Wait = 0.0
    task_state: Annotated[
        list[TaskState], Meta(description="Only tasks in this state; several: in one of them.")
    ] = []
    tasks_max: (
        Annotated[int, Meta(ge=0, le=100_000, description="So many tasks at most.")] | None
    ) = None
    result_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=shapes.RESULT_BYTES_MAX,
            description="Results of tasks that are larger are left out.",
        ),
    ] = shapes.RESULT_BYTES_MAX
    fields: Fields | None = None

    @property
    def narrowed(self) -> Narrowed:
        return Narrowed(tuple(self.task_state), self.tasks_max, self.result_bytes)


async def until_ended(call: Call, run: int, query: OneRun) -> None:
    check_fields(shapes.RunWhole, query.fields)
    if query.wait:
        await call.services.ends.wait(run, query.wait)


@runs.get("/runs/{run}", needs=Role.VIEWER, shared=True, waits=until_ended, example=_RUN)
async def show_run(call: Call, run: RunId, query: OneRun) -> shapes.RunWhole:
    """One run with its parameters, its tasks and their attempts.

    With `wait` the answer comes when the run has ended, or when that time is over: `state` tells.
    """

    async def read(connection: Connection) -> shapes.RunWhole:
        line = await reading.read_run(connection, run)
        return await read_run_document(connection, line, query.narrowed)

    return await call.services.read(read)


@runs.get("/runs/{run}/tasks", needs=Role.VIEWER, shared=True, example=_RUN)
async def list_tasks(call: Call, run: RunId) -> Page[shapes.Task]:
    """The tasks of a run, in the order of its dag."""

    async def read(connection: Connection) -> list[shapes.Task]:
        return await read_run_tasks(connection, await reading.read_run(connection, run))

    return Page(await call.services.read(read))


@runs.get(
    "/runs/{run}/tasks/{task}",
    needs=Role.VIEWER,
    shared=True,
    example=Example(path={"run": "4097", "task": "extract"}),
)
async def show_task(call: Call, run: RunId, task: TaskName) -> shapes.Task:
    """One task of a run, with its attempts."""

    async def read(connection: Connection) -> shapes.Task:
        return await find_task(connection, await reading.read_run(connection, run), task)

    return await call.services.read(read)


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
        return (await find_task(connection, line, task)).attempts

    return Page(await call.services.read(read))


class OneTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    task: Annotated[str, Meta(max_length=200, description="Only this task.")] | None = None


@runs.get("/runs/{run}/why", needs=Role.VIEWER, shared=True, example=_RUN)
async def why(call: Call, run: RunId, query: OneTask) -> Why:
    """Why a run, or one task of it, stands where it stands, and what would move it on."""

    async def read(connection: Connection) -> Why:
        return await read_why(connection, await reading.read_run(connection, run), query.task)

    return await call.services.read(read)


@runs.get(
    "/runs/{run}/compare/{other}",
    needs=Role.VIEWER,
    shared=True,
    example=Example(path={"run": "4097", "other": "4098"}),
)
async def compare(call: Call, run: RunId, other: RunId) -> Comparison:
    """Two runs side by side: versions, parameters, and each task."""
    return await call.services.read(read_comparison, run, other)


class LogsOfRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    task: Annotated[str, Meta(max_length=200, description="Only of this task.")] | None = None
    content: Annotated[
        bool, Meta(description="Let short ones come along, as base64, in `content`.")
    ] = False
    cursor: Cursor | None = None


@runs.get("/runs/{run}/logs", needs=Role.VIEWER, shared=True, example=_RUN)
async def list_logs(call: Call, run: RunId, query: LogsOfRun) -> Page[shapes.Log]:
    """The logs of a run's tasks, in the order of its dag: how long they are, and how they end.

    Each try of a task has its own, under its term; a page holds those of 100 tasks.
    """
    first = id_of("log", query.cursor) or 0

    async def read(connection: Connection) -> Page[shapes.Log]:
        line = await reading.read_run(connection, run)
        spec = await reading.read_spec(connection, line)
        begin, end = run + min(first, line.tasks), run + min(first + LOG_TASKS, line.tasks)
        if query.task is not None:
            begin = run + reading.node_named(spec, run, query.task)
            end = begin + 1
        logs = await find_logs(connection, begin, end)
        more = query.task is None and end < run + line.tasks
        return Page(
            [
                shapes.log_line(log, spec.tasks[log.task_id - run].name, content=query.content)
                for log in logs
            ],
            cursor_of("log", end - run) if more else None,
        )

    return await call.services.read(read)


class OneLog(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    term: (
        Annotated[int, Meta(ge=1, le=2**31 - 1, description="Of this try; else of the last one.")]
        | None
    ) = None
    offset: (
        Annotated[int, Meta(ge=0, le=2**62, description="From this byte on, instead of `Range`.")]
        | None
    ) = None
    wait: Wait = 0.0


@runs.get(
    "/runs/{run}/tasks/{task}/attempts/{number}/logs",
    needs=Role.VIEWER,
    produces="text/plain",
    refusals=(416,),
    example=Example(
        path={"run": "4097", "task": "extract", "number": "1"}, headers={"Range": "bytes=0-99"}
    ),
)
async def read_log(call: Call, run: RunId, task: TaskName, number: Number, query: OneLog) -> Answer:
    """What an attempt wrote, by byte range, or as it comes.

    Without `Range: bytes=A-B`, from its beginning; at most 1 MiB at a time, and `Content-Range`
    says which part it is. `Mainspring-Log` says whether more may come: `open`, or how it ended.

    To follow it give `offset`, the byte to go on from, and `wait`: the answer comes when something
    is there, when the log has ended, or when that time is over. `Mainspring-Log-Next` is the offset
    of the next request. Where something was lost the answer goes on after it, so it begins where
    its length and that offset say.
    """
    asked_range = call.headers.get("range")
    if query.offset is not None and asked_range is not None:
        raise field_refusal("query/offset", "cannot be given with `Range`", hint="leave one away")
    found = await call.services.read(_find_log, run, task, number, query.term)
    if query.wait and query.offset is not None and found.end <= query.offset and found.open:
        await call.services.grown.wait((found.task_id, found.term, query.offset), query.wait)
        found = await call.services.read(_find_log, run, task, number, query.term)
    size = found.end
    if query.offset is not None:
        start, end = min(query.offset, found.stored), found.stored
    else:
        start, end = _range(asked_range, size)
        end = min(end, start + LOG_BYTES_MAX)
    content = b""
    if found.log is not None and start < end:
        start, content = await _unbroken(call.services.logs.pieces(found.log, start, end), start)
    end = start + len(content)
    headers = [
        (b"accept-ranges", b"bytes"),
        (b"mainspring-log", found.ending.encode()),
        (b"mainspring-log-next", b"%d" % end),
        (b"content-security-policy", b"sandbox"),
    ]
    whole = start == 0 and end == size
    if not whole and query.offset is None:
        headers.append((b"content-range", b"bytes %d-%d/%d" % (start, max(end - 1, 0), size)))
    return Answer(
        content,
        status=200 if whole or query.offset is not None else 206,
        content_type=b"text/plain; charset=utf-8",
        headers=headers,
    )


async def _unbroken(pieces: AsyncIterator[tuple[int, bytes]], start: int) -> tuple[int, bytes]:
    """What there is up to the next hole, with its place; nothing at `start` if there is none."""
    content = bytearray()
    async for at, piece in pieces:
        if not content:
            start = at
        elif at != start + len(content):
            break
        content += piece
        if len(content) >= LOG_BYTES_MAX:
            break
    return start, bytes(content[:LOG_BYTES_MAX])


class _FoundLog(msgspec.Struct, frozen=True):
    task_id: int
    term: int
    log: LogLine | None

    @property
    def end(self) -> int:
        # What comes after a hole has no place that could be told.
        return 0 if self.log is None else self.log.mark.bytes

    @property
    def stored(self) -> int:
        return 0 if self.log is None else self.log.stored

    @property
    def ending(self) -> str:
        return "open" if self.log is None else self.log.mark.ending.value

    @property
    def open(self) -> bool:
        return self.log is None or self.log.mark.ending is Ending.OPEN


async def _find_log(
    connection: Connection, run: int, task: str, number: int, term: int | None
) -> _FoundLog:
    line = await reading.read_run(connection, run)
    node = reading.node_named(await reading.read_spec(connection, line), run, task)
    logs = await find_logs(connection, run + node, run + node + 1)
    tries = [log for log in logs if log.attempt == number and term in (None, log.term)]
    if not tries:
        some = ", ".join(f"{log.attempt} (term {log.term})" for log in logs)
        which = f"attempt {number}" if term is None else f"attempt {number} of term {term}"
        raise NotFoundError(
            f"task {shown(task)} of run {run} has no {which}",
            hint=f"its attempts: {some}" if some else "it has not begun",
        )
    return _FoundLog(run + node, tries[-1].term, tries[-1])


def _range(given: str | None, size: int) -> tuple[int, int]:
    """`bytes=A-B`, `bytes=A-` or `bytes=-N` as a start, and an end that is not part of it."""
    if given is None:
        return 0, size
    unit, _, text = given.partition("=")
    first, dash, last = text.partition("-")
    numbers = all(not each or _BYTE.fullmatch(each) for each in (first, last))
    if unit.strip() != "bytes" or not dash or not numbers or not (first or last):
        raise Refusal(
            416, "range", f"{shown(given)} is no range", hint="write it like `Range: bytes=0-999`"
        )
    if not first and int(last):
        return max(0, size - int(last)), size
    start, end = int(first or size), size if not last else min(int(last) + 1, size)
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
    after = await call.services.read(reading.read_run, run)
    return shapes.run_stopping(after, asked, had_ended=before.closed)


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
    once=True,
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


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    state: MarkedState
    note: Annotated[str, Meta(min_length=1, max_length=NOTE_LENGTH_MAX)]
    """Why; it is kept with the run."""
    result: Any = None
    """What a task that succeeded is to have returned."""


@runs.post(
    "/runs/{run}/tasks/{task}/mark",
    needs=Role.OPERATOR,
    body_bytes_max=PAYLOAD_BYTES_MAX + 65536,
    example=Example(
        path={"run": "4098", "task": "extract"},
        body={"state": "succeeded", "note": "done by hand", "result": 42},
    ),
)
async def mark(call: Call, run: RunId, task: TaskName, body: Mark) -> shapes.RunMarked:
    """Close a task by hand: what comes after it goes on as if it had ended so.

    For a task that waits, rests, is ready, runs, or has failed. What runs is stopped, and what it
    reports is refused. A run that has failed is opened again.
    """
    content = None
    if body.result is not None:
        if body.state != "succeeded":
            raise field_refusal("/result", "a task that was skipped has none", hint="leave it out")
        content = encode(body.result)
        if len(content) > PAYLOAD_BYTES_MAX:
            raise field_refusal("/result", f"is larger than {PAYLOAD_BYTES_MAX:,} bytes")

    async def known(connection: Connection) -> None:
        line = await reading.read_run(connection, run)
        reading.node_named(await reading.read_spec(connection, line), run, task)

    await call.services.read(known)
    by = Deed(call.who, body.note)
    marked = await call.services.client.mark(run, task, body.state, by, result=content)
    line = await call.services.read(reading.read_run, run)
    return shapes.run_marked(line, task, body.state, marked)


class Priority(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    priority: Annotated[int, Meta(ge=PRIORITY_MIN, le=PRIORITY_MAX)]
    """Higher goes sooner."""


@runs.post(
    "/runs/{run}/priority",
    needs=Role.OPERATOR,
    example=Example(path={"run": "4097"}, body={"priority": 9}),
)
async def set_priority(call: Call, run: RunId, body: Priority) -> shapes.RunReordered:
    """Give all tasks of a run that no worker has yet another priority."""
    changed = await call.services.client.set_priority(run, body.priority)
    line = await call.services.read(reading.read_run, run)
    return shapes.run_reordered(line, body.priority, changed)
