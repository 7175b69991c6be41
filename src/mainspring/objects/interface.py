"""What an object store has to do, and how it says that it could not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from mainspring.domain.errors import NotFoundError, UnavailableError


class ObjectGone(NotFoundError):
    """There is no such object. Somebody removed it, or it is another store than it was."""


class StoreFailed(UnavailableError):
    """Out of reach, without permission, full: the same call may succeed later."""


class ObjectStore(Protocol):
    """Keys are like `logs/17/17000042-1.gz`: letters, digits, `-`, `.` and `/`.

    An object is written once as a whole and never changed. Each method may be repeated.
    """

    async def put(self, key: str, pieces: AsyncIterator[bytes]) -> None:
        """All pieces or nothing is there under this key, and stays there when this returns.

        At most a few pieces are held in memory. A piece has less than 16 MB.
        """

    async def get(self, key: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`, or up to the object's end. ObjectGone if it is."""

    async def delete(self, keys: Sequence[str]) -> None:
        """Remove these, at most 1,000 at a time. That one is not there is no error."""
