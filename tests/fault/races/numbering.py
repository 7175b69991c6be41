"""Ids of what schedules and backfills make, numbered like everything else in a world.

Whoever makes them takes ids from the database, by blocks, so two copies of a world would have other
numbers. While an arena is open these are taken from the ids of the turn that is played instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from unittest.mock import patch

from mainspring.store import backfilling, settling
from mainspring.store.connection import Connection
from mainspring.store.ids import Ids

Take = Callable[[int], int]
"""The first of so many neighbouring ids."""

TAKING: ContextVar[Take | None] = ContextVar("taking", default=None)
"""Set by whoever plays; each session has a context of its own."""


class _Numbered(Ids):
    async def take(self, connection: Connection, count: int) -> int:
        take = TAKING.get()
        return await super().take(connection, count) if take is None else take(count)


@contextmanager
def numbered() -> Iterator[None]:
    with patch.object(settling, "Ids", _Numbered), patch.object(backfilling, "Ids", _Numbered):
        yield
