"""Two runs side by side: what differs, and what only one of them has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mainspring.domain.states import TaskState


class Facts(msgspec.Struct, frozen=True):
    """What is compared of a task."""

    state: TaskState
    attempt: int
    seconds: float | None
    result: bytes | None
    """JSON, perhaps only its beginning."""
    result_bytes: int | None


class Pair(msgspec.Struct, frozen=True):
    """A task of two runs; None where there is no such task."""

    name: str
    first: Facts | None
    second: Facts | None

    @property
    def changed(self) -> list[str]:
        """What differs; how long it took always does, and is left to the reader."""
        if self.first is None or self.second is None:
            return ["there"]
        return [
            name
            for name, differs in (
                ("state", self.first.state != self.second.state),
                ("attempts", self.first.attempt != self.second.attempt),
                ("result", _result(self.first) != _result(self.second)),
            )
            if differs
        ]


class Value(msgspec.Struct, frozen=True):
    """A parameter of two runs that is not the same in both."""

    name: str
    first: Any
    second: Any
    """UNSET where there is none."""


def compare_tasks(first: Mapping[str, Facts], second: Mapping[str, Facts]) -> list[Pair]:
    """Those of the second run in its order, each followed by what only the first one has there."""
    names = list(second)
    for place, name in enumerate(first):
        if name not in second:
            before = list(first)[:place]
            at = max((names.index(known) + 1 for known in before if known in names), default=0)
            names.insert(at, name)
    return [Pair(name, first.get(name), second.get(name)) for name in names]


def compare_values(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Value]:
    names: Sequence[str] = [*first, *(name for name in second if name not in first)]
    pairs = [
        Value(name, first.get(name, msgspec.UNSET), second.get(name, msgspec.UNSET))
        for name in names
    ]
    return [pair for pair in pairs if pair.first != pair.second]


def _result(facts: Facts) -> tuple[bytes | None, int | None]:
    # No result and a result that is null are the same to whoever is handed it.
    return (None, 4) if facts.result in (None, b"null") else (facts.result, facts.result_bytes)
