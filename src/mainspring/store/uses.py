"""What attempts used of their machines. Beside everything else: it may be missing, and decides
nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import asyncpg

from mainspring.domain.uses import Use
from mainspring.store.connection import Connection, Line, fetch
from mainspring.store.statements import statement

_PAUSE_SECONDS = 0.2
_BATCH = 1_000

Used = tuple[int, int, Use]
"""Task, term, and what the attempt used."""


async def record_uses(connection: Connection, uses: Sequence[Used]) -> None:
    ordered = sorted({(task_id, term): use for task_id, term, use in uses}.items())
    await fetch(
        connection,
        statement("record_uses"),
        [task_id for (task_id, _), _ in ordered],
        [term for (_, term), _ in ordered],
        [use.cpu_seconds for _, use in ordered],
        [use.peak_bytes for _, use in ordered],
    )


async def read_uses(
    connection: Connection, first_task: int, count: int, *, limit: int
) -> Mapping[tuple[int, int], Use]:
    """Of tasks that follow one another; by task and term."""
    rows = await fetch(connection, statement("read_uses"), first_task, count, limit)
    return {_key(row): Use(row["cpu_seconds"], row["peak_bytes"]) for row in rows}


def _key(row: asyncpg.Record) -> tuple[int, int]:
    return row["task_id"], row["term"]


class Uses:
    """Writes down what ended attempts used, some at a time and soon: nobody waits for it."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._told: list[Used] = []
        self._wanted = asyncio.Event()

    def add(self, uses: Iterable[Used]) -> None:
        self._told += uses
        if self._told:
            self._wanted.set()

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            await self.flush()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def flush(self) -> None:
        self._wanted.clear()
        while self._told:
            batch, self._told = self._told[:_BATCH], self._told[_BATCH:]
            await self._line.call(record_uses, batch)
