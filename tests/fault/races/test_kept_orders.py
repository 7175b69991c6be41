"""Orders that once failed, as they printed themselves; and some that are worth keeping.

Each test is what a failing race prints: paste it here before you mend the cause.
"""

from __future__ import annotations

import pytest

from tests.fault.races.arena import Arena
from tests.fault.races.mixes import replay_mix
from tests.fault.races.play import replay

pytestmark = [pytest.mark.fault, pytest.mark.asyncio(loop_scope="module")]


async def test_complete_a_and_reap_a_in_claimed(arena: Arena) -> None:
    """A reaper waits for a completion whose answer is lost, and takes nothing."""
    await replay(
        arena,
        world="claimed",
        operations=("complete A", "reap A"),
        endings=("unknown commit", "commit"),
        order="1 2 1 1 2 2 2 2 2 1 1 1",
    )


async def test_wake_and_cancel_in_delayed_and_resting(arena: Arena) -> None:
    """DeadlockDetectedError: both kinds of timers were woken in one transaction"""
    await replay(
        arena,
        world="delayed and resting",
        operations=("wake", "cancel"),
        endings=("commit", "commit"),
        order="2 1 2 1 2 2",
    )


async def test_enqueue_the_kept_key_and_forget_in_succeeded(arena: Arena) -> None:
    """KeyError: the key was let go between the look that found it and the one that read it"""
    await replay(
        arena,
        world="succeeded",
        operations=("enqueue the kept key", "forget"),
        endings=("commit", "commit"),
        order="1 2 2 2 2 2 1 1 1",
    )


async def test_the_mix_of_seed_2265000739(arena: Arena) -> None:
    """A report that is repeated is the same report, though more has come to the worker's hand."""
    await replay_mix(arena, seed=2265000739, by_hand=False)


async def test_the_mix_of_seed_4226746993(arena: Arena) -> None:
    """A claim that waits for its lease holds no rows of ready, for which a stop would wait."""
    await replay_mix(arena, seed=4226746993, by_hand=False)
