"""How much memory and disk the server may count on: the machine's, or its container's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from mainspring.embedded.configuration import Machine

_CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def read_machine(folder: Path) -> Machine:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [limit for path in _CONTAINER_LIMITS if (limit := _read_limit(path)) is not None]
    return Machine(
        memory_bytes=min([memory, *limits]), disk_free_bytes=shutil.disk_usage(folder).free
    )


def _read_limit(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # No such control group, or "max".
        return None
