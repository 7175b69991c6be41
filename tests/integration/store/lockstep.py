"""Waiting for a connection to wait: races in lock step, without a clock."""

from __future__ import annotations

from mainspring.store.connection import Connection


async def until_waiting(observer: Connection, blocked: Connection) -> None:
    """Until `blocked` waits for a lock that another session holds."""
    process = blocked.get_server_pid()
    while not await observer.fetchval("select cardinality(pg_blocking_pids($1)) > 0", process):
        pass
