"""Tasks that use a known part of their machine."""

import asyncio
import time

from mainspring import task

LASTING_SECONDS = 0.15


@task
def burn(megabytes: int) -> float:
    """Holds so much memory, and computes for a while; says for how long."""
    held = bytearray(megabytes << 20)
    held[::4096] = b"x" * len(held[::4096])
    begun = time.process_time()
    while time.process_time() - begun < LASTING_SECONDS:
        pass
    return time.process_time() - begun


@task
async def burn_async() -> None:
    await asyncio.sleep(LASTING_SECONDS)
