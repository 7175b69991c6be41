"""Who asks the same at the same time gets the same reading.

A page that a hundred people look at is read and encoded once for all who wait for it. Nobody gets
less than a reading of their own would give: an answer is always of a reading that began after the
request had come. So who finds one under way does not join it, but waits for the next, together with
all others who came meanwhile. At most one reading of each kind is under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

_T = TypeVar("_T")
Read = Callable[[], Awaitable[_T]]


class Sharing(Generic[_T]):
    def __init__(self) -> None:
        self._under_way: dict[Hashable, asyncio.Task[_T]] = {}
        self._to_come: dict[Hashable, asyncio.Task[_T]] = {}

    async def share(self, what: Hashable, read: Read[_T]) -> _T:
        """What `read` gives, or what it gave to somebody who asked for the same."""
        before = self._under_way.get(what)
        if before is None:
            task = self._under_way[what] = asyncio.create_task(self._go(what, read))
        else:
            task = self._to_come.get(what) or self._follow(what, before, read)
        # Who goes away must not take the answer from the others.
        return await asyncio.shield(task)

    def _follow(self, what: Hashable, before: asyncio.Task[_T], read: Read[_T]) -> asyncio.Task[_T]:
        async def follow() -> _T:
            await asyncio.wait([before])
            # From here on it is under way, and whoever comes now waits for another.
            self._under_way[what] = self._to_come.pop(what)
            return await self._go(what, read)

        task = self._to_come[what] = asyncio.create_task(follow())
        return task

    async def _go(self, what: Hashable, read: Read[_T]) -> _T:
        try:
            return await read()
        finally:
            # One that follows takes its place itself.
            if what not in self._to_come:
                del self._under_way[what]
