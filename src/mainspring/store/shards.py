"""Engines at work, and the shards of schedules that they share. Thin calls of `schedules.sql`."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from uuid import UUID

import msgspec

from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement

SHARDS = 16
"""As many as `0002_schedules.before.sql` makes, numbered from 1."""

ALL_SHARDS = range(1, SHARDS + 1)


class EngineBeat(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    beat: int


class ShardLine(msgspec.Struct, frozen=True):
    number: int
    holder: UUID | None
    term: int
    beat: int


def shard_of(schedule_name: str) -> int:
    """Spread evenly, and the same for ever."""
    return zlib.crc32(schedule_name.encode()) % SHARDS + 1


async def beat_engine(
    connection: Connection, engine: UUID, name: str, terms: Mapping[int, int]
) -> set[int]:
    """One beat; says which of the shards are still held."""
    rows = await fetch(
        connection, statement("beat_engine"), engine, name, list(terms), list(terms.values())
    )
    return {row["number"] for row in rows}


async def read_engines(connection: Connection) -> list[EngineBeat]:
    rows = await fetch(connection, statement("read_engines"))
    return [EngineBeat(row["id"], row["name"], row["beat"]) for row in rows]


async def read_shards(connection: Connection) -> list[ShardLine]:
    rows = await fetch(connection, statement("read_shards"))
    return [ShardLine(*row.values()) for row in rows]


async def forget_engine(connection: Connection, engine: UUID, beat: int | None = None) -> None:
    """One that stopped, or was not heard of since `beat`."""
    await fetch(connection, statement("forget_engine"), engine, beat)
