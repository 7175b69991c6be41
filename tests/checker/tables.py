"""What the database says at the end, read in one snapshot."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import msgspec

from tests.checker.definitions import Definition
from tests.checker.journal import Connection
from tests.checker.rows import (
    AttemptRow,
    ClaimRow,
    FireRow,
    KeyRow,
    LeaseRow,
    PastRunRow,
    PastTaskRow,
    ReadyRow,
    Row,
    RunRow,
    ScheduleRow,
    StateRow,
    TaskRow,
    TimerRow,
    VersionRow,
    WorkerRow,
)

_R = TypeVar("_R", bound=Row)


class StoredLog(msgspec.Struct, frozen=True):
    """What is kept of what one attempt printed."""

    content: bytes
    """Up to the first hole."""
    cut: bool
    """It says itself that something came after."""
    hole: bool = False


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
    logs: dict[tuple[int, int], StoredLog]
    """By task and term."""
    snapshots: dict[int, str]
    """Their digests."""
    epoch: int
    schedules: dict[int, ScheduleRow]
    versions: list[VersionRow]
    """Of schedules, in their order."""
    states: dict[int, StateRow]
    fires: dict[int, FireRow]

    def fires_of(self, schedule_id: int, version: int) -> list[FireRow]:
        return [
            fire
            for fire in self.fires.values()
            if (fire.schedule_id, fire.version) == (schedule_id, version)
        ]

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
        logs=await _read_logs(connection),
        snapshots={
            row["id"]: row["digest"]
            for row in await connection.fetch("select id, digest from mainspring.snapshot")
        },
        epoch=await connection.fetchval("select number from mainspring.epoch"),
        schedules={row.id: row for row in await read.all("schedule", ScheduleRow)},
        versions=[
            VersionRow(*row.values())
            for row in await connection.fetch(
                "select schedule_id, number, convert_from(spec, 'utf8') as spec, in_force_from,"
                " in_force_until from mainspring.schedule_version order by 1, 2"
            )
        ],
        states={row.schedule_id: row for row in await read.all("schedule_state", StateRow)},
        fires={row.id: row for row in await read.all("fire", FireRow)},
    )


async def _read_logs(connection: Connection) -> dict[tuple[int, int], StoredLog]:
    logs: dict[tuple[int, int], StoredLog] = {}
    rows = await connection.fetch(
        "select task_id, term, start, content from mainspring.log order by task_id, term, start"
    )
    for key, chunks in groupby(rows, key=lambda row: (row["task_id"], row["term"])):
        content, cut, hole = b"", False, False
        for chunk in chunks:
            cut = cut or not chunk["content"]
            hole = hole or chunk["start"] != len(content)
            content += b"" if hole else chunk["content"]
        logs[key] = StoredLog(content, cut, hole)
    moved = await connection.fetch(
        "select l.task_id, l.term, l.lost, s.url, l.key from mainspring.long_log l"
        " join mainspring.object_store s on s.id = l.store_id where l.moved_at is not null"
    )
    for row in moved:
        folder = Path(unquote(urlsplit(row["url"]).path))
        content = gzip.decompress((folder / row["key"]).read_bytes())
        logs[row["task_id"], row["term"]] = StoredLog(content, row["lost"])
    return logs


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
