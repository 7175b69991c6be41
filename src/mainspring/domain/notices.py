"""Notices: what is told of a run that has ended, and to whom.

A dag says `state notifier` or `state notifier:address`, such as `failed webhook:https://…`; that is
how it is stored, too.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

TOLD_STATES = ("failed", "succeeded", "cancelled")


class Notice(msgspec.Struct, frozen=True):
    """A run that has ended, as notifiers are told of it."""

    run_id: int
    dag: str
    state: str
    """`failed`, `succeeded` or `cancelled`."""
    tasks: int
    failed_tasks: int
    due_at: datetime
    started_at: datetime | None
    finished_at: datetime

    @property
    def key(self) -> str:
        """The same however often this end is told, and another one for the end after a rerun."""
        return f"{self.run_id}/{self.finished_at.timestamp():.6f}"


def split_target(target: str) -> tuple[str, str]:
    """Which notifier, and what it is made with: `webhook:https://…`."""
    name, _, address = target.partition(":")
    return name, address
