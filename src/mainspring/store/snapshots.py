"""The content of snapshots: kept when a folder is read, fetched by workers that lack it.

What is large is an object, and the database knows which.

It is kept as long as somebody could run it: a dag now, a run that is open or in history, or one of
the last versions of a dag after a rollback. The row of a snapshot outlives its content, since runs
show its digest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

import msgspec

from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import ensure_snapshot
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.statements import statement

_P = ParamSpec("_P")
_T = TypeVar("_T")

VERSIONS_KEPT = 10
"""So many versions of each dag, the newest, keep their code for a rollback."""
UNUSED_KEPT = timedelta(hours=1)
"""Whoever has just read which snapshot a dag uses may still make a run of it."""
PIECE_BYTES = 1024 * 1024

ReadObject: TypeAlias = Callable[[str, str, int, int], Awaitable[bytes]]
"""Some bytes of an object: its store, its key, from where on, and until where."""


class Located(msgspec.Struct, frozen=True):
    """How long the content of a snapshot is, and which object it is, if it is one."""

    bytes: int
    store: str | None
    key: str | None


async def snapshot_is_kept(
    connection: Connection, digest: str, *, tenant_id: int = DEFAULT_TENANT
) -> bool:
    """Whether the content is there; if it is, it stays for as long as a registration may take."""
    snapshot_id = await ensure_snapshot(connection, digest, tenant_id=tenant_id)
    rows = await fetch(connection, statement("has_snapshot_content"), snapshot_id)
    kept: bool = rows[0]["kept"]
    return kept


async def keep_snapshot(
    connection: Connection, digest: str, content: bytes, *, tenant_id: int = DEFAULT_TENANT
) -> None:
    """Store the packed files of a snapshot, once; to be called before anybody is told of it."""
    snapshot_id = await ensure_snapshot(connection, digest, tenant_id=tenant_id)
    await fetch(connection, statement("keep_snapshot_content"), snapshot_id, content)


async def keep_snapshot_object(
    connection: Connection,
    digest: str,
    store_id: int,
    key: str,
    bytes_: int,
    *,
    tenant_id: int = DEFAULT_TENANT,
) -> bool:
    """Let an object, which was put as intended, be the content; False if it may not."""
    snapshot_id = await ensure_snapshot(connection, digest, tenant_id=tenant_id)
    sql = statement("keep_snapshot_object")
    return bool(await fetch(connection, sql, snapshot_id, store_id, key, bytes_))


class Ask(Protocol):
    """`function(connection, …)` over some connection."""

    async def __call__(
        self,
        function: Callable[Concatenate[Connection, _P], Awaitable[_T]],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T: ...


async def fetch_snapshot(ask: Ask, snapshot_id: int, read_object: ReadObject) -> bytes | None:
    """The packed files of a snapshot; None if they are not kept.

    In pieces, so that whoever shares the connection waits for one of them and not for all.
    """
    located = await ask(_locate, snapshot_id)
    if located is None:
        return None
    content = bytearray()
    while len(content) < located.bytes:
        start = len(content)
        if located.store is None or located.key is None:
            piece = await ask(_piece, snapshot_id, start)
        else:
            end = min(start + PIECE_BYTES, located.bytes)
            piece = await read_object(located.store, located.key, start, end)
        if not piece:
            return None  # forgotten meanwhile
        content += piece
    return bytes(content)


async def forget_snapshots(connection: Connection, unused_since: datetime, limit: int) -> int:
    """Let go of contents that nobody can run any more; says how many."""
    rows = await fetch(
        connection, statement("forget_snapshots"), unused_since, VERSIONS_KEPT, limit
    )
    return len(rows)


async def _locate(connection: Connection, snapshot_id: int) -> Located | None:
    rows = await fetch(connection, statement("locate_snapshot"), snapshot_id)
    return Located(**rows[0]) if rows else None


async def _piece(connection: Connection, snapshot_id: int, start: int) -> bytes | None:
    rows = await fetch(
        connection, statement("read_snapshot_piece"), snapshot_id, start, PIECE_BYTES
    )
    return rows[0]["piece"] if rows else None
