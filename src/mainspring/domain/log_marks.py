"""How a log ends: complete, or lost after some byte.

A worker reports the end of an attempt only when all of its log is stored, so an attempt that ended
by its worker's word has a complete log. What an attempt that was lost still had to say is lost with
it. So is what was on its way when a host that runs many tasks died, and what a failover to an older
state of the database took away; chunks tell that.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from mainspring.domain.states import AttemptState


class Ending(StrEnum):
    OPEN = "open"
    COMPLETE = "complete"
    LOST = "lost"


class LogMark(msgspec.Struct, frozen=True):
    ending: Ending
    bytes: int
    """So many are there, without a hole: all so far, all, or all that were not lost."""

    def __str__(self) -> str:
        match self.ending:
            case Ending.OPEN:
                return f"{self.bytes:,} bytes so far"
            case Ending.COMPLETE:
                return f"complete, {self.bytes:,} bytes"
            case Ending.LOST:
                return f"lost after byte {self.bytes:,}"


def log_mark(*, state: str, ended: bool, stored: int, cut: bool, hole_at: int | None) -> LogMark:
    """`cut`: the chunks themselves say that what came next was lost."""
    if hole_at is not None:
        return LogMark(Ending.LOST, hole_at)
    if not ended:
        return LogMark(Ending.OPEN, stored)
    lost = cut or state == AttemptState.LOST
    return LogMark(Ending.LOST if lost else Ending.COMPLETE, stored)
