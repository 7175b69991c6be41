"""From bindings to arguments: a task's call as one JSON object.

Parameters and results pass through as the JSON that they are; only a path into a result makes
us look inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_never

import msgspec

from mainspring.domain.errors import InputError
from mainspring.domain.specs import (
    Binding,
    ListOf,
    MappingOf,
    Parameter,
    Result,
    TaskSpec,
    Value,
)

_encode = msgspec.json.Encoder().encode


def arguments_of(
    task: TaskSpec, parameters: Mapping[str, Any], result_of: Callable[[int], bytes]
) -> bytes:
    """The arguments of a task. `result_of` gives the JSON that another task of the run returned."""

    def value(binding: Binding) -> Any:
        match binding:
            case Value(value=literal):
                return literal
            case Parameter(name=name):
                return parameters[name]
            case Result(task=number, path=path):
                result = result_of(number)
                return _part(result, path, task.name) if path else msgspec.Raw(result)
            case ListOf(items=items):
                return [value(item) for item in items]
            case MappingOf(items=entries):
                return {key: value(item) for key, item in entries.items()}
            case _:
                assert_never(binding)

    return _encode({name: value(binding) for name, binding in task.arguments.items()})


def _part(result: bytes, path: tuple[str | int, ...], task: str) -> Any:
    part = msgspec.json.decode(result)
    for step in path:
        try:
            part = part[step]
        except (KeyError, IndexError, TypeError):
            raise InputError(
                f"task `{task}` needs `{step!r}` of a result that has no such part"
            ) from None
    return part
