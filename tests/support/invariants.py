"""The promises, asked of a database."""

from __future__ import annotations

from mainspring.store.connection import Connection
from mainspring.store.invariants import broken_promises


async def violations(connection: Connection) -> dict[str, list[str]]:
    """What breaks a promise, by promise; empty in a sound database."""
    return {
        name: [str(dict(row)) for row in rows]
        for name, rows in (await broken_promises(connection)).items()
    }
