"""Notices of ended runs that are still to be told. Thin calls of `duties.sql`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mainspring.domain.notices import Notice
from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement

ATTEMPTS_MAX = 12
"""The rests between them double from 10 s up to an hour: about five hours in all."""


class Due(msgspec.Struct, frozen=True):
    id: int
    target: str
    attempt: int
    notice: Notice


async def take_notices(connection: Connection, limit: int) -> list[Due]:
    """Those that are due; each is due again later, unless it is forgotten before."""
    rows = await fetch(connection, statement("take_notices"), limit)
    return [
        Due(
            row["id"],
            row["target"],
            row["attempts"],
            msgspec.json.decode(row["content"], type=Notice),
        )
        for row in rows
    ]


async def forget_notices(connection: Connection, ids: Sequence[int]) -> None:
    await fetch(connection, statement("forget_notices"), list(ids))
