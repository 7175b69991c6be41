"""Figures of the whole for metrics, cheap however much is stored. Calls of `figures.sql`."""

from __future__ import annotations

import msgspec

from mainspring.store.connection import Connection, fetch
from mainspring.store.reading import COUNT_MAX
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement


class DatabaseLine(msgspec.Struct, frozen=True):
    connections: int
    connections_max: int
    oldest_transaction_seconds: float
    bytes: int


class TableLine(msgspec.Struct, frozen=True):
    """A table with its partitions; both numbers are PostgreSQL's estimates."""

    name: str
    rows: int
    dead: int


class TimerLine(msgspec.Struct, frozen=True):
    kind: str
    count: int
    late_seconds: float


async def measure_database(connection: Connection) -> DatabaseLine:
    return DatabaseLine(**(await fetch(connection, statement("measure_database")))[0])


async def measure_tables(connection: Connection) -> list[TableLine]:
    return [TableLine(**row) for row in await fetch(connection, statement("measure_tables"))]


async def measure_timers(connection: Connection) -> list[TimerLine]:
    rows = await fetch(connection, statement("measure_timers"), COUNT_MAX)
    return [TimerLine(**row) for row in rows]


async def count_dead_letters(connection: Connection, *, tenant_id: int = DEFAULT_TENANT) -> int:
    rows = await fetch(connection, statement("count_dead_letters"), tenant_id, COUNT_MAX)
    count: int = rows[0]["letters"]
    return count
