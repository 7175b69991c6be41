"""Where tests put what is gone when they end.

A database is a thousand small files, and each test has one. Where a disk makes and forgets them
in 60 to 400 ms of the processor's time, the more the busier it is, memory takes 25.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")
_NEEDED_BYTES = 2 << 30
"""The databases of one test process at most, twice."""

_PREFIX = "mainspring-test-of-"


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory if there is room, else on disk; open to all, as root's server needs it."""
    memory = _memory()
    if memory is not None:
        _delete_leftovers(memory)
    prefix = f"{_PREFIX}{os.getpid()}-"
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=memory)).resolve()
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _memory() -> Path | None:
    if not _MEMORY.is_dir() or not os.access(_MEMORY, os.W_OK | os.X_OK):
        return None
    return _MEMORY if _available_bytes() >= _NEEDED_BYTES else None


def _delete_leftovers(memory: Path) -> None:
    """Of test processes that were killed: nobody else would give their memory back."""
    for folder in memory.glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _available_bytes() -> int:
    """What may be put there: the folder's own limit, and what the machine has left for it.

    Containers get 64 MB unless they ask for more.
    """
    free = shutil.disk_usage(_MEMORY).free
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return min(free, int(line.split()[1]) * 1024 // 2)
    return free
