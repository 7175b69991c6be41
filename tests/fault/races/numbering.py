"""Ids of what schedules make, numbered like everything else in a world.

A settler takes its ids from the database, block by block, so two copies of a world would have other
numbers. While an arena is open it takes them from the ids of the turn that is played instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from unittest.mock import patch

from mainspring.store import settling
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
    with patch.object(settling, "Ids", _Numbered):
        yield
