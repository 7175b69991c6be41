"""Values that are too large for the rows of the hot path."""

from __future__ import annotations

from collections.abc import Sequence

from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement


async def read_results(connection: Connection, task_ids: Sequence[int]) -> dict[int, bytes | None]:
    """JSON of each task's result; None is JSON's null."""
    rows = await fetch(connection, statement("read_results"), list(task_ids))
    return {row["id"]: row["result"] for row in rows}


async def read_parameters(connection: Connection, run_ids: Sequence[int]) -> dict[int, bytes]:
    """JSON of the large parameters of these runs."""
    rows = await fetch(connection, statement("read_parameters"), list(run_ids))
    return {row["id"]: row["content"] for row in rows}
