"""All pairs of operations, in every world where both have something to do, in some orders."""

from __future__ import annotations

import secrets
from random import Random

import pytest

from tests.fault.races.arena import Arena
from tests.fault.races.play import Limits, pairs_of, play_operations
from tests.fault.races.stepper import Ending
from tests.fault.races.worlds import WORLDS

pytestmark = [pytest.mark.fault, pytest.mark.asyncio(loop_scope="module")]

C, R, U = Ending.COMMIT, Ending.ROLL_BACK, Ending.UNKNOWN_COMMIT
KNOWN: Limits = {(C, C): 2, (C, U): 1}
"""How many orders of each, the same every time."""
OTHERS = [(C, C), (C, R), (R, C), (R, R), (U, C), (U, U)]
"""One of these more, by a fresh seed.

`python -m tests.fault.races --all` plays every order of every ending.
"""


@pytest.mark.parametrize("world", [name for name, spec in WORLDS.items() if spec.operations])
async def test_every_race_of_two_ends_as_if_one_had_come_after_the_other(
    arena: Arena, world: str
) -> None:
    fresh = secrets.randbelow(2**32)
    print(f"fresh orders by seed {fresh}")
    random = Random(fresh)
    for pair in pairs_of(world):
        report = await play_operations(arena, world, pair, endings=KNOWN)
        others: Limits = {random.choice(OTHERS): 1}
        report += await play_operations(arena, world, pair, endings=others, seed=fresh)
        report.check()
        assert report.counts.orders >= len(KNOWN) + len(others)
    await arena.check()
