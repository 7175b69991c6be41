"""What somebody may want of a worker that is to claim no more."""

from __future__ import annotations

from enum import StrEnum


class Drain(StrEnum):
    STAY = "stay"
    """Claim nothing until it is resumed."""
    STOP = "stop"
    """Claim nothing, and end when nothing is in hand any more."""
