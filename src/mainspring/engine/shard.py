"""The engine's lease on the shard: who runs the duties.

The holder beats every 0.5 s. Another engine takes over when it has watched the same beat for a
full lease of 2 s on its own monotonic clock, and not before; taking raises the shard's term. A
holder stops trusting itself when its last beat was *sent* more than a lease minus a margin ago,
so it is silent before anyone else can begin. Leadership only saves work: what the duties write
is guarded by itself.
"""

from __future__ import annotations

import asyncio
import time
from uuid import UUID

import structlog

from mainspring.store.connection import Line
from mainspring.store.duties import free_shard, read_shard, renew_shard, take_shard

log = structlog.get_logger(__name__)

LEASE_SECONDS = 2.0
BEAT_SECONDS = 0.5
MARGIN_SECONDS = 0.5


class ShardLease:
    def __init__(self, line: Line, holder: UUID, name: str, number: int = 0) -> None:
        self._line = line
        self._holder = holder
        self._name = name
        self._number = number
        self._term: int | None = None
        self._sent_at = 0.0

    async def until_distrusted(self) -> None:
        """Returns when the last beat is so old that somebody else may soon take over."""
        while True:
            trusted_seconds = self._sent_at + LEASE_SECONDS - MARGIN_SECONDS - time.monotonic()
            if trusted_seconds <= 0:
                return
            await asyncio.sleep(trusted_seconds)

    async def acquire(self) -> None:
        """Wait until the shard is ours."""
        seen_beat, since, losses = -1, 0.0, -1
        while True:
            shard = await self._line.call(read_shard, self._number)
            moved = shard.beat != seen_beat or losses != self._line.broken
            if moved:
                seen_beat, since, losses = shard.beat, time.monotonic(), self._line.broken
            if shard.holder is None or time.monotonic() - since > LEASE_SECONDS:
                self._sent_at = time.monotonic()
                self._term = await self._line.call(
                    take_shard, self._number, self._holder, self._name, shard.beat
                )
                if self._term is not None:
                    return
            await asyncio.sleep(BEAT_SECONDS)

    async def keep(self) -> None:
        """Beat until the shard is lost."""
        assert self._term is not None
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            sent_at = time.monotonic()
            if not await self._line.call(renew_shard, self._number, self._holder, self._term):
                self._term = None
                log.warning("shard lost to another engine")
                return
            self._sent_at = sent_at

    async def free(self) -> None:
        if self._term is not None:
            await self._line.call(free_shard, self._number, self._holder, self._term)
            self._term = None
