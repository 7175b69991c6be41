"""What an attempt used of its machine, if it ran in a process of its own."""

from __future__ import annotations

from typing import Annotated

import msgspec


class Use(msgspec.Struct, frozen=True):
    cpu_seconds: Annotated[float, msgspec.Meta(ge=0, le=1e12)]
    """Of all its threads, and of the processes that it has waited for."""
    peak_bytes: Annotated[int, msgspec.Meta(ge=0, le=2**60)] | None = None
    """The most memory that it held; None if that is not known."""
