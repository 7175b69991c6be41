"""Where the server's processes are, if they are on this machine and can be seen."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from mainspring.bench import cpu
from mainspring.store.connection import Connection


async def find_server(url: str, connection: Connection) -> int | None:
    """PostgreSQL's first process; None if it runs elsewhere."""
    backend = await _find_backend(url, connection)
    if backend is None:
        return None
    try:
        fields = (Path("/proc") / str(backend) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1])


async def backend_seconds(url: str, connection: Connection) -> float | None:
    """CPU time of the server process behind this connection."""
    backend = await _find_backend(url, connection)
    process = None if backend is None else cpu.tree(backend).get(backend)
    return None if process is None else process.seconds


async def _find_backend(url: str, connection: Connection) -> int | None:
    if not cpu.KNOWN or not _is_here(url):
        return None
    pid: int = await connection.fetchval("select pg_backend_pid()")
    name: str = await connection.fetchval("select current_database()")
    try:
        folder = Path("/proc") / str(pid)
        title = (folder / "cmdline").read_text("utf-8", "replace")
        # A server in a container has numbers of its own, which mean other processes here.
        is_it = (folder / "comm").read_text().strip() == "postgres" and name in title
    except OSError:
        return None
    return pid if is_it else None


def _is_here(url: str) -> bool:
    parts = urlsplit(url)
    host = parts.hostname or parse_qs(parts.query).get("host", [os.environ.get("PGHOST", "")])[0]
    return host in ("", "localhost", "127.0.0.1", "::1") or host.startswith("/")
