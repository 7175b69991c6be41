"""Engines at work, and the shards of schedules that they look at first."""

from __future__ import annotations

from datetime import datetime

import msgspec

from mainspring.store.connection import Connection
from mainspring.store.reading import read_engine
from mainspring.store.schedule_reading import list_engines, list_shards


class Shard(msgspec.Struct, frozen=True):
    """A part of the schedules, and how far behind it is."""

    number: int
    due: int
    """Schedules whose fire is due."""
    lag_seconds: float


class Engine(msgspec.Struct, frozen=True):
    """An engine at work."""

    name: str
    started_at: datetime
    renewed_at: datetime
    silent_seconds: float
    leads: bool
    """It also does what one engine does for all: wake, reap, audit, archive."""
    shards: list[Shard]


async def told_engines(connection: Connection) -> list[Engine]:
    leader = await read_engine(connection)
    shards = await list_shards(connection)
    return [
        Engine(
            engine.name,
            engine.started_at,
            engine.renewed_at,
            engine.silent_seconds,
            leader.held and leader.name == engine.name,
            [
                Shard(shard.number, shard.due, shard.lag_seconds)
                for shard in shards
                if shard.holder == engine.id
            ],
        )
        for engine in await list_engines(connection)
    ]
