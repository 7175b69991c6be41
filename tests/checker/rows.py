"""Rows of the database under test, as far as promises are about them, in journal and tables.

Written down from the schema by hand. Columns that no promise needs are left out.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime

import msgspec

OPEN = frozenset({"waiting", "ready", "backoff", "parked"})
"""Stored states of a task that is not over."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """One row at one moment."""

    @property
    def key(self) -> Hashable:
        raise NotImplementedError


class Options(msgspec.Struct, frozen=True, gc=False):
    """What a run says of its tasks, before what their dag says."""

    attempts: int | None = None
    timeout_seconds: float | None = None


class RunRow(Row, frozen=True, gc=False):
    id: int
    created_at: datetime
    due_at: datetime
    dag_id: int
    version_id: int
    snapshot_id: int
    trigger: str
    open_tasks: int | None = None
    failed_tasks: int | None = None
    cancelled_tasks: int | None = None
    state: str | None = None
    """Null for a run of one task: its task tells."""
    stop: str | None = None
    finished_at: datetime | None = None
    schedule_id: int | None = None
    fire_at: datetime | None = None
    options: Options | None = None

    @property
    def key(self) -> int:
        return self.id


class TaskRow(Row, frozen=True, gc=False):
    id: int
    run_id: int
    due_at: datetime
    version_id: int
    node: int
    lane: int
    term: int
    unmet: int
    state: str
    priority: int
    attempt: int
    lost: int
    generation: int
    position: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    worker_id: int | None = None
    stop: str | None = None

    @property
    def key(self) -> int:
        return self.id

    @property
    def open(self) -> bool:
        return self.state in OPEN


class ReadyRow(Row, frozen=True, gc=False):
    position: int
    task_id: int
    lane: int
    term: int
    priority: int

    @property
    def key(self) -> int:
        return self.position


class ClaimRow(Row, frozen=True, gc=False):
    id: str
    worker_id: int
    claimed_at: datetime
    task_ids: list[int]
    terms: list[int]

    @property
    def key(self) -> str:
        return self.id

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.task_ids, self.terms, strict=True))


class LeaseRow(Row, frozen=True, gc=False):
    worker_id: int
    beat: int
    renewed_at: datetime
    seconds: float
    draining: bool

    @property
    def key(self) -> int:
        return self.worker_id


class WorkerRow(Row, frozen=True, gc=False):
    id: int
    incarnation: str
    name: str
    pid: int
    queues: list[str]
    slots: str
    """JSON: how many of each kind."""
    started_at: datetime
    ended_at: datetime | None = None
    ending: str | None = None

    @property
    def key(self) -> int:
        return self.id

    def slots_of(self, kind: str) -> int:
        return msgspec.json.decode(self.slots, type=dict[str, int]).get(kind, 0)


class TimerRow(Row, frozen=True, gc=False):
    kind: str
    due_at: datetime
    subject: int
    term: int

    @property
    def key(self) -> Hashable:
        return self.kind, self.due_at, self.subject, self.term


class AttemptRow(Row, frozen=True, gc=False):
    task_id: int
    term: int
    attempt: int
    generation: int
    state: str
    finished_at: datetime
    worker_id: int | None = None
    started_at: datetime | None = None

    @property
    def key(self) -> tuple[int, int]:
        return self.task_id, self.term


class ProblemRow(Row, frozen=True, gc=False):
    task_id: int
    term: int

    @property
    def key(self) -> int:
        return self.task_id


class RemarkRow(Row, frozen=True, gc=False):
    """What somebody did to a task by hand."""

    task_id: int
    term: int
    deed: str
    who: str

    @property
    def key(self) -> tuple[int, int, str]:
        return self.task_id, self.term, self.deed


class KeyRow(Row, frozen=True, gc=False):
    """An idempotency key and the run that it stands for."""

    tenant_id: int
    name: str = msgspec.field(name="key")
    run_id: int = 0

    @property
    def key(self) -> tuple[int, str]:
        return self.tenant_id, self.name


class JobRow(Row, frozen=True, gc=False):
    """A job that runs at once has a run of the same number."""

    id: int
    name: str | None = None
    stored_key: str | None = msgspec.field(name="key", default=None)

    @property
    def key(self) -> int:
        return self.id


class ShardRow(Row, frozen=True, gc=False):
    number: int
    term: int
    beat: int
    holder: str | None = None
    holder_name: str | None = None

    @property
    def key(self) -> int:
        return self.number


class PastRunRow(Row, frozen=True, gc=False):
    id: int
    created_at: datetime
    due_at: datetime
    finished_at: datetime
    dag_id: int
    version_id: int
    snapshot_id: int
    trigger: str
    state: str
    tasks: int
    stop: str | None = None
    schedule_id: int | None = None
    fire_at: datetime | None = None
    options: Options | None = None

    @property
    def key(self) -> int:
        return self.id


class PastTaskRow(Row, frozen=True, gc=False):
    id: int
    run_id: int
    due_at: datetime
    version_id: int
    node: int
    lane: int
    term: int
    state: str
    priority: int
    attempt: int
    lost: int
    generation: int
    finished_at: datetime
    started_at: datetime | None = None
    worker_id: int | None = None
    stop: str | None = None

    @property
    def key(self) -> int:
        return self.id


class DagRow(Row, frozen=True, gc=False):
    id: int
    name: str
    paused_at: datetime | None = None

    @property
    def key(self) -> int:
        return self.id


class QueueRow(Row, frozen=True, gc=False):
    id: int
    name: str
    paused_at: datetime | None = None

    @property
    def key(self) -> int:
        return self.id


class ScheduleRow(Row, frozen=True, gc=False):
    id: int
    name: str
    dag_id: int
    version: int
    paused_at: datetime | None = None
    gone_at: datetime | None = None

    @property
    def key(self) -> int:
        return self.id


class StateRow(Row, frozen=True, gc=False):
    """How a schedule stands."""

    schedule_id: int
    turn: int
    cursor_at: datetime
    next_fire_at: datetime | None = None

    @property
    def key(self) -> int:
        return self.schedule_id


class FireRow(Row, frozen=True, gc=False):
    """An entry of the ledger."""

    id: int
    schedule_id: int
    version: int
    fire_at: datetime
    until_at: datetime
    decided_at: datetime
    count: int
    outcome: str
    reason: str | None = None
    run_id: int | None = None

    @property
    def key(self) -> int:
        return self.id


class VersionRow(msgspec.Struct, frozen=True):
    """What a schedule was, and when."""

    schedule_id: int
    number: int
    spec: str
    in_force_from: datetime
    in_force_until: datetime | None


ROWS: dict[str, type[Row]] = {
    "run": RunRow,
    "task": TaskRow,
    "ready": ReadyRow,
    "claim": ClaimRow,
    "lease": LeaseRow,
    "worker": WorkerRow,
    "timer": TimerRow,
    "attempt": AttemptRow,
    "problem": ProblemRow,
    "remark": RemarkRow,
    "idempotency": KeyRow,
    "job": JobRow,
    "shard": ShardRow,
    "run_history": PastRunRow,
    "task_history": PastTaskRow,
    "dag": DagRow,
    "queue": QueueRow,
    "schedule": ScheduleRow,
    "schedule_state": StateRow,
    "fire": FireRow,
}
"""By the name of the table, all that the journal watches."""
