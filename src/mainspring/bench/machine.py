"""Where it was measured: the machine, the versions and the server's settings."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mainspring.store.connection import Connection, fetch

_SETTINGS = (
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_level",
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
    "autovacuum_naptime",
    "max_connections",
    "data_checksums",
    "jit",
)


async def describe_machine(
    connection: Connection, *, embedded: bool, folder: Path
) -> dict[str, Any]:
    rows = await fetch(
        connection,
        "select name, current_setting(name) as value from pg_settings where name = any($1::text[])",
        list(_SETTINGS),
    )
    values = {row["name"]: row["value"] for row in rows}
    server: str = await connection.fetchval("show server_version")
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "file_system": _file_system(folder) if embedded else None,
        "python": platform.python_version(),
        "postgresql": server.split(" ", maxsplit=1)[0],
        "server": "embedded" if embedded else "given",
        "mainspring": _version(),
        "settings": {name: values[name] for name in _SETTINGS if name in values},
    }


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "Model"):
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _file_system(folder: Path) -> str | None:
    """What kind of file system the database lies on: one in memory has no disk to wait for."""
    try:
        mounts = Path("/proc/self/mounts").read_text().splitlines()
    except OSError:
        return None
    place, found = "", None
    for mount in mounts:
        _, point, kind, *_ = mount.split(" ")
        inside = folder.is_relative_to(point.replace("\\040", " "))
        if inside and len(point) >= len(place):
            place, found = point, kind
    return found


def _version() -> str:
    try:
        return version("mainspring")
    except PackageNotFoundError:
        return "unknown"
