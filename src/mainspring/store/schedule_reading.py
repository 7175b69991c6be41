"""Schedules as people see them: lists, one with its versions, and what became of its fires."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import asyncpg
import msgspec

from mainspring.domain.names import name_problem
from mainspring.domain.states import RunState
from mainspring.schedule.firing import Reason
from mainspring.schedule.specs import ScheduleSpec
from mainspring.store.connection import Connection, fetch
from mainspring.store.reading import read_clock
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement

_PAGE = 1_000

_decode_spec = msgspec.json.Decoder(ScheduleSpec).decode


class ScheduleState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    FINISHED = "finished"
    """No fire is left."""


class ScheduleLine(msgspec.Struct, frozen=True):
    id: int
    name: str
    dag: str
    state: ScheduleState
    version: int
    spec: ScheduleSpec
    parameters: bytes | None
    in_code: bool
    note: str
    paused_at: datetime | None
    paused_by: str | None
    pause_note: str | None
    dag_paused: bool
    created_at: datetime
    changed_at: datetime
    next_fire_at: datetime | None
    cursor_at: datetime
    last_fire_at: datetime | None
    last_run_id: int | None
    fired: int
    """How many runs its version in force has made."""
    failures: int
    buffered: int
    shard: int


class ScheduleGlance(msgspec.Struct, frozen=True):
    """A schedule next to its dag."""

    name: str
    spec: ScheduleSpec
    in_code: bool
    paused: bool
    next_fire_at: datetime | None


class ScheduleVersion(msgspec.Struct, frozen=True):
    number: int
    spec: ScheduleSpec
    parameters: bytes | None
    changed_by: str
    in_force_from: datetime
    in_force_until: datetime | None


class FireLine(msgspec.Struct, frozen=True):
    """An entry of the ledger; a range of skips from `fire_at` to `until_at`."""

    id: int
    fire_at: datetime
    until_at: datetime
    next_at: datetime | None
    decided_at: datetime
    run_id: int | None
    version: int
    count: int
    outcome: str
    reason: str | None


class SkippedLine(msgspec.Struct, frozen=True):
    """Fires of some schedule that made no run, from `fire_at` to `until_at`, all for one reason."""

    id: int
    schedule: str
    dag: str
    gone: bool
    """Whether the schedule is there no more."""
    fire_at: datetime
    until_at: datetime
    count: int
    reason: Reason
    decided_at: datetime


class ScheduleWhole(msgspec.Struct, frozen=True):
    """All that there is to tell of one schedule."""

    line: ScheduleLine
    versions: list[ScheduleVersion]
    """Newest first."""
    fires: list[FireLine]
    """What became of its last fires, newest first."""
    open_runs: list[int]
    """Of a schedule that asks how its runs are doing: what a buffered fire waits for."""
    read_at: datetime
    """The database's time."""


class EngineAtWork(msgspec.Struct, frozen=True):
    """An engine that fires schedules."""

    id: UUID
    name: str
    started_at: datetime
    renewed_at: datetime
    read_at: datetime

    @property
    def silent_seconds(self) -> float:
        return max((self.read_at - self.renewed_at).total_seconds(), 0.0)


class ShardStanding(msgspec.Struct, frozen=True):
    """A shard of schedules: who holds it, and how far behind it is."""

    number: int
    holder: UUID | None
    holder_name: str | None
    renewed_at: datetime
    due: int
    oldest_at: datetime | None
    read_at: datetime

    @property
    def lag_seconds(self) -> float:
        if self.oldest_at is None:
            return 0.0
        return max((self.read_at - self.oldest_at).total_seconds(), 0.0)


class HinderedSchedule(msgspec.Struct, frozen=True):
    """A schedule that does not fire, or will not, until somebody does something."""

    name: str
    dag: str
    paused_at: datetime | None
    paused_by: str | None
    pause_note: str | None
    """If `mainspring` paused it: that its runs failed, or that it cannot be computed."""
    refused: bool
    """Its last fires were refused."""
    dag_gone: bool
    calendars: list[str]
    """Those that it names and that are not there."""


