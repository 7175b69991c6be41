"""What goes into `Hosts` and what comes out of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from mainspring.authoring.context import Attempt
from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Outcome
from mainspring.domain.uses import Use


class Job(msgspec.Struct, frozen=True):
    """One attempt to be run."""

    task_id: int
    term: int
    kind: SlotKind
    snapshot: str
    """Folder that is put first on `sys.path`; empty for installed code."""
    entry: str
    attempt: Attempt
    arguments: bytes = b"{}"
    """A JSON object."""
    timeout_seconds: float | None = None
    """Counts from the call of the function: imports and waiting for a host are not charged."""
    apart: bool = False
    """Shares a host only with others of which the same is said: for what was lost once."""
    alone: bool = False
    """Runs in a fresh host with nothing beside it: for what was lost again."""
    executor: str = ""
    """The plug-in that runs it, if it is not the one that the kind is called after."""
    large_parameters: bytes | None = None
    """The run's, if they are neither among the arguments nor in the attempt."""


class Ended(msgspec.Struct, frozen=True):
    """The one end of a job. Times are this machine's wall clock, microseconds since the epoch."""

    task_id: int
    term: int
    outcome: Outcome
    started_us: int | None
    """None if user code was never reached."""
    finished_us: int
    log_cut: bool = False
    """Its host died with what it printed last."""


class Listener(Protocol):
    """Who is told. Every method is called in the event loop and must not block."""

    def started(self, task_id: int, term: int, started_us: int) -> None:
        """Told only of jobs that still run after some 0.3 s, at most 0.2 s later."""

    def progressed(self, task_id: int, term: int, percent: float, text: str) -> None:
        """What a job that was told as started says of itself, ten times a second at most."""

    def used(self, task_id: int, term: int, use: Use) -> None:
        """What a job used that had a process to itself and has lasted; told before its end."""

    def ended(self, ended: Sequence[Ended]) -> None:
        """Exactly one item for each submitted job, after all of its log."""

    def logged(self, task_id: int, term: int, data: bytes) -> None:
        """Output of a running job, at most 64 kB at a time, cut after a newline if there is one."""
