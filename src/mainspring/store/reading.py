"""What people look at. Thin calls of `reading.sql`; each answer is bounded.

Every struct here has exactly the columns of its statement, in the words of the glossary; how
they are shown is the business of whoever asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from mainspring.domain.errors import NotFoundError
from mainspring.domain.lanes import EVERY_QUEUE, Lane, SlotKind
from mainspring.domain.names import closest, listed, shown
from mainspring.domain.outcomes import Error
from mainspring.domain.specs import DagSpec, with_options
from mainspring.domain.states import RUN, AttemptState, RunState, TaskState
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import read_versions
from mainspring.store.drains import Draining, draining_of
from mainspring.store.pauses import Pause, pause_of
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement

RUNS_SEEN_MAX = 10_000
"""How many runs are looked at for those in one state."""
COUNT_MAX = 100_000
"""Queues are counted up to here."""
WORKERS_MAX = 1_000
QUEUES_MAX = 1_000
DAGS_MAX = 10_000

_BEYOND = 2**63 - 1
_decode_error = msgspec.json.Decoder(Error).decode
_decode_slots = msgspec.json.Decoder(dict[str, int]).decode
_decode_rates = msgspec.json.Decoder(dict[int, float]).decode


class DagLine(msgspec.Struct, frozen=True):
    """A dag in a list, with its newest run."""

    name: str
    file: str
    version: int
    tasks: int
    snapshot: str
    changed_at: datetime
    description: str
    owner: str
    tags: list[str]
    last_run_id: int | None
    last_run_state: RunState | None
    last_run_created_at: datetime | None
    gone_at: datetime | None = None
    rolled_back_at: datetime | None = None
    pause: Pause | None = None


class FileProblem(msgspec.Struct, frozen=True):
    """A file of the dags folder that could not be read."""

    file: str
    line: int | None
    message: str
    seen_at: datetime


class RunLine(msgspec.Struct, frozen=True):
    """A run without its tasks."""

    id: int
    dag: str
    version: int
    version_id: int
    snapshot: str
    trigger: str
    created_at: datetime
    created_by: str | None
    due_at: datetime
    rerun_of: int | None
    tasks: int
    state: RunState
    stop: str | None
    open_tasks: int
    failed_tasks: int
    started_at: datetime | None
    finished_at: datetime | None
    read_at: datetime
    """The database's clock when this was read: what "ago" is measured from."""
    schedule: str | None = None
    """What made the run, if it was a schedule; a fire of a backfill may have none."""
    fire_at: datetime | None = None
    interval_start: datetime | None = None

    @property
    def closed(self) -> bool:
        return RUN.facts[self.state].closed


class PausedLine(msgspec.Struct, frozen=True):
    """A dag or a queue that is paused."""

    what: str
    name: str
    pause: Pause


class TaskLine(msgspec.Struct, frozen=True):
    id: int
    node: int
    name: str
    lane: int
    priority: int
    state: TaskState
    term: int
    attempt: int
    lost: int
    generation: int
    unmet: int
    stop: str | None
    due_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    result: bytes | None
    """JSON, perhaps only its beginning."""
    result_bytes: int | None
    progress_percent: float | None = None
    """What the running attempt told of itself."""
    progress_text: str | None = None
    progress_at: datetime | None = None
    aside: bool = False
    """Whether it stands aside, as the tasks of a paused dag do."""


class AttemptLine(msgspec.Struct, frozen=True):
    """One try. Stored are those that ended in any way but plain success."""

    task_id: int
    term: int
    attempt: int
    state: AttemptState
    started_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    error: Error | None
    generation: int = 1


class WorkerLine(msgspec.Struct, frozen=True):
    """A living worker and what it has in hand."""

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
    """It claims nothing: by its own word, as it is about to leave, or because somebody wants so."""
    drain: Draining | None
    rates: dict[int, float]
    """By lane, how many attempts ended per second; as it told with its last beat."""
    read_at: datetime

    def serves(self, queue: str) -> bool:
        return queue in self.queues or EVERY_QUEUE in self.queues

    @property
    def silent_seconds(self) -> float:
        return (self.read_at - self.renewed_at).total_seconds()

    @property
    def overdue(self) -> bool:
        return self.silent_seconds > self.lease_seconds


class LaneLine(msgspec.Struct, frozen=True):
    """What waits and what runs for one queue and slot kind."""

    queue: str
    kind: SlotKind
    ready: int
    """Counted up to COUNT_MAX."""
    oldest_seconds: float | None
    running: int
    workers: int
    """Living workers that serve it and are not draining."""
    aside: int = 0
    """Ready tasks of paused dags, counted up to COUNT_MAX."""
    pause: Pause | None = None
    """Of its queue."""
    per_second: float = 0.0
    """How many attempts ended per second, by the last beats of living workers."""


