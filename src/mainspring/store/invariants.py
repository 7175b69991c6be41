"""The promises of `sql/invariants.sql`, asked of a database."""

from __future__ import annotations

import asyncpg

from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statements_of

INVARIANTS = statements_of("invariants")


async def broken_promises(connection: Connection) -> dict[str, list[asyncpg.Record]]:
    """The rows that break each promise; a sound database has none.

    One snapshot for all: a promise that spans two queries is asked of one moment.
    """
    broken = {}
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        for name, sql in INVARIANTS.items():
            if rows := await fetch(connection, sql):
                broken[name] = rows
    return broken
