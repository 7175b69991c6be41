"""Why a request to the server was not done, as RFC 9457 tells it."""

from __future__ import annotations

from typing import Any

import msgspec

CONTENT_TYPE = "application/problem+json"


class FieldProblem(msgspec.Struct, frozen=True):
    """What is wrong with one part of the request."""

    pointer: str
    """Where: a JSON pointer into the body, or `query/…`, `path/…`, `header/…`."""
    message: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was not done."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    """Stable, for programs."""
    hint: str = ""
    request_id: str = ""
    errors: list[FieldProblem] = []
    current: Any | msgspec.UnsetType = msgspec.UNSET
    """What is there, where the request clashes with it."""