class QueueLine(msgspec.Struct, frozen=True):
    id: int
    name: str
    pause: Pause | None


class InHandLine(msgspec.Struct, frozen=True, kw_only=True):
    """A task that a worker has in hand."""

    run_id: int
    dag: str
    task: str
    attempt: int
    kind: SlotKind
    worker_id: int
    worker: str
    claimed_at: datetime


class EngineLine(msgspec.Struct, frozen=True):
    name: str | None
    held: bool
    renewed_at: datetime
    read_at: datetime

    @property
    def silent_seconds(self) -> float:
        return (self.read_at - self.renewed_at).total_seconds()


class ServerLine(msgspec.Struct, frozen=True):
    version_number: int
    version: str
    role: str
    database: str
    superuser: bool | None


class DagStanding(msgspec.Struct, frozen=True):
    """What is wrong with a dag now, for its runs."""

    pause: Pause | None = None
    gone_at: datetime | None = None


class Situation(msgspec.Struct, frozen=True):
    """All that it takes to say why a run's tasks stand where they stand."""

    run: RunLine
    spec: DagSpec
    tasks: list[TaskLine]
    """By node number."""
    queues: dict[int, QueueLine]
    workers: list[WorkerLine]
    engine: EngineLine
    dag: DagStanding = DagStanding()


async def read_clock(connection: Connection) -> datetime:
    now: datetime = (await fetch(connection, statement("read_clock")))[0]["now"]
    return now


# --- dags ---------------------------------------------------------------------------------


async def list_dags(
    connection: Connection,
    *,
    owner: str | None = None,
    tags: Sequence[str] = (),
    after: str = "",
    limit: int = DAGS_MAX,
    tenant_id: int = DEFAULT_TENANT,
) -> list[DagLine]:
    """By name, after that one; those of the owner, and with all of the tags."""
    found: list[DagLine] = []
    while len(found) < limit:
        after = found[-1].name if found else after
        count = min(limit - len(found), 500)
        rows = await fetch(
            connection, statement("page_dags"), tenant_id, after, count, owner, list(tags)
        )
        found += [_dag(row) for row in rows]
        if len(rows) < count:
            break
    return found


async def list_dag_names(
    connection: Connection, *, tenant_id: int = DEFAULT_TENANT, limit: int = DAGS_MAX
) -> list[str]:
    rows = await fetch(connection, statement("list_dag_names"), tenant_id, limit)
    return [row["name"] for row in rows]


async def list_file_problems(
    connection: Connection, *, limit: int = 1_000, tenant_id: int = DEFAULT_TENANT
) -> list[FileProblem]:
    rows = await fetch(connection, statement("page_file_problems"), tenant_id, limit)
    return [FileProblem(**row) for row in rows]


async def find_dag(
    connection: Connection, name: str, *, tenant_id: int = DEFAULT_TENANT
) -> int | None:
    rows = await fetch(connection, statement("find_dag"), tenant_id, name)
    return rows[0]["id"] if rows else None


async def read_dag_standing(
    connection: Connection, name: str, *, tenant_id: int = DEFAULT_TENANT
) -> DagStanding:
    [row] = await fetch(connection, statement("read_dag_standing"), tenant_id, name)
    return DagStanding(pause_of(row), row["gone_at"])


# --- runs ---------------------------------------------------------------------------------


async def find_last_run(
    connection: Connection, dag_id: int | None, *, tenant_id: int = DEFAULT_TENANT
) -> int | None:
    rows = await fetch(connection, statement("find_last_run"), tenant_id, dag_id)
    return rows[0]["id"] if rows else None


async def read_run(
    connection: Connection, run_id: int, *, tenant_id: int = DEFAULT_TENANT
) -> RunLine:
    rows = []
    if 0 <= run_id <= _BEYOND:
        rows = await fetch(connection, statement("read_run"), tenant_id, run_id)
    if not rows:
        raise NotFoundError(
            f"there is no run {run_id}", hint="`mainspring run list` shows what there is"
        )
    return run_line(rows[0])


async def find_ended_runs(connection: Connection, run_ids: Sequence[int]) -> list[int]:
    """Those of these runs that have ended, or are not there."""
    return [row["id"] for row in await fetch(connection, statement("find_ended_runs"), run_ids)]


async def list_reruns(connection: Connection, run_id: int, *, limit: int = 100) -> list[int]:
    """Runs that were made from this one, on a later version."""
    return [row["id"] for row in await fetch(connection, statement("list_reruns"), run_id, limit)]


