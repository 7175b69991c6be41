"""Random mixes of many operations, from fixed seeds."""

from __future__ import annotations

import pytest

from tests.fault.races.arena import Arena
from tests.fault.races.mixes import play_mix

pytestmark = [pytest.mark.fault, pytest.mark.asyncio(loop_scope="module")]

MIXES = 300


async def test_random_mixes_break_no_promise_and_come_to_their_ends(arena: Arena) -> None:
    for seed in range(MIXES):
        failure = await play_mix(arena, seed)
        assert failure is None, str(failure)
    await arena.check()
    assert arena.counts.mixes == MIXES
    assert arena.counts.with_waiting > MIXES / 10