async def list_schedules(
    connection: Connection,
    *,
    names: list[str] | None = None,
    dag: str | None = None,
    after: str = "",
    limit: int | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> list[ScheduleLine]:
    """By name; the first `limit` of them, of those that come after this name."""
    if names is not None:
        # What nothing can be called, such as a NUL, could not even be asked for.
        names = [name for name in names if not name_problem(name)]
    found: list[ScheduleLine] = []
    while limit is None or len(found) < limit:
        last = found[-1].name if found else after
        count = _PAGE if limit is None else min(_PAGE, limit - len(found))
        rows = await fetch(
            connection, statement("read_schedules"), tenant_id, names, dag, last, count
        )
        found += [_line(row) for row in rows]
        if len(rows) < count:
            break
    return found


async def read_schedule(
    connection: Connection, name: str, *, fires: int = 20, tenant_id: int = DEFAULT_TENANT
) -> ScheduleWhole | None:
    """All of one schedule, at one moment; None if there is none."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        lines = await list_schedules(connection, names=[name], tenant_id=tenant_id)
        if not lines:
            return None
        [line] = lines
        return ScheduleWhole(
            line,
            await list_versions(connection, line.id),
            await page_fires(connection, line.id, limit=fires),
            await open_runs_of(connection, line.id),
            await read_clock(connection),
        )


async def schedule_names(
    connection: Connection,
    beginning: str = "",
    *,
    limit: int = 1000,
    tenant_id: int = DEFAULT_TENANT,
) -> list[str]:
    rows = await fetch(
        connection, statement("complete_schedule_names"), tenant_id, beginning, limit
    )
    return [row["name"] for row in rows]


async def run_states(connection: Connection, run_ids: Sequence[int]) -> dict[int, RunState]:
    """Of those that history still has."""
    rows = await fetch(connection, statement("read_run_states"), run_ids)
    return {row["id"]: RunState(row["state"]) for row in rows}


async def open_runs_of(connection: Connection, schedule_id: int, *, limit: int = 100) -> list[int]:
    rows = await fetch(connection, statement("read_followed_runs"), schedule_id, limit)
    return [row["run_id"] for row in rows]


async def list_engines(connection: Connection) -> list[EngineAtWork]:
    rows = await fetch(connection, statement("list_engines"))
    return [EngineAtWork(*row.values()) for row in rows]


async def list_shards(connection: Connection) -> list[ShardStanding]:
    rows = await fetch(connection, statement("list_shards"))
    return [ShardStanding(*row.values()) for row in rows]


async def count_schedules(
    connection: Connection, *, tenant_id: int = DEFAULT_TENANT
) -> tuple[int, int]:
    """How many there are, and how many of them are paused."""
    row = (await fetch(connection, statement("count_schedules"), tenant_id))[0]
    return row["schedules"], row["paused"]


async def list_hindered(
    connection: Connection, *, limit: int = 1000, tenant_id: int = DEFAULT_TENANT
) -> list[HinderedSchedule]:
    rows = await fetch(connection, statement("list_hindered_schedules"), tenant_id, limit)
    return [HinderedSchedule(*row.values()) for row in rows]


async def glance_at_schedules(
    connection: Connection,
    dags: Iterable[str],
    limit: int,
    *,
    tenant_id: int = DEFAULT_TENANT,
) -> dict[str, list[ScheduleGlance]]:
    """The schedules of some dags, by dag and name; of each dag at most `limit`."""
    rows = await fetch(connection, statement("glance_at_schedules"), tenant_id, list(dags), limit)
    found: dict[str, list[ScheduleGlance]] = {}
    for row in sorted(rows, key=lambda row: row["name"]):
        found.setdefault(row["dag"], []).append(
            ScheduleGlance(
                row["name"],
                _decode_spec(row["spec"]),
                row["in_code"],
                row["paused"],
                row["next_fire_at"],
            )
        )
    return found


async def list_versions(connection: Connection, schedule_id: int) -> list[ScheduleVersion]:
    """Newest first."""
    rows = await fetch(connection, statement("read_schedule_versions"), schedule_id)
    return [
        ScheduleVersion(
            row["number"],
            _decode_spec(row["spec"]),
            row["parameters"],
            row["changed_by"],
            row["in_force_from"],
            row["in_force_until"],
        )
        for row in rows
    ]


async def read_schedule_names(connection: Connection, ids: Sequence[int]) -> dict[int, str]:
    """Also of those that are gone: a name never changes."""
    rows = await fetch(connection, statement("read_schedule_names"), list(ids))
    return {row["id"]: row["name"] for row in rows}


async def page_fires(
    connection: Connection, schedule_id: int, *, before: datetime | None = None, limit: int = 20
) -> list[FireLine]:
    """Newest first."""
    rows = await fetch(connection, statement("page_fires"), schedule_id, before, limit)
    return [FireLine(*row.values()) for row in rows]


async def page_skipped(
    connection: Connection,
    *,
    before: tuple[datetime, int] | None = None,
    limit: int,
    tenant_id: int = DEFAULT_TENANT,
) -> list[SkippedLine]:
    """Of all schedules, newest first."""
    place = before or (None, None)
    rows = await fetch(connection, statement("page_skipped"), tenant_id, *place, limit)
    return [SkippedLine(**{**row, "reason": Reason(row["reason"])}) for row in map(dict, rows)]


def _line(row: asyncpg.Record) -> ScheduleLine:
    state = ScheduleState.ACTIVE if row["next_fire_at"] else ScheduleState.FINISHED
    told = {name: row[name] for name in ScheduleLine.__struct_fields__ if name in row}
    told["spec"] = _decode_spec(row["spec"])
    told["state"] = ScheduleState.PAUSED if row["paused_at"] else state
    return ScheduleLine(**told)
