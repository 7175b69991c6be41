"""Values of the right type that nothing behind this server can hold: refused, with their place.

PostgreSQL's text has no NUL, and an instant has to be one in UTC, too, which those at either end of
the calendar are not in every zone. What is `Any` is somebody's JSON, stored as bytes, and may hold
whatever it likes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec

from mainspring.api.problems import field_refusal

_SIGNS = (b"\\u", b"0001-", b"9999-")
"""What JSON has in it where a text may hold NUL, or an instant be one of the first or last year."""


def may_be_odd(content: bytes) -> bool:
    """Whether it is worth a look: almost never."""
    return any(sign in content for sign in _SIGNS)


def check_odd(pointer: str, value: Any) -> None:
    """Refuse what cannot be held, wherever in a decoded value it is."""
    if isinstance(value, str):
        if "\x00" in value:
            raise field_refusal(pointer, "may not hold a NUL character")
    elif isinstance(value, datetime):
        try:
            value.astimezone(UTC)
        except OverflowError:
            raise field_refusal(pointer, "is no instant of the years 1 to 9999 in UTC") from None
    else:
        for name, inner in _inside(value):
            check_odd(f"{pointer}/{name}", inner)


def _inside(value: Any) -> Iterator[tuple[object, Any]]:
    if isinstance(value, msgspec.Struct):
        for name, encoded in _typed_fields(type(value)):
            yield encoded, getattr(value, name)
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            check_odd("a key", key)
            yield key, inner


@cache
def _typed_fields(kind: type[msgspec.Struct]) -> list[tuple[str, str]]:
    return [
        (field.name, field.encode_name)
        for field in msgspec.structs.fields(kind)
        if "Any" not in repr(field.type) and "Raw" not in repr(field.type)
    ]
