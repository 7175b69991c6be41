"""Waiting for runs to end and for logs to grow, for any number of callers at once.

Callers hold no connection while they wait. One watcher asks, in one statement for all of them and
only while somebody waits, whether what they wait for has come. So a thousand callers cost about as
much as one, and a caller hears of an end within a tenth of a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Annotated, Any, Generic, TypeVar

from msgspec import Meta

from mainspring.domain.errors import MainspringError

_K = TypeVar("_K", bound=Hashable)

WAIT_SECONDS_MAX = 30
POLL_SECONDS = 0.1
_REST_SECONDS = 1.0
"""After a question that could not be answered."""

Wait = Annotated[
    float,
    Meta(
        ge=0, le=WAIT_SECONDS_MAX, description="Answer when it has come, or after so many seconds."
    ),
]


class Watcher(Generic[_K]):
    """`find` says, of all that is waited for, what has come."""

    def __init__(self, find: Callable[[Sequence[_K]], Awaitable[Sequence[_K]]]) -> None:
        self._find = find
        self._waiting: dict[_K, set[asyncio.Future[None]]] = {}
        self._task: asyncio.Task[None] | None = None
        self._released = False

    async def wait(self, what: _K, seconds: float) -> bool:
        """Until it has come, or the time is over: then False."""
        if self._released:
            return False
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(what, set()).add(future)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        done, _ = await asyncio.wait([future], timeout=seconds)
        waiting = self._waiting.get(what, set())
        waiting.discard(future)
        if not waiting:
            self._waiting.pop(what, None)
        return bool(done)

    def release(self) -> None:
        """Answer all who wait with how it stands now: the server stops."""
        self._released = True
        for future in [each for waiting in self._waiting.values() for each in waiting]:
            if not future.done():
                future.set_result(None)

    async def close(self) -> None:
        self.release()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _watch(self) -> None:
        while self._waiting:
            rest = POLL_SECONDS
            try:
                for what in await self._find(list(self._waiting)):
                    for future in self._waiting.get(what, ()):
                        if not future.done():
                            future.set_result(None)
            except MainspringError as error:
                # Whoever waits asks for itself in the end, and is told then.
                _log().warning("cannot look for what callers wait for", reason=str(error))
                rest = _REST_SECONDS
            await asyncio.sleep(rest)


def _log() -> Any:
    # Commands, which log nothing, are not kept waiting for it.
    import structlog

    return structlog.get_logger(__name__)
