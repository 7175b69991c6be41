"""What has changed since somebody last looked. Thin calls of `changes.sql`.

A moment is what the database could see at one instant, as text. As long as it stays the same,
nothing has been written; a row that one moment does not see, and the next one does, was written
between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from mainspring.store.connection import Connection, fetch
from mainspring.store.reading import RunLine, run_line
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement

ROWS_MAX = 5_000
"""So many rows of each table are looked at for runs that have changed."""


class Changed(msgspec.Struct, frozen=True):
    """Runs that have changed up to a moment."""

    moment: str
    ids: list[int]
    more: bool = False
    """Whether there are more than were looked at."""


async def read_moment(connection: Connection) -> str:
    moment: str = (await fetch(connection, statement("read_moment")))[0]["snapshot"]
    return moment


async def changed_runs(connection: Connection, since: str, *, rows: int = ROWS_MAX) -> Changed:
    """Open runs, and those that closed a few seconds ago."""
    row = (await fetch(connection, statement("changed_runs"), since, rows))[0]
    return Changed(row["snapshot"], row["ids"], more=row["rows"] >= rows)


async def touched_runs(connection: Connection, since: str, tasks_of: Mapping[int, int]) -> Changed:
    """Which of these runs, given with the numbers of their tasks; some may be told in vain."""
    ids, tasks = list(tasks_of), list(tasks_of.values())
    row = (await fetch(connection, statement("touched_runs"), since, ids, tasks))[0]
    return Changed(row["snapshot"], row["ids"])


async def read_runs(
    connection: Connection, ids: Sequence[int], *, tenant_id: int = DEFAULT_TENANT
) -> list[RunLine]:
    """Those that are there, in no order."""
    rows = await fetch(connection, statement("read_runs"), tenant_id, list(ids))
    return [run_line(row) for row in rows]


async def void_tokens(connection: Connection, ids: Sequence[int]) -> list[int]:
    """Which of these tokens count no more."""
    return [row["id"] for row in await fetch(connection, statement("void_tokens"), list(ids))]
