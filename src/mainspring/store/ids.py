"""Run and task ids, reserved before they are used.

A caller that holds an id before it sends a run can repeat the sending: the id makes the second
one a no-op. Blocks come from a sequence, so a block has one owner whatever happens; what a
process does not use is left unused.
"""

from __future__ import annotations

from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement

BLOCK_IDS = 100
"""As `increment by` of the sequence `id_block`."""

_TRIES_MAX = 100


class Ids:
    """Ids that this process owns. Not shared between processes; one task at a time."""

    def __init__(self) -> None:
        self._next = 0
        self._end = 0

    async def take(self, connection: Connection, count: int) -> int:
        """The first of `count` neighbouring ids."""
        if self._end - self._next < count:
            self._next, self._end = await _reserve(connection, count)
        first = self._next
        self._next += count
        return first


async def _reserve(connection: Connection, count: int) -> tuple[int, int]:
    blocks = -(-count // BLOCK_IDS)
    for _ in range(_TRIES_MAX):
        rows = await fetch(connection, statement("reserve_ids"), blocks)
        firsts = [row["first"] for row in rows]
        # Another client may have taken a block in between; only large dags can meet that.
        if firsts[-1] - firsts[0] == (blocks - 1) * BLOCK_IDS:
            return firsts[0], firsts[-1] + BLOCK_IDS
    raise AssertionError(f"no {blocks} neighbouring blocks of ids in {_TRIES_MAX} tries")