async def list_paused(
    connection: Connection, *, limit: int = 1000, tenant_id: int = DEFAULT_TENANT
) -> list[PausedLine]:
    """Dags and queues, those that were paused first come first."""
    rows = await fetch(connection, statement("list_paused"), tenant_id, limit)
    return [
        PausedLine(row["what"], row["name"], pause)
        for row in rows
        if (pause := pause_of(row)) is not None
    ]


async def read_run_parameters(connection: Connection, run_id: int) -> bytes:
    """A JSON object."""
    rows = await fetch(connection, statement("read_run_parameters"), run_id)
    return (rows[0]["parameters"] if rows else None) or b"{}"


async def read_spec(connection: Connection, run: RunLine) -> DagSpec:
    """What the run's dag was when it began, and what a job of the run says instead."""
    spec = (await read_versions(connection, [run.version_id]))[run.version_id]
    rows = await fetch(connection, statement("read_run_options"), run.id)
    if not rows:
        return spec
    tasks = tuple(with_options(task, *rows[0].values()) for task in spec.tasks)
    return msgspec.structs.replace(spec, tasks=tasks)


def node_named(spec: DagSpec, run_id: int, name: str) -> int:
    """The number of a run's task, or an error that knows the nearest one."""
    for node, task in enumerate(spec.tasks):
        if task.name == name:
            return node
    names = [task.name for task in spec.tasks]
    near = closest(name, names)
    every = f"its tasks are {listed(names)}"
    hint = f"{near} {every}" if near.startswith("did you mean") else every
    raise NotFoundError(f"run {run_id} has no task {shown(name)}", hint=hint)


# --- a run's tasks ------------------------------------------------------------------------


async def count_tasks(connection: Connection, run: RunLine) -> dict[TaskState, int]:
    """In the order of the state machine; states without tasks are left out."""
    rows = await fetch(connection, statement("count_tasks"), run.id, run.tasks)
    counts = {row["state"]: row["tasks"] for row in rows}
    return {state: counts[state] for state in TaskState if state in counts}


async def list_tasks(
    connection: Connection,
    run: RunLine,
    *,
    states: Iterable[TaskState] | None = None,
    first: int = 0,
    limit: int | None = None,
    result_bytes: int = 0,
) -> list[TaskLine]:
    """By node number, from the first on, with the first `result_bytes` of their results."""
    left = run.tasks - first
    rows = await fetch(
        connection,
        statement("page_tasks"),
        run.id + first,
        # Where all states are wanted, what is beyond the limit need not be looked at.
        left if limit is None or states is not None else min(left, limit),
        None if states is None else list(states),
        run.tasks if limit is None else limit,
        result_bytes,
    )
    return [TaskLine(**{**row, "state": TaskState(row["state"])}) for row in map(dict, rows)]


async def list_attempts(
    connection: Connection,
    run: RunLine,
    *,
    first: int = 0,
    count: int | None = None,
    limit: int = 1_000,
) -> list[AttemptLine]:
    """Of so many tasks, from the first on; else of all."""
    tasks = run.tasks - first if count is None else count
    rows = await fetch(connection, statement("page_attempts"), run.id + first, tasks, limit)
    return [_attempt(row) for row in rows]


async def list_problems(
    connection: Connection, run: RunLine, *, limit: int = 10
) -> list[AttemptLine]:
    """The attempts after which tasks of this run failed for good."""
    rows = await fetch(connection, statement("page_problems"), run.id, run.tasks, limit)
    return [_attempt(row) for row in rows]


async def last_attempts(connection: Connection, task_ids: Sequence[int]) -> dict[int, AttemptLine]:
    """The newest ended attempt of each task that has one."""
    rows = await fetch(connection, statement("last_attempts"), list(task_ids))
    return {row["task_id"]: _attempt(row) for row in rows}


# --- who does it --------------------------------------------------------------------------


async def list_workers(connection: Connection) -> list[WorkerLine]:
    """By name."""
    rows = await fetch(connection, statement("page_workers"), WORKERS_MAX)
    running: dict[int, dict[SlotKind, int]] = {}
    for claimed in await fetch(connection, statement("count_claimed")):
        kind = Lane.of(claimed["lane"]).kind
        of_worker = running.setdefault(claimed["worker_id"], {})
        of_worker[kind] = of_worker.get(kind, 0) + claimed["tasks"]
    return [
        WorkerLine(
            id=row["id"],
            name=row["name"],
            host=row["host"],
            pid=row["pid"],
            queues=row["queues"],
            slots={SlotKind(kind): n for kind, n in _decode_slots(row["slots"]).items()},
            running=running.get(row["id"], {}),
            started_at=row["started_at"],
            renewed_at=row["renewed_at"],
            lease_seconds=row["lease_seconds"],
            draining=row["draining"],
            drain=draining_of(row),
            rates=_decode_rates(row["rates"] or b"{}"),
            read_at=row["read_at"],
        )
        for row in rows
    ]


