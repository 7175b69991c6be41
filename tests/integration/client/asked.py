"""Questions to the database, asked from outside of the client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from mainspring.store.connection import Connection, fetch


async def runs(connection: Connection) -> list[int]:
    rows = await fetch(connection, "select id from mainspring.run order by id")
    return [row["id"] for row in rows]


async def parameters(connection: Connection, run_id: int) -> Any:
    """As a worker reads them."""
    rows = await fetch(
        connection,
        "select coalesce(p.content, r.parameters, '{}') as json from mainspring.run r"
        " left join mainspring.payload p on p.owner_id = r.id and p.kind = 'parameters'"
        " where r.id = $1",
        run_id,
    )
    return msgspec.json.decode(rows[0]["json"])


async def count(connection: Connection, table: str) -> int:
    rows = await fetch(connection, f"select count(*) as rows from mainspring.{table}")
    rows_in_it: int = rows[0]["rows"]
    return rows_in_it


async def until(asked: Callable[[], Awaitable[object]]) -> None:
    while not await asked():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def someone_waits(connection: Connection) -> bool:
    """Whether some backend waits for another's transaction."""
    rows = await fetch(
        connection,
        "select 1 from pg_stat_activity where wait_event_type = 'Lock'"
        " and datname = current_database()",
    )
    return bool(rows)
