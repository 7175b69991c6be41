"""Finished runs that are stored at once and not one by one: for benchmarks and the demo.

Whoever fills history reserves ids for it, writes the rows, has them counted in the statistics, and
leaves the tables as a system would that has run for long.
"""

from __future__ import annotations

from datetime import datetime

from mainspring.store.connection import Connection, fetch
from mainspring.store.ids import BLOCK_IDS
from mainspring.store.rollups import Width
from mainspring.store.statements import statement


async def reserve_stretch(connection: Connection, count: int) -> int:
    """The first of `count` neighbouring ids; nobody else gets any of them."""
    ids = -(-count // BLOCK_IDS) * BLOCK_IDS
    first: int = await connection.fetchval(
        "select setval('mainspring.id_block', nextval('mainspring.id_block') + $1::bigint) - $1",
        ids,
    )
    return first


async def count_history(connection: Connection, first: int, until: int, now: datetime) -> None:
    """Add these runs of history to the rollups, each in a stretch of the width for its age."""
    minutes = Width.HOUR.begin(now - Width.MINUTE.kept)
    hours = Width.DAY.begin(now - Width.HOUR.kept)
    await fetch(connection, statement("count_history"), first, until, minutes, hours)


async def settle_history(connection: Connection) -> None:
    """What autovacuum would have done by now."""
    for table in ("run_history", "task_history"):
        await connection.execute(f"vacuum (analyze, freeze) mainspring.{table}")
