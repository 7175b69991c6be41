"""The server's log files: how many are kept, and what the last lines say when a start fails.

PostgreSQL begins a new file each day and each 10 MB and never deletes one. An error repeated ten
thousand times a second would fill the disk, so the supervisor keeps the newest few.
"""

from __future__ import annotations

import os
from pathlib import Path

FILES_MAX = 8

# PostgreSQL says this on its standard error when it changes over to the files.
_CHANGED_OVER = "redirecting log output to logging collector"
_TELLING = ("FATAL", "PANIC", "ERROR", "DETAIL", "HINT")


def prune(folder: Path, *, files_max: int = FILES_MAX) -> None:
    for name in _names(folder)[:-files_max]:
        (folder / name).unlink(missing_ok=True)


def last_words(startup_log: Path, folder: Path) -> str:
    """The lines that say why a server did not start."""
    lines = _tail(startup_log)
    if any(_CHANGED_OVER in line for line in lines):
        lines = [line for name in _names(folder)[-1:] for line in _tail(folder / name)]
        lines = [line for line in lines if any(f"{word}:" in line for word in _TELLING)] or lines
    return "\n".join(lines[-6:])


def _names(folder: Path) -> list[str]:
    """Oldest first; the names begin with the date."""
    return sorted(name for name in os.listdir(folder) if name.startswith("postgresql-"))


def _tail(path: Path) -> list[str]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []
    with os.fdopen(descriptor, "rb") as file:
        file.seek(max(0, os.fstat(descriptor).st_size - 8192))
        return file.read().decode("utf-8", "replace").splitlines()
