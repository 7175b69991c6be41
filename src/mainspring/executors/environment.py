"""What user code may see of the worker's environment.

Everything except the way into the database: code that runs as a task goes through the worker.
"""

from __future__ import annotations

import os

from mainspring.executors.sessions import MARK

_WITHHELD = ("MAINSPRING_DATABASE_URL", "MAINSPRING_DATABASE_URL_FILE")


def environment_for_hosts(mark: str | None = None) -> dict[str, str]:
    """For a host with this mark, or, with none, for a process of our own that is no host."""
    environment = {name: value for name, value in os.environ.items() if name not in _WITHHELD}
    # For Python programs that a task starts: their output is to be seen while they run.
    environment["PYTHONUNBUFFERED"] = "1"
    environment.pop(MARK, None)
    if mark is not None:
        environment[MARK] = mark
    return environment
