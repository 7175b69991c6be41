"""Ships what attempts print to the database, in chunks, while they run.

A chunk is written every half second, or as soon as 256 kB have come together. A task that
prints faster than the database takes it in is held back: its host is not read from until the
rest is written, and the task blocks in `print`. So memory stays bounded and nothing is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from mainspring.store.attempts import append_log
from mainspring.store.connection import Line

_FLUSH_SECONDS = 0.5
_CHUNK_BYTES = 256 * 1024
_HELD_BYTES_MAX = 4 * 1024 * 1024

Key = tuple[int, int]
"""(task, term)"""


class Logs:
    def __init__(
        self, line: Line, *, hold: Callable[[int, int], None], release: Callable[[int, int], None]
    ) -> None:
        self._line = line
        self._hold = hold
        self._release = release
        self._held: set[Key] = set()
        self._pending: dict[Key, bytearray] = {}
        self._numbers: dict[Key, int] = {}
        self._writing = asyncio.Lock()
        self._under_way: Key | None = None
        self._full = asyncio.Event()

    def add(self, task_id: int, term: int, data: bytes) -> None:
        buffer = self._pending.setdefault((task_id, term), bytearray())
        buffer += data
        if len(buffer) >= _CHUNK_BYTES:
            self._full.set()
        if len(buffer) >= _HELD_BYTES_MAX and (task_id, term) not in self._held:
            self._held.add((task_id, term))
            self._hold(task_id, term)

    async def run(self) -> None:
        while True:
            try:
                await asyncio.wait_for(self._full.wait(), _FLUSH_SECONDS)
            except TimeoutError:
                pass
            self._full.clear()
            await self.flush(list(self._pending))

    async def flush(self, keys: Iterable[Key]) -> None:
        """Write what is pending for these; returns when it is in the database."""
        async with self._writing:
            for key in keys:
                while buffer := self._pending.pop(key, None):
                    self._under_way = key
                    await self._write(key, bytes(buffer))
                    self._under_way = None
                    if key in self._held:
                        self._held.discard(key)
                        self._release(*key)

    def pending(self, key: Key) -> bool:
        """Whether something of it is not in the database yet; `flush` then waits until it is."""
        return key in self._pending or key == self._under_way

    def forget(self, key: Key) -> None:
        self._numbers.pop(key, None)

    async def _write(self, key: Key, content: bytes) -> None:
        for start in range(0, len(content), _CHUNK_BYTES):
            number = self._numbers.get(key, 0)
            self._numbers[key] = number + 1
            chunk = (*key, number, content[start : start + _CHUNK_BYTES])
            await self._line.call(append_log, [chunk])
