"""Whether a request is sent again, and after how long.

What surely was not done is asked again: nobody took the connection, or the server said that it had
no time. What may have been done is asked again only where twice is as good as once: a question, a
POST with its Idempotency-Key, a PUT that says all and expects nothing. A change with If-Match is
not: its second try would find the version that its first has made.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from enum import Enum

from mainspring.http.requests import Reply, Request

FIRST_SECONDS = 0.1
DELAY_SECONDS_MAX = 5.0
RETRY_AFTER_SECONDS_MAX = 30.0


class Loss(Enum):
    """Why there is no answer."""

    NOT_SENT = "not sent"
    """Nobody took the connection."""
    UNKNOWN = "unknown"
    """It broke off; the server may have done it."""


def is_repeatable(request: Request) -> bool:
    """Whether asking twice is as good as asking once."""
    if request.method == "POST":
        return request.once or "Idempotency-Key" in request.headers
    if request.method == "PUT":
        return "If-Match" not in request.headers and "If-None-Match" not in request.headers
    return request.method in ("GET", "HEAD")


def after_loss(request: Request, loss: Loss, tries: int) -> float | None:
    """How long to rest before the next try; None: no more."""
    if loss is Loss.UNKNOWN and not is_repeatable(request):
        return None
    return _rest(tries)


def after_reply(request: Request, reply: Reply, tries: int) -> float | None:
    """None: this is the answer."""
    if reply.status in (429, 503) or (reply.status == 409 and "retry-after" in reply.headers):
        return max(_rest(tries), _wished(reply.headers))
    # These come from a proxy, which does not know what became of it.
    if reply.status in (502, 504) and is_repeatable(request):
        return _rest(tries)
    return None


def _rest(tries: int) -> float:
    return min(FIRST_SECONDS * 2.0 ** (tries - 1), DELAY_SECONDS_MAX) * random.uniform(0.5, 1.0)


def _wished(headers: Mapping[str, str]) -> float:
    text = headers.get("retry-after", "")
    seconds = float(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0.0
    return min(seconds, RETRY_AFTER_SECONDS_MAX)
