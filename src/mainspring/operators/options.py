"""What may be said of every ready-made task, as of any task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from mainspring.authoring.drawing import Later, current_drawing
from mainspring.authoring.ends import Fail
from mainspring.authoring.retries import RetryPolicy
from mainspring.domain.errors import DefinitionError
from mainspring.domain.names import shown


class TaskOptions(TypedDict, total=False):
    """See `@task`. `timeout` is each operator's own."""

    name: str
    retries: int
    retry: RetryPolicy
    queue: str
    priority: int
    max_lost: int
    on_lost: Literal["retry", "fail"]
    description: str


def require_drawing(operator: str) -> None:
    if current_drawing() is None:
        raise DefinitionError(
            f"`{operator}` draws a task and runs nothing by itself",
            hint="call it inside a dag's function",
        )


def check_mapping(what: str, given: object) -> None:
    """A mapping with texts as keys; or nothing."""
    if given is None:
        return
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise DefinitionError(f'{what}: expected a dict such as {{"name": value}}')


def check_plain(what: str, value: object) -> None:
    """Text, a number or a truth; or a stand-in for one, which is looked at in the run."""
    if not isinstance(value, (str, int, float, Later)):
        raise DefinitionError(
            f"{what}: expected text, a number, a parameter or a result, "
            f"got `{type(value).__name__}`"
        )


def plain_text(what: str, value: Any) -> str:
    """The value as text, in the run; never a list or an object, which could be more than one."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            kind = "nothing" if value is None else f"`{type(value).__name__}`"
            raise Fail(f"{what}: expected text or a number, got {kind}: {shown(repr(value))}")
