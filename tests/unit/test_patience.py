"""Whoever waits with patience ends when it is told to, in whatever moment that is."""

from __future__ import annotations

import asyncio

import pytest

from mainspring.patience import set_within

_TICKS = 10
"""More turns of the loop than anything here takes."""


@pytest.mark.parametrize("later", range(_TICKS))
async def test_a_loop_ends_that_is_cancelled_just_as_it_is_woken(later: int) -> None:
    event = asyncio.Event()

    async def loop() -> None:
        while True:
            await set_within(event, 3600)
            event.clear()

    looping = asyncio.create_task(loop())
    await _turns(_TICKS)
    event.set()
    await _turns(later)
    looping.cancel()
    await _turns(_TICKS)
    assert looping.cancelled()


async def test_who_waits_is_told_whether_it_came() -> None:
    event = asyncio.Event()
    assert not await set_within(event, 0)
    asyncio.get_running_loop().call_soon(event.set)
    assert await set_within(event, 3600)
    assert await set_within(event, -1)


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