async def list_in_hand(
    connection: Connection, *, worker_id: int | None = None, limit: int
) -> list[InHandLine]:
    """What was claimed first comes first."""
    rows = await fetch(connection, statement("page_in_hand"), worker_id, limit)
    return [
        InHandLine(
            run_id=row["run_id"],
            dag=row["dag"],
            task=row["task"],
            attempt=row["attempt"],
            kind=Lane.of(row["lane"]).kind,
            worker_id=row["worker_id"],
            worker=row["worker"],
            claimed_at=row["claimed_at"],
        )
        for row in rows
    ]


async def read_queues(
    connection: Connection, *, tenant_id: int = DEFAULT_TENANT
) -> dict[int, QueueLine]:
    """By id, in the order of the names."""
    rows = await fetch(connection, statement("page_queues"), tenant_id, QUEUES_MAX)
    return {row["id"]: QueueLine(row["id"], row["name"], pause_of(row)) for row in rows}


async def list_lanes(connection: Connection, *, tenant_id: int = DEFAULT_TENANT) -> list[LaneLine]:
    """Lanes in which something waits or runs, or which a worker serves; by queue name."""
    queues = await read_queues(connection, tenant_id=tenant_id)
    lanes = [Lane(queue_id, kind) for queue_id in queues for kind in SlotKind]
    measured = {
        row["lane"]: row
        for row in await fetch(
            connection, statement("measure_lanes"), [lane.number for lane in lanes], COUNT_MAX
        )
    }
    running: dict[int, int] = {}
    for claimed in await fetch(connection, statement("count_claimed")):
        running[claimed["lane"]] = running.get(claimed["lane"], 0) + claimed["tasks"]
    workers = await list_workers(connection)
    now = await read_clock(connection)
    found = []
    for lane in lanes:
        queue, depth = queues[lane.queue_id], measured[lane.number]
        oldest_at = depth["oldest_at"]
        line = LaneLine(
            queue=queue.name,
            kind=lane.kind,
            ready=depth["tasks"],
            oldest_seconds=oldest_at and max((now - oldest_at).total_seconds(), 0.0),
            running=running.get(lane.number, 0),
            workers=sum(serves(worker, queue.name, lane.kind) for worker in workers),
            aside=depth["aside"],
            pause=queue.pause,
            per_second=sum(worker.rates.get(lane.number, 0.0) for worker in workers),
        )
        if line.ready or line.aside or line.running or line.workers or line.per_second:
            found.append(line)
    return found


def serves(worker: WorkerLine, queue: str, kind: SlotKind) -> bool:
    """Whether this worker takes tasks of that queue and kind."""
    return worker.serves(queue) and worker.slots.get(kind, 0) > 0 and not worker.draining


async def read_engine(connection: Connection) -> EngineLine:
    return EngineLine(**(await fetch(connection, statement("read_engine"), 0))[0])


async def read_server(connection: Connection) -> ServerLine:
    return ServerLine(**(await fetch(connection, statement("read_server")))[0])


async def count_recent_problems(
    connection: Connection, *, seconds: float, tenant_id: int = DEFAULT_TENANT
) -> int:
    """Tasks that failed for good lately, among the newest thousand that did."""
    rows = await fetch(connection, statement("recent_problems"), tenant_id, seconds, 1_000)
    count: int = rows[0]["tasks"]
    return count


# --- why ----------------------------------------------------------------------------------


async def read_situation(connection: Connection, run: RunLine) -> Situation:
    return Situation(
        run=run,
        spec=await read_spec(connection, run),
        tasks=await list_tasks(connection, run),
        queues=await read_queues(connection),
        workers=await list_workers(connection),
        engine=await read_engine(connection),
        dag=await read_dag_standing(connection, run.dag),
    )


async def count_ahead(connection: Connection, task_ids: Sequence[int]) -> dict[int, int]:
    """How many tasks stand before each of these ready tasks in its queue."""
    rows = await fetch(connection, statement("count_ahead"), list(task_ids), COUNT_MAX)
    return {row["id"]: row["tasks"] for row in rows}


def _dag(row: asyncpg.Record) -> DagLine:
    fields = {name: row[name] for name in DagLine.__struct_fields__ if name != "pause"}
    state = row["last_run_state"]
    fields["last_run_state"] = state and RunState(state)
    return DagLine(**fields, pause=pause_of(row))


def run_line(row: asyncpg.Record | Mapping[str, Any]) -> RunLine:
    return RunLine(**{**row, "state": RunState(row["state"])})


def _attempt(row: asyncpg.Record) -> AttemptLine:
    return AttemptLine(
        **{
            **row,
            "state": AttemptState(row["state"]),
            "error": row["error"] and _decode_error(row["error"]),
        }
    )
