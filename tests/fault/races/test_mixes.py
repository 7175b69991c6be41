"""Random mixes of many operations, from known seeds and fresh ones."""

from __future__ import annotations

import secrets

import pytest

from tests.fault.races.arena import Arena
from tests.fault.races.mixes import play_mix

pytestmark = [pytest.mark.fault, pytest.mark.asyncio(loop_scope="module")]

MIXES = 100


@pytest.mark.parametrize("first", [0, None], ids=["known", "fresh"])
async def test_random_mixes_break_no_promise_and_come_to_their_ends(
    arena: Arena, first: int | None
) -> None:
    if first is None:
        first = secrets.randbelow(2**32)
        print(f"fresh mixes from seed {first}")
    for seed in range(first, first + MIXES):
        failure = await play_mix(arena, seed)
        assert failure is None, str(failure)
    await arena.check()
    assert arena.counts.mixes == MIXES
    assert arena.counts.with_waiting > MIXES / 10
