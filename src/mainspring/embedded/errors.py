"""The one error of this package: what happened, to which folder or process, and what to do.

It is an `UnavailableError`, so whoever handles "the database cannot be reached" handles this too.
"""

from __future__ import annotations

from mainspring.domain.errors import UnavailableError


class EmbeddedError(UnavailableError):
    code = "embedded"
