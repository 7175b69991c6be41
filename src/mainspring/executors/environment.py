"""What user code may see of the worker's environment.

Everything except the way into the database: code that runs as a task goes through the worker.
"""

from __future__ import annotations

import os

_WITHHELD = ("MAINSPRING_DATABASE_URL", "MAINSPRING_DATABASE_URL_FILE")


def environment_for_hosts() -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in _WITHHELD}
    # For Python programs that a task starts: their output is to be seen while they run.
    environment["PYTHONUNBUFFERED"] = "1"
    return environment
