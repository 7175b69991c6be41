"""Object stores by the name under which the database knows them.

The folder in the home has the name `home:`, so that a home may be moved with its database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from uuid import uuid4

from mainspring.objects import StoreFailed, check_url, from_url
from mainspring.plugins import ObjectStore

HOME = "home:"


class Places:
    def __init__(self, home: Path, *, open_url: Callable[[str], ObjectStore] = from_url) -> None:
        self._home = home
        self._open_url = open_url
        self._open: dict[str, ObjectStore] = {}

    def store(self, name: str) -> ObjectStore:
        if name not in self._open:
            url = (self._home / "objects").as_uri() if name == HOME else name
            self._open[name] = self._open_url(url)
        return self._open[name]

    async def read(self, name: str, key: str, start: int, end: int) -> bytes:
        return await self.store(name).get(key, start, end)

    async def probe(self, name: str) -> None:
        """Put, read and remove an object; raises what goes wrong."""
        store, key, word = self.store(name), f"probe/{uuid4().hex}", b"mainspring"
        await store.put(key, _once(word))
        try:
            if await store.get(key, 0, len(word)) != word:
                raise StoreFailed(f"the object store {name} gives other bytes than it was given")
        finally:
            await store.delete([key])


def check_place(name: str | None) -> None:
    """Raises InputError for what no object store can be made of."""
    if name is not None and name != HOME:
        check_url(name)


async def _once(piece: bytes) -> AsyncIterator[bytes]:
    yield piece
