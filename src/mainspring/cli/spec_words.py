"""What an author wrote, in words: types of parameters, retries, limits of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, assert_never

from mainspring.cli.words import safe, value_words
from mainspring.domain.durations import format_duration
from mainspring.domain.lanes import PRIORITY_DEFAULT

if TYPE_CHECKING:
    from mainspring.domain.specs import ParameterSpec, RetrySpec, TaskSpec
    from mainspring.store.shapes import DagParameter, DagTask, Retry


def type_words(schema: Mapping[str, Any]) -> str:
    """A JSON Schema as a short type: `integer`, `list of date`, `one of "a", "b"`."""
    return _type(schema, schema.get("$defs", {}), 0)


def default_words(parameter: DagParameter | ParameterSpec) -> str:
    return "required" if parameter.required else value_words(parameter.default, 60)


def retry_words(retry: Retry | RetrySpec) -> str:
    """`up to 5 attempts, 1 s apart`; empty when there is one attempt."""
    if retry.attempts <= 1:
        return ""
    match retry.backoff:
        case "fixed":
            rest = f"{format_duration(retry.first_seconds)} apart"
        case "exponential":
            rest = (
                f"resting {format_duration(retry.first_seconds)}, then ×{retry.factor:g}"
                f" up to {format_duration(retry.cap_seconds)}"
            )
        case "delays":
            rest = "resting " + ", ".join(map(format_duration, retry.delays_seconds[:6]))
            rest += ", …" if len(retry.delays_seconds) > 6 else ""
        case "function":
            rest = "resting as a function says"
        case _:
            assert_never(retry.backoff)
    parts = [f"up to {retry.attempts:,} attempts", rest]
    if retry.jitter:
        parts.append(f"jitter {retry.jitter:.0%}")
    if retry.give_up_on:
        names = (name.rpartition(".")[2] for name in retry.give_up_on)
        parts.append("giving up on " + ", ".join(map(safe, names)))
    return ", ".join(parts)


def task_words(task: DagTask | TaskSpec) -> str:
    """Everything about a task that is not as usual."""
    parts = [retry_words(task.retry)]
    if task.timeout_seconds is not None:
        parts.append(f"timeout {format_duration(task.timeout_seconds)}")
    if task.priority != PRIORITY_DEFAULT:
        parts.append(f"priority {task.priority}")
    if task.on_lost == "fail":
        parts.append("at most once")
    return "; ".join(filter(None, parts))


def _type(schema: Any, definitions: Mapping[str, Any], depth: int) -> str:
    if not isinstance(schema, Mapping) or not schema or depth > 4:
        return "anything"
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        target = definitions.get(name, {})
        return _type(target, definitions, depth + 1) if "enum" in target else safe(name)
    if "enum" in schema:
        return "one of " + ", ".join(value_words(value, 20) for value in schema["enum"][:8])
    if "anyOf" in schema:
        parts = [_type(part, definitions, depth + 1) for part in schema["anyOf"]]
        return " or ".join(dict.fromkeys(parts))
    kind = str(schema.get("type", "anything"))
    if kind == "array" and "items" in schema:
        return f"list of {_type(schema['items'], definitions, depth + 1)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"map to {_type(schema['additionalProperties'], definitions, depth + 1)}"
    known = {"string": "text", "array": "list", "null": "none", "date-time": "date and time"}
    kind = str(schema.get("format", kind))
    return safe(known.get(kind, kind))
