"""Run and task ids, reserved before they are used.

A caller that holds an id before it sends a run can repeat the sending: the id makes the second
one a no-op. Blocks come from a sequence, so a block has one owner whatever happens; what a
process does not use is left unused. So is what has lain here for ten minutes: ids go with time but
for that long, and who looks for the runs of some time finds them by their ids.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement

BLOCK_IDS = 100
"""As `increment by` of the sequence `id_block`."""

KEPT_SECONDS = 600.0
"""How old a reserved id may become before it is used."""

_TRIES_MAX = 100


class Ids:
    """Ids that this process owns. Not shared between processes; one task at a time."""

    def __init__(self) -> None:
        self._next = 0
        self._end = 0
        self._spare: deque[int] = deque()
        """Blocks, by their first ids, for when what is left of the current one is too little."""
        self._since = 0.0
        """When the oldest of these were reserved."""

    async def take(self, connection: Connection, count: int) -> int:
        """The first of `count` neighbouring ids."""
        self._drop_old(time.monotonic())
        while self._end - self._next < count:
            if count > BLOCK_IDS:
                self._next, self._end = await _reserve_neighbours(connection, count)
            else:
                if not self._spare:
                    self._spare.extend(await _reserve(connection, 1))
                self._open(self._spare.popleft())
        first = self._next
        self._next += count
        return first

    async def take_many(self, connection: Connection, counts: Sequence[int]) -> list[int]:
        """For each count the first of so many neighbouring ids; asks once for all small ones."""
        self._drop_old(time.monotonic())
        small = sum(count for count in counts if count <= BLOCK_IDS)
        missing = small - (self._end - self._next) - BLOCK_IDS * len(self._spare)
        if missing > 0:
            self._spare.extend(await _reserve(connection, -(-missing // BLOCK_IDS)))
        firsts = []
        for count in counts:
            if self._end - self._next < count:
                firsts.append(await self.take(connection, count))
            else:
                firsts.append(self._next)
                self._next += count
        return firsts

    def _drop_old(self, now: float) -> None:
        if now - self._since > KEPT_SECONDS:
            self._next = self._end = 0
            self._spare.clear()
        if self._next == self._end and not self._spare:
            self._since = now

    def _open(self, block: int) -> None:
        if block != self._end:
            self._next = block
        self._end = block + BLOCK_IDS


async def _reserve(connection: Connection, blocks: int) -> list[int]:
    rows = await fetch(connection, statement("reserve_ids"), blocks)
    return [row["first"] for row in rows]


async def _reserve_neighbours(connection: Connection, count: int) -> tuple[int, int]:
    blocks = -(-count // BLOCK_IDS)
    for _ in range(_TRIES_MAX):
        firsts = await _reserve(connection, blocks)
        # Another client may have taken a block in between; only large dags can meet that.
        if firsts[-1] - firsts[0] == (blocks - 1) * BLOCK_IDS:
            return firsts[0], firsts[-1] + BLOCK_IDS
    raise AssertionError(f"no {blocks} neighbouring blocks of ids in {_TRIES_MAX} tries")
