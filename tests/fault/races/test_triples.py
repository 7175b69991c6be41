"""Three open transactions, for the triples that could trip over each other."""

from __future__ import annotations

import pytest

from tests.fault.races.arena import Arena
from tests.fault.races.play import Limits, play_operations
from tests.fault.races.stepper import Ending

pytestmark = [pytest.mark.fault, pytest.mark.asyncio(loop_scope="module")]

C, R, U = Ending.COMMIT, Ending.ROLL_BACK, Ending.UNKNOWN_COMMIT
ENDINGS: Limits = {
    (C, C, C): 10,
    (R, C, C): 3,
    (C, R, C): 3,
    (C, C, R): 3,
    (U, C, C): 4,
    (C, U, C): 4,
    (C, C, U): 4,
}
"""How many orders of each, drawn by a seed."""

TRIPLES = [
    ("claimed", ("claim B", "complete A", "reap A")),
    ("half a diamond", ("claim B", "complete A", "reap A")),
    ("half a diamond", ("complete A", "complete B", "cancel")),
    ("empty", ("enqueue", "enqueue", "enqueue")),
    ("empty", ("enqueue two", "enqueue", "enqueue otherwise")),
    ("claimed", ("claim B", "cancel", "drain A")),
    ("claimed", ("renew A", "reap A", "complete A")),
    ("half a diamond", ("renew A forgetfully", "reap A", "complete A")),
    ("two queued", ("claim one A", "claim B", "cancel")),
    ("delayed and resting", ("wake", "wake starts", "cancel")),
    ("resting", ("wake", "cancel", "reopen")),
    ("claimed", ("cancel", "complete A", "reopen")),
    ("stopped diamond", ("complete A", "complete B", "reopen")),
    ("succeeded", ("archive", "complete A", "enqueue the kept key")),
    ("archived", ("reopen", "reopen", "forget")),
]


@pytest.mark.parametrize(
    ("world", "operations"), TRIPLES, ids=[f"{world}: {', '.join(ops)}" for world, ops in TRIPLES]
)
async def test_every_race_of_three_ends_as_if_they_had_come_one_after_another(
    arena: Arena, world: str, operations: tuple[str, ...]
) -> None:
    report = await play_operations(arena, world, operations, endings=ENDINGS)
    report.check()
    await arena.check()
    assert report.counts.orders >= len(ENDINGS)
