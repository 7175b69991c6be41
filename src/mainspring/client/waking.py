"""Wake-ups after commits: collected, at most one per 5 ms, and nobody waits for them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable

from mainspring.client.link import Link
from mainspring.domain.errors import MainspringError
from mainspring.store.wakeups import notify_ready

_PAUSE_SECONDS = 0.005
_FAREWELL_SECONDS = 1.0


class Waker:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._lanes: set[int] = set()
        self._sending: asyncio.Task[None] | None = None

    def wake(self, lanes: Iterable[int]) -> None:
        """Tell the workers of these lanes, now or within 5 ms."""
        self._lanes.update(lanes)
        if self._lanes and self._sending is None:
            self._sending = asyncio.create_task(self._send())

    async def close(self) -> None:
        """Send what is left; who misses it finds the work by polling."""
        if self._sending is None:
            return
        if self._lanes:
            await asyncio.wait([self._sending], timeout=_FAREWELL_SECONDS)
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self) -> None:
        try:
            while self._lanes:
                lanes, self._lanes = self._lanes, set()
                with contextlib.suppress(MainspringError):
                    await self._link.ask(notify_ready, lanes)
                await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            self._sending = None
