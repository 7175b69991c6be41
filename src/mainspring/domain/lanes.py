"""Slot kinds, and lanes: where ready tasks wait.

A lane is a queue and a slot kind folded into one integer, so that a claim reads one index
range and never meets a task that its free slots cannot run.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class SlotKind(StrEnum):
    """How a task is run, and what a worker counts."""

    ASYNC = "async"
    THREAD = "thread"
    PROCESS = "process"
    COMMAND = "command"


_KINDS = tuple(SlotKind)
_KINDS_MAX = 8
"""Lane numbers leave room for kinds to come; a stored lane never changes its meaning."""

EVERY_QUEUE = "*"
"""What a worker says that serves all queues, also those that come later."""

PRIORITY_MIN, PRIORITY_DEFAULT, PRIORITY_MAX = 0, 5, 9


class Lane(NamedTuple):
    queue_id: int
    kind: SlotKind

    @property
    def number(self) -> int:
        return self.queue_id * _KINDS_MAX + _KINDS.index(self.kind)

    @classmethod
    def of(cls, number: int) -> Lane:
        queue_id, kind = divmod(number, _KINDS_MAX)
        return cls(queue_id, _KINDS[kind])
