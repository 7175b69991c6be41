"""Ships what attempts print to the database, in chunks, while they run.

Everything that has come together is written every half second, or as soon as one attempt has
256 kB: many short logs in one statement, a long one in many. A task that prints faster than the
database takes it in is held back: its host is not read from until the rest is written, and the
task blocks in `print`. So memory stays bounded, for one attempt and for all together, and nothing
is dropped.

When this process is killed, what an attempt printed in the last second is lost: 0.2 s in its host,
0.5 s here, and what a statement takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from mainspring.patience import set_within

_FLUSH_SECONDS = 0.5
_CHUNK_BYTES = 256 * 1024
_STATEMENT_BYTES = 1024 * 1024
_STATEMENT_CHUNKS = 1000
_HELD_BYTES_MAX = 4 * 1024 * 1024
_ALL_HELD_BYTES_MAX = 64 * 1024 * 1024

Key = tuple[int, int]
"""(task, term)"""
Chunk = tuple[int, int, int, bytes]
"""(task, term, start, content)"""


class Logs:
    def __init__(
        self,
        append: Callable[[Sequence[Chunk]], Awaitable[None]],
        *,
        hold: Callable[[int, int], None],
        release: Callable[[int, int], None],
    ) -> None:
        self._append = append
        self._hold = hold
        self._release = release
        self._held: set[Key] = set()
        self._pending: dict[Key, bytearray] = {}
        self._pending_bytes = 0
        self._cut: set[Key] = set()
        self._written: dict[Key, int] = {}
        """How many bytes of each log have been put into chunks."""
        self._writing = asyncio.Lock()
        self._under_way: set[Key] = set()
        self._full = asyncio.Event()

    def add(self, task_id: int, term: int, data: bytes) -> None:
        key = (task_id, term)
        buffer = self._pending.setdefault(key, bytearray())
        buffer += data
        self._pending_bytes += len(data)
        crowded = self._pending_bytes >= _ALL_HELD_BYTES_MAX
        if len(buffer) >= _CHUNK_BYTES or crowded:
            self._full.set()
        if (len(buffer) >= _HELD_BYTES_MAX or crowded) and key not in self._held:
            self._held.add(key)
            self._hold(task_id, term)

    def cut(self, task_id: int, term: int) -> None:
        """What it printed last has not come here: its log says so at its end."""
        self._cut.add((task_id, term))
        self._pending.setdefault((task_id, term), bytearray())

    async def run(self) -> None:
        while True:
            await set_within(self._full, _FLUSH_SECONDS)
            self._full.clear()
            await self.flush(list(self._pending))

    async def flush(self, keys: Iterable[Key]) -> None:
        """Write what is pending for these; returns when it is in the database."""
        async with self._writing:
            batch: list[Chunk] = []
            size = 0
            for chunk in self._chunks(keys):
                batch.append(chunk)
                size += len(chunk[3])
                if size >= _STATEMENT_BYTES or len(batch) == _STATEMENT_CHUNKS:
                    await self._write(batch, size)
                    batch, size = [], 0
            await self._write(batch, size)
            for key in self._held & self._under_way:
                self._held.discard(key)
                self._release(*key)
            self._under_way.clear()

    def pending(self, key: Key) -> bool:
        """Whether something of it is not in the database yet; `flush` then waits until it is."""
        return key in self._pending or key in self._under_way

    def forget(self, key: Key) -> None:
        self._written.pop(key, None)

    def _chunks(self, keys: Iterable[Key]) -> Iterator[Chunk]:
        """What is pending, taken out of the buffers piece by piece."""
        for key in keys:
            if (buffer := self._pending.pop(key, None)) is None:
                continue
            self._under_way.add(key)
            start = self._written.get(key, 0)
            self._written[key] = start + len(buffer)
            for begin in range(0, len(buffer), _CHUNK_BYTES):
                yield (*key, start + begin, bytes(buffer[begin : begin + _CHUNK_BYTES]))
            if key in self._cut:
                self._cut.discard(key)
                yield (*key, start + len(buffer), b"")

    async def _write(self, batch: list[Chunk], size: int) -> None:
        if batch:
            await self._append(batch)
            self._pending_bytes -= size
