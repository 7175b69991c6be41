"""Which engine looks first at which schedules: shards, shared fairly among the engines at work.

All engines fire, each for its own shards. An engine beats every 0.5 s for itself and for what it
holds. Who has watched a shard's beat stand still for a full lease of 2 s, on its own clock, takes
the shard over and raises its term; an engine with more than its fair share lets some go. Nothing
rests on this being exact: what a tick writes is guarded by itself, and a schedule that is overdue
by more than a second is anyone's (`due_schedules`). Shards only keep engines out of each
other's way.
"""

from __future__ import annotations

import asyncio
import math
import time
from uuid import UUID

import structlog

from mainspring.engine.shard import BEAT_SECONDS, LEASE_SECONDS
from mainspring.store.connection import Line
from mainspring.store.duties import free_shard, take_shard
from mainspring.store.shards import (
    SHARDS,
    ShardLine,
    beat_engine,
    forget_engine,
    read_engines,
    read_shards,
)

log = structlog.get_logger(__name__)

_FORGET_SECONDS = 60.0


class _Watched:
    """A beat, and since when it has not moved on our own connected clock."""

    def __init__(self) -> None:
        self.beat = -1
        self.since = 0.0

    def still_seconds(self, beat: int) -> float:
        if beat != self.beat:
            self.beat, self.since = beat, time.monotonic()
        return time.monotonic() - self.since


class Shards:
    def __init__(self, line: Line, engine: UUID, name: str) -> None:
        self._line = line
        self._engine = engine
        self._name = name
        self._terms: dict[int, int] = {}
        self._trusted_until = 0.0
        self._engines: dict[UUID, _Watched] = {}
        self._shards: dict[int, _Watched] = {}
        self._losses = 0

    def held(self) -> list[int]:
        """The shards that nobody else has taken yet, as far as we can know."""
        return sorted(self._terms) if time.monotonic() < self._trusted_until else []

    async def run(self) -> None:
        while True:
            await self.step()
            await asyncio.sleep(BEAT_SECONDS)

    async def step(self) -> None:
        sent_at = time.monotonic()
        held = await self._line.call(beat_engine, self._engine, self._name, self._terms)
        self._terms = {number: term for number, term in self._terms.items() if number in held}
        self._trusted_until = sent_at + LEASE_SECONDS
        if self._losses != self._line.broken:
            # Beats that we could not have seen do not count as standing still.
            self._losses = self._line.broken
            self._engines.clear()
            self._shards.clear()
        share = await self._fair_share()
        for shard in await self._line.call(read_shards):
            await self._look_at(shard, share)

    async def free(self) -> None:
        """At a clean stop: others need not wait."""
        for number, term in self._terms.items():
            await self._line.call(free_shard, number, self._engine, term)
        self._terms = {}
        await self._line.call(forget_engine, self._engine)

    async def _fair_share(self) -> int:
        alive = 0
        engines = await self._line.call(read_engines)
        for engine in engines:
            still = self._engines.setdefault(engine.id, _Watched()).still_seconds(engine.beat)
            alive += still <= LEASE_SECONDS
            if still > _FORGET_SECONDS:
                await self._line.call(forget_engine, engine.id, engine.beat)
        return math.ceil(SHARDS / max(alive, 1))

    async def _look_at(self, shard: ShardLine, share: int) -> None:
        still = self._shards.setdefault(shard.number, _Watched()).still_seconds(shard.beat)
        if shard.number in self._terms:
            if len(self._terms) > share:
                term = self._terms.pop(shard.number)
                await self._line.call(free_shard, shard.number, self._engine, term)
            return
        if len(self._terms) < share and (shard.holder is None or still > LEASE_SECONDS):
            term_taken = await self._line.call(
                take_shard, shard.number, self._engine, self._name, shard.beat
            )
            if term_taken is not None:
                self._terms[shard.number] = term_taken
