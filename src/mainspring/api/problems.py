"""Every failure as RFC 9457 tells it: `application/problem+json`, with our code and hint.

A problem says what happened, where in the request, and what to do. Nothing of the inside gets out:
what was not expected is logged with the request's id, and the caller gets that id.
"""

from __future__ import annotations

import msgspec

from mainspring.domain.errors import (
    ConflictError,
    DefinitionError,
    InputError,
    MainspringError,
    NotFoundError,
    PluginError,
    UnavailableError,
)
from mainspring.domain.problems import CONTENT_TYPE, FieldProblem, Problem

__all__ = [
    "CONTENT_TYPE",
    "TITLES",
    "TYPES",
    "FieldProblem",
    "Problem",
    "Refusal",
    "field_refusal",
    "headers_of",
    "problem_of",
    "status_of",
    "unexpected",
]

TYPES = "/docs#problem-"


class Refusal(MainspringError):
    """A request that is not done, for a reason that only HTTP has."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        hint: str = "",
        headers: tuple[tuple[bytes, bytes], ...] = (),
        errors: tuple[FieldProblem, ...] = (),
        current: msgspec.Struct | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code
        self.headers = headers
        self.errors = errors
        self.current = current


TITLES = {
    400: "The request cannot be understood",
    401: "It is not known who asks",
    403: "Not allowed",
    404: "There is no such thing",
    405: "Not with this method",
    406: "Not in this form",
    408: "The request did not arrive",
    409: "It clashes with what is there",
    410: "It is gone",
    412: "It has changed meanwhile",
    413: "Too large",
    415: "Not in this form",
    416: "Out of range",
    421: "Not this server",
    422: "The request makes no sense",
    429: "Too often",
    431: "Too large",
    500: "Something went wrong here",
    503: "Not now",
}


def field_refusal(pointer: str, message: str, *, hint: str = "") -> Refusal:
    """422: one part of the request is wrong."""
    return Refusal(
        422,
        "input",
        f"{pointer}: {message}" if pointer else message,
        hint=hint,
        errors=(FieldProblem(pointer, message),),
    )


def status_of(error: MainspringError) -> int:
    match error:
        case Refusal():
            return error.status
        case ConflictError():
            return 409
        case NotFoundError():
            return 404
        case UnavailableError():
            return 503
        case InputError() | DefinitionError() | PluginError():
            return 422
        case _:
            return 500


def problem_of(error: MainspringError, request_id: str) -> Problem:
    status = status_of(error)
    refusal = error if isinstance(error, Refusal) else None
    return Problem(
        type=TYPES + error.code,
        title=TITLES.get(status, "Not done"),
        status=status,
        detail=error.message,
        code=error.code,
        hint=error.hint,
        request_id=request_id,
        errors=list(refusal.errors) if refusal else [],
        current=msgspec.UNSET if refusal is None or refusal.current is None else refusal.current,
    )


def headers_of(error: MainspringError) -> list[tuple[bytes, bytes]]:
    headers = list(error.headers) if isinstance(error, Refusal) else []
    if isinstance(error, UnavailableError):
        headers.append((b"retry-after", b"1"))
    return headers


def unexpected(request_id: str) -> Problem:
    return Problem(
        type=TYPES + "unexpected",
        title=TITLES[500],
        status=500,
        detail="the server failed at this request; its log says why",
        code="unexpected",
        hint="tell the operator the request's id",
        request_id=request_id,
    )
