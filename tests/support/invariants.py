"""The promises, asked of a database."""

from __future__ import annotations

from mainspring.store.connection import Connection, fetch
from mainspring.store.invariants import INVARIANTS, broken_promises

# All in one statement, since each test asks and most of the time would go into asking. Counted,
# not `exists`: that would be planned for the first row, of which a sound database has none.
_BROKEN = "\nunion all\n".join(
    f"select '{name}' as name from (\n{sql}\n) as broken having count(*) > 0"
    for name, sql in INVARIANTS.items()
)

ALONE = "max_parallel_workers_per_gather = 0"
"""Or tables with nothing in them, of whose size nothing is known, are read by three processes."""


async def violations(connection: Connection) -> dict[str, list[str]]:
    """What breaks a promise, by promise; empty in a sound database."""
    async with connection.transaction():
        await connection.execute(f"set local {ALONE}")
        broken = [row["name"] for row in await fetch(connection, _BROKEN)]
    if not broken:
        return {}
    rows = await broken_promises(connection)
    return {name: [str(dict(row)) for row in rows.get(name, ())] for name in broken}
