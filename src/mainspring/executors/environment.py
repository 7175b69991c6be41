"""What user code may see of the worker's environment.

Everything except the way into the database: code that runs as a task goes through the worker.
Commands also see which attempt they are, since they cannot ask for a `context()`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from mainspring.authoring.context import Context
from mainspring.executors.sessions import MARK

_WITHHELD = ("MAINSPRING_DATABASE_URL", "MAINSPRING_DATABASE_URL_FILE")
_ATTEMPT = (
    "MAINSPRING_RUN_ID",
    "MAINSPRING_DAG",
    "MAINSPRING_TASK",
    "MAINSPRING_ATTEMPT",
    "MAINSPRING_IDEMPOTENCY_KEY",
    "MAINSPRING_ATTEMPT_KEY",
    "MAINSPRING_FENCING_TOKEN",
)
_FIRE = (
    "MAINSPRING_SCHEDULE",
    "MAINSPRING_FIRE_AT",
    "MAINSPRING_DATA_INTERVAL_START",
    "MAINSPRING_DATA_INTERVAL_END",
)
"""Only of a run that a schedule has made."""


def environment_for_hosts(mark: str | None = None) -> dict[str, str]:
    """For a host with this mark, or, with none, for a process of our own that is no host."""
    # A worker may itself have been started by a command, whose attempt is not its tasks'.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in _WITHHELD and name not in _ATTEMPT and name not in _FIRE
    }
    # For Python programs that a task starts: their output is to be seen while they run.
    environment["PYTHONUNBUFFERED"] = "1"
    environment.pop(MARK, None)
    if mark is not None:
        environment[MARK] = mark
    return environment


def environment_for_commands(
    context: Context, variables: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """The host's own, the author's, and what `context` tells, for a program of this attempt."""
    told = (
        context.run_id,
        context.dag,
        context.task,
        context.attempt,
        context.idempotency_key,
        context.attempt_key,
        context.fencing_token,
    )
    attempt = dict(zip(_ATTEMPT, map(str, told), strict=True))
    return {**os.environ, **variables, **attempt, **_fire(context)}


def _fire(context: Context) -> dict[str, str]:
    told = (context.schedule, context.fire_at, *(context.data_interval or (None, None)))
    return {
        name: value if isinstance(value, str) else _instant(value)
        for name, value in zip(_FIRE, told, strict=True)
        if value is not None
    }


def _instant(moment: datetime) -> str:
    """As everywhere outside of Python: `2026-11-15T02:00:00Z`."""
    return moment.isoformat().replace("+00:00", "Z")
