"""How an object store says that it could not."""

from __future__ import annotations

from mainspring.domain.errors import NotFoundError, UnavailableError


class ObjectGone(NotFoundError):
    """There is no such object. Somebody removed it, or it is another store than it was."""


class StoreFailed(UnavailableError):
    """Out of reach, without permission, full: the same call may succeed later."""
