"""Secrets in parameters are for those who may act; who may only look sees stars.

A job or a run may have been given a token: in a header such as `Authorization`, or as a parameter
that is called so. In whatever an answer quotes as it was given (parameters, results, bindings),
values under such names are masked for roles below operator. Answers that quote nothing are not
looked at. A secret in an address, or under a name that does not tell, is not known for one.
"""

from __future__ import annotations

import re
import typing
from typing import Any

import msgspec

MASK = "***"

_SECRET = (
    r"authorization|cookie|token|secret|passw|credential|api[-_]?key|private[-_]?key|access[-_]?key"
)
_NAME = re.compile(_SECRET, re.IGNORECASE)
_SOMEWHERE = re.compile(_SECRET.encode(), re.IGNORECASE)
_BESIDE_NAME = frozenset({"values", "default", "before", "after", "changes"})
"""Where a document tells a thing's name in one field and its value in another."""


def quotes(kind: Any) -> bool:
    """Whether an answer of this type holds JSON as somebody gave it."""
    return _quotes(kind, set())


def _quotes(kind: Any, seen: set[Any]) -> bool:
    if kind in (msgspec.Raw, Any):
        return True
    origin = typing.get_origin(kind) or kind
    if any(_quotes(each, seen) for each in typing.get_args(kind) if each is not ...):
        return True
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct) and origin not in seen:
        seen.add(origin)
        return any(_quotes(field.type, seen) for field in msgspec.structs.fields(kind))
    return False


def masked(content: bytes) -> bytes:
    """The same JSON, with stars for what is called a secret."""
    if _SOMEWHERE.search(content) is None:
        return content
    return msgspec.json.encode(_mask(msgspec.json.decode(content)))


def _mask(value: Any) -> Any:
    if isinstance(value, list):
        return [_mask(each) for each in value]
    if not isinstance(value, dict):
        return value
    name = value.get("name")
    named = isinstance(name, str) and _NAME.search(name) is not None
    return {
        key: _stars(each) if _NAME.search(key) or (named and key in _BESIDE_NAME) else _mask(each)
        for key, each in value.items()
    }


def _stars(value: Any) -> Any:
    if isinstance(value, list):
        return [_stars(each) for each in value]
    if isinstance(value, dict):
        return {key: _stars(each) for key, each in value.items()}
    return value if value is None or isinstance(value, bool) else MASK
