"""What the document tells of values that are checked further in, where an error can say it better.

A bound that a decoder checks is written as `Meta(ge=…)`, and the document has it from there. These
are for rules whose errors are sentences (`name_problem`, one of several fields): here they are said
once more for machines, out of the same constants.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Meta

from mainspring.domain.names import NAMED

__all__ = ["NAMED", "between", "one_of"]


def between(low: int, high: int) -> Meta:
    return Meta(extra_json_schema={"minimum": low, "maximum": high})


def one_of(*choices: str | tuple[str, ...]) -> Meta:
    """Of a struct: these fields, or these, and never both."""
    return Meta(extra_json_schema={"oneOf": [_given(choice) for choice in choices]})


def _given(choice: str | Iterable[str]) -> dict[str, Any]:
    names = [choice] if isinstance(choice, str) else list(choice)
    return {"required": names, "properties": {name: {"not": {"type": "null"}} for name in names}}
