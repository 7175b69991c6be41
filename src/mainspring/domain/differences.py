"""What changed from one version of a dag to another.

Tasks are compared by name and edges by the names at their ends, since numbers shift when a task is
put in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import msgspec

from mainspring.domain.specs import (
    Binding,
    DagSpec,
    ListOf,
    MappingOf,
    Parameter,
    ParameterSpec,
    Result,
    TaskSpec,
    Value,
)


class Change(msgspec.Struct, frozen=True):
    """One field, as JSON data; null stands for what is not there."""

    field: str
    before: Any
    after: Any


class Changed(msgspec.Struct, frozen=True):
    """A task or parameter that both versions have."""

    name: str
    changes: list[Change]


class Parts(msgspec.Struct, frozen=True):
    added: list[str]
    removed: list[str]
    changed: list[Changed]


class Edges(msgspec.Struct, frozen=True):
    added: list[tuple[str, str]]
    removed: list[tuple[str, str]]


class Difference(msgspec.Struct, frozen=True):
    dag: list[Change]
    parameters: Parts
    tasks: Parts
    edges: Edges

    def __bool__(self) -> bool:
        return bool(
            self.dag
            or any(
                (*part.added, *part.removed, *part.changed)
                for part in (self.parameters, self.tasks)
            )
            or self.edges.added
            or self.edges.removed
        )


def difference(before: DagSpec, after: DagSpec) -> Difference:
    edges_before, edges_after = _edges(before), _edges(after)
    return Difference(
        dag=_changes(
            {"timeout_seconds": before.timeout_seconds}, {"timeout_seconds": after.timeout_seconds}
        ),
        parameters=_parts(
            {parameter.name: _of_parameter(parameter) for parameter in before.parameters},
            {parameter.name: _of_parameter(parameter) for parameter in after.parameters},
        ),
        tasks=_parts(_of_tasks(before), _of_tasks(after)),
        edges=Edges(
            [edge for edge in edges_after if edge not in edges_before],
            [edge for edge in edges_before if edge not in edges_after],
        ),
    )


def _parts(
    before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]
) -> Parts:
    changed = (
        Changed(name, _changes(before[name], after[name])) for name in after if name in before
    )
    return Parts(
        added=[name for name in after if name not in before],
        removed=[name for name in before if name not in after],
        changed=[part for part in changed if part.changes],
    )


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    return [
        Change(field, before.get(field), after.get(field))
        for field in dict.fromkeys((*before, *after))
        if before.get(field) != after.get(field)
    ]


def _edges(spec: DagSpec) -> dict[tuple[str, str], None]:
    """In their order."""
    names = [task.name for task in spec.tasks]
    return dict.fromkeys((names[before], names[after]) for before, after in spec.edges)


def _of_parameter(parameter: ParameterSpec) -> dict[str, Any]:
    fields: dict[str, Any] = {"schema": parameter.schema, "required": parameter.required}
    return fields if parameter.required else {**fields, "default": parameter.default}


def _of_tasks(spec: DagSpec) -> dict[str, dict[str, Any]]:
    names = [task.name for task in spec.tasks]
    return {task.name: _of_task(task, names) for task in spec.tasks}


def _of_task(task: TaskSpec, names: Sequence[str]) -> dict[str, Any]:
    """Every field that decides how it runs, by a name of its own."""
    fields: dict[str, Any] = {}
    for field in task.__struct_fields__:
        value = getattr(task, field)
        match field:
            case "name" | "description":
                continue
            case "arguments":
                fields |= {f"arguments.{name}": _plain(value[name], names) for name in value}
            case "retry":
                for part in value.__struct_fields__:
                    fields[f"retry.{part}"] = msgspec.to_builtins(getattr(value, part))
            case _:
                fields[field] = msgspec.to_builtins(value)
    return fields


def _plain(binding: Binding, names: Sequence[str]) -> Any:
    """A binding as JSON data that names tasks instead of numbering them."""
    match binding:
        case Value(value=value):
            return {"value": value}
        case Parameter(name=name):
            return {"parameter": name}
        case Result(task=task, path=path):
            return {"result": names[task], "path": list(path)} if path else {"result": names[task]}
        case ListOf(items=items):
            return {"list": [_plain(item, names) for item in items]}
        case MappingOf(items=mapping):
            return {"mapping": {key: _plain(item, names) for key, item in mapping.items()}}
        case _:
            assert_never(binding)
