"""Schedules as people see them: lists, one with its versions, and what became of its fires."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum

import asyncpg
import msgspec

from mainspring.schedule.specs import ScheduleSpec
from mainspring.store.connection import Connection, fetch
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement

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


async def list_schedules(
    connection: Connection,
    *,
    names: list[str] | None = None,
    dag: str | None = None,
    tenant_id: int = DEFAULT_TENANT,
) -> list[ScheduleLine]:
    rows = await fetch(connection, statement("read_schedules"), tenant_id, names, dag)
    return [_line(row) for row in rows]


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


def _line(row: asyncpg.Record) -> ScheduleLine:
    state = ScheduleState.ACTIVE if row["next_fire_at"] else ScheduleState.FINISHED
    told = {name: row[name] for name in ScheduleLine.__struct_fields__ if name in row}
    told["spec"] = _decode_spec(row["spec"])
    told["state"] = ScheduleState.PAUSED if row["paused_at"] else state
    return ScheduleLine(**told)
