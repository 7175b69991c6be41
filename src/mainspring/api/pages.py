"""Lists in pages, and the fields that a caller wants of each item.

A page ends at a place in the order, not at a number, so what is made or removed meanwhile moves
nothing. Where a filter fits few, a page may hold less than was asked for, or nothing, and still
have a `next`: each request looks at a bounded number.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Annotated, Any

import msgspec

from mainspring.api.problems import field_refusal
from mainspring.domain.pages import Page

__all__ = [
    "LIMIT_MAX",
    "Cursor",
    "Fields",
    "Limit",
    "Page",
    "check_fields",
    "cursor_of",
    "id_of",
    "place_of",
    "selected",
    "wanted",
]

LIMIT_MAX = 500
Limit = Annotated[
    int, msgspec.Meta(ge=1, le=LIMIT_MAX, description="How many at most on one page.")
]
Cursor = Annotated[
    str,
    msgspec.Meta(
        max_length=200,
        description="The `next` of the page before.",
        extra_json_schema={"pattern": "^[A-Za-z0-9_-]+$"},
    ),
]
Fields = Annotated[
    str,
    msgspec.Meta(
        max_length=2000, description="Names of fields, with commas: only these of each item."
    ),
]


def cursor_of(kind: str, place: int | str) -> str:
    return urlsafe_b64encode(f"{kind}:{place}".encode()).decode().rstrip("=")


def place_of(kind: str, cursor: str | None, where: str = "query/cursor") -> str | None:
    """Where the page before ended."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        found, colon, place = urlsafe_b64decode(padded.encode("ascii")).decode().partition(":")
    except ValueError:
        found, colon, place = "", "", ""
    if found != kind or not colon or "\x00" in place:
        raise field_refusal(where, "is none of this list", hint="use the `next` of a page as it is")
    return place


def id_of(kind: str, cursor: str | None, *, id_max: int = 2**63 - 1) -> int | None:
    place = place_of(kind, cursor)
    if place is None:
        return None
    if not place.isascii() or not place.isdigit() or len(place) > 18 or int(place) > id_max:
        raise field_refusal("query/cursor", "is none of this list")
    return int(place)


def wanted(fields: str | None, name: str) -> bool:
    """Whether a caller who named these fields, or none, wants that one."""
    return fields is None or name in [each.strip() for each in fields.split(",")]


def selected(answer: Any, fields: str | None) -> Any:
    """Of each item, or of the document, only these fields."""
    if fields is None:
        return answer
    names = [name.strip() for name in fields.split(",") if name.strip()]
    if isinstance(answer, Page):
        items = [_some(item, names) for item in answer.items]
        return {"items": items, "next": answer.next}
    return _some(answer, names)


def check_fields(kind: type[msgspec.Struct], fields: str | None) -> None:
    if fields is None:
        return
    names = [name.strip() for name in fields.split(",") if name.strip()]
    for name in names:
        if name not in kind.__struct_encode_fields__:
            known = ", ".join(f"`{each}`" for each in kind.__struct_encode_fields__)
            raise field_refusal("query/fields", f"`{name}` is no field", hint=f"there are {known}")
    if not names:
        raise field_refusal("query/fields", "names no field")


def _some(item: msgspec.Struct, names: list[str]) -> dict[str, Any]:
    # A field may be called otherwise in JSON, such as `from`, which is no name in Python.
    called = dict(zip(item.__struct_encode_fields__, item.__struct_fields__, strict=True))
    return {name: getattr(item, called[name]) for name in names}
