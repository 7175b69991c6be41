"""What the database says at the end, read in one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from tests.checker.definitions import Definition
from tests.checker.journal import Connection
from tests.checker.rows import (
    AttemptRow,
    ClaimRow,
    KeyRow,
    LeaseRow,
    PastRunRow,
    PastTaskRow,
    ReadyRow,
    Row,
    RunRow,
    TaskRow,
    TimerRow,
    WorkerRow,
)

_R = TypeVar("_R", bound=Row)


class Tables(msgspec.Struct, frozen=True):
    runs: dict[int, RunRow]
    tasks: dict[int, TaskRow]
    ready: dict[int, ReadyRow]
    claims: dict[str, ClaimRow]
    leases: dict[int, LeaseRow]
    workers: dict[int, WorkerRow]
    timers: list[TimerRow]
    attempts: dict[tuple[int, int], AttemptRow]
    keys: dict[str, KeyRow]
    past_runs: dict[int, PastRunRow]
    past_tasks: dict[int, PastTaskRow]
    definitions: dict[int, Definition]
    """By version."""
    dags: dict[int, str]
    shown: dict[int, str]
    """The state of every run, as it is shown to people."""
    errors: dict[tuple[int, int], str]
    """The type of the error that ended an attempt, by task and term."""
    logged: set[tuple[int, int]]
    """Tasks and terms that there is a log of."""
    epoch: int

    @property
    def all_tasks(self) -> Iterator[TaskRow | PastTaskRow]:
        yield from self.tasks.values()
        yield from self.past_tasks.values()

    @property
    def all_runs(self) -> Iterator[RunRow | PastRunRow]:
        yield from self.runs.values()
        yield from self.past_runs.values()


async def read_tables(connection: Connection) -> Tables:
    read = _Reader(connection)
    return Tables(
        runs={row.id: row for row in await read.all("run", RunRow)},
        tasks={row.id: row for row in await read.all("task", TaskRow)},
        ready={row.position: row for row in await read.all("ready", ReadyRow)},
        claims={row.id: row for row in await read.all("claim", ClaimRow)},
        leases={row.worker_id: row for row in await read.all("lease", LeaseRow)},
        workers={row.id: row for row in await read.all("worker", WorkerRow)},
        timers=await read.all("timer", TimerRow),
        attempts={row.key: row for row in await read.all("attempt", AttemptRow)},
        keys={row.name: row for row in await read.all("idempotency", KeyRow)},
        past_runs={row.id: row for row in await read.all("run_history", PastRunRow)},
        past_tasks={row.id: row for row in await read.all("task_history", PastTaskRow)},
        definitions={
            row["id"]: msgspec.json.decode(row["spec"], type=Definition)
            for row in await connection.fetch("select id, spec from mainspring.version")
        },
        dags={
            row["id"]: row["name"]
            for row in await connection.fetch("select id, name from mainspring.dag")
        },
        shown={
            row["id"]: row["state"]
            for row in await connection.fetch("select id, state from mainspring.run_view")
        },
        errors={
            (row["task_id"], row["term"]): msgspec.json.decode(row["error"], type=_Error).type
            for row in await connection.fetch(
                "select task_id, term, error from mainspring.attempt where error is not null"
            )
        },
        logged={
            (row["task_id"], row["term"])
            for row in await connection.fetch(
                "select task_id, term from mainspring.log"
                " union select task_id, term from mainspring.long_log"
            )
        },
        epoch=await connection.fetchval("select number from mainspring.epoch"),
    )


class _Error(msgspec.Struct, frozen=True):
    type: str


class _Reader:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self, relation: str, row: type[_R]) -> list[_R]:
        decoder = msgspec.json.Decoder(row)
        # As JSON, like the journal: then a row and its last move are compared as they are.
        rows = await self._connection.fetch(
            "select (to_jsonb(r) - array['parameters', 'result', 'error', 'digest'])::text as row"
            f" from mainspring.{relation} r"
        )
        return [decoder.decode(one["row"]) for one in rows]
