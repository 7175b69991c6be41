"""`Command`: a program, its arguments, and the surroundings that it runs in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec


class Command(msgspec.Struct, frozen=True):
    """What a task with `executor="command"` returns if a list of arguments does not say it all."""

    arguments: Sequence[str]
    """The program and its arguments; there is no shell."""
    env: Mapping[str, str] = {}
    """Variables beside those of the worker and of the attempt."""
    cwd: str | None = None
    """Relative to the folder of dags as the run has pinned it; the worker's own if not given."""
