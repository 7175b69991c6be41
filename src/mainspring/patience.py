"""Waiting for something, but not for ever.

`asyncio.wait_for` is banned in this package: before Python 3.12 a cancellation that comes in the
same moment as what was waited for is lost, and a loop that was to end goes on for ever.
"""

from __future__ import annotations

import asyncio


async def set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait until the event is set, no longer than that; whether it is."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True
