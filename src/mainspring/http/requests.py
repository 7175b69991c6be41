"""What is sent and what comes back, without a network."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import UNSET

from mainspring.domain.errors import InputError
from mainspring.domain.names import shown

_T = TypeVar("_T")

encode = msgspec.json.Encoder(decimal_format="number").encode


class Request(msgspec.Struct, frozen=True):
    method: str
    target: str
    """Path and query, below the server's address."""
    headers: Mapping[str, str]
    content: bytes = b""
    once: bool = False
    """Whether it has one effect however often it is asked, also without an Idempotency-Key."""


class Reply(msgspec.Struct, frozen=True):
    """What the server answered."""

    status: int
    headers: Mapping[str, str]
    """Their names in small letters."""
    content: bytes = b""


def target(path: str, parts: Mapping[str, object], query: Mapping[str, object]) -> str:
    """`/runs/{run}` with its parts, and what of the query is given."""
    for name, value in parts.items():
        path = path.replace("{" + name + "}", quote(_text(value), safe=""))
    pairs = []
    for name, value in query.items():
        if value is None or value is UNSET:
            continue
        each = value if isinstance(value, (list, tuple)) else [value]
        pairs += [(name, _text(one)) for one in each]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def body(fields: Mapping[str, object]) -> bytes:
    """What of the fields is given, as JSON."""
    return encode({name: value for name, value in fields.items() if value is not UNSET})


def checked_headers(headers: Mapping[str, str | None]) -> dict[str, str]:
    """Those that are said; InputError for what no header can hold."""
    said = {name: value for name, value in headers.items() if value is not None}
    for name, value in said.items():
        if not value.isascii() or (value and not value.isprintable()):
            raise InputError(
                f"{shown(value)} cannot be sent as {name}",
                hint="use letters, digits and signs of ASCII",
            )
    return said


def given(value: Any) -> Any:
    """Of an argument where None means that nothing is said."""
    return UNSET if value is None else value


def range_header(bounds: tuple[int, int | None]) -> str:
    """From a byte on, up to one that is not part of it."""
    start, end = bounds
    return f"bytes={start}-{'' if end is None else end - 1}"


def version_header(version: int) -> str:
    """As If-Match wants it."""
    return f'"{version}"'


def decode(content: bytes, kind: type[_T]) -> _T:
    known: Any = kind
    answer: _T = _decoder(known).decode(content)
    return answer


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def checked_url(text: str) -> str:
    """The server's address, without a slash at its end."""
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits, parts = False, urlsplit("")
    if not fits or parts.query or parts.fragment or parts.username or parts.password:
        raise InputError(
            f"{shown(text)} is no address of a server",
            hint="write MAINSPRING_URL like `https://mainspring.example` or `http://127.0.0.1:8470`",
        )
    return text.rstrip("/")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)
