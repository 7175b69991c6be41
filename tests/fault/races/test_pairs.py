"""All pairs of operations, in every world where both have something to do, in every order."""

from __future__ import annotations

import pytest

from tests.fault.races.arena import Arena
from tests.fault.races.play import Limits, pairs_of, play_operations
from tests.fault.races.stepper import Ending
from tests.fault.races.worlds import WORLDS

pytestmark = [pytest.mark.fault, pytest.mark.asyncio(loop_scope="module")]

C, R, U = Ending.COMMIT, Ending.ROLL_BACK, Ending.UNKNOWN_COMMIT
ENDINGS: Limits = {(C, C): 4, (C, R): 1, (R, C): 1, (R, R): 1, (C, U): 1, (U, C): 1, (U, U): 1}
"""How many orders of each; `python -m tests.fault.races --all` plays every one."""


@pytest.mark.parametrize("world", [name for name, spec in WORLDS.items() if spec.operations])
async def test_every_race_of_two_ends_as_if_one_had_come_after_the_other(
    arena: Arena, world: str
) -> None:
    for pair in pairs_of(world):
        report = await play_operations(arena, world, pair, endings=ENDINGS)
        report.check()
        assert report.counts.orders >= len(ENDINGS)
    await arena.check()
