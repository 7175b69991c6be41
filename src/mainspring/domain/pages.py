"""Some items of a list, and where the next ones are: what the server answers lists with."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

_T = TypeVar("_T")


class Page(msgspec.Struct, Generic[_T], frozen=True):
    """Some items of a list, in its order."""

    items: list[_T]
    next: str | None = None
    """The cursor of the page that follows; null if this is the last."""
