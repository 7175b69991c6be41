"""Whether an operator draws what can be stored, found again and run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from mainspring.authoring.calling import resolve
from mainspring.authoring.dags import dag
from mainspring.authoring.drawing import Later
from mainspring.domain.errors import DefinitionError, MainspringError
from mainspring.domain.specs import DagSpec
from mainspring.plugins.shapes import operator_problem


def check_operator(operator: Callable[..., Any], *arguments: Any, **options: Any) -> DagSpec:
    """Call the operator with these arguments in a dag, and look at what it has drawn.

    Gives the dag back, so that a test can look further: at `spec.tasks[0].arguments`, say.
    """
    problem = operator_problem(operator)
    assert not problem, f"the operator {problem}"
    drawn: list[Any] = []

    @dag(name="conformance")
    def scratch() -> None:
        drawn.append(operator(*arguments, **options))

    try:
        spec = scratch.spec
    except DefinitionError as error:
        raise AssertionError(f"what it draws cannot be: {error.message}") from error
    assert isinstance(drawn[0], Later), (
        f"it returned `{type(drawn[0]).__name__}`: return what the call of your task gives, so"
        " that authors can use the result"
    )
    stored = msgspec.json.decode(msgspec.json.encode(spec), type=DagSpec)
    assert stored == spec, "what it drew is not the same after it was stored as JSON"
    for task in spec.tasks:
        _check_entry(task.entry, scratch.functions[task.entry])
    _check_outside(operator, arguments, options)
    return spec


def _check_entry(entry: str, function: Callable[..., Any]) -> None:
    """A host has nothing but the entry to find the task by."""
    try:
        found = resolve(entry)
    except Exception as error:
        raise AssertionError(
            f"a host cannot find its task `{entry}`: {error}; define it at the top level of a"
            " module that is installed with the package"
        ) from error
    assert found.function is function, f"`{entry}` leads to another task than the one drawn"


def _check_outside(
    operator: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """Outside of a dag an operator has nothing to draw on, and must not do its work at once."""
    try:
        operator(*arguments, **options)
    except DefinitionError:
        return
    except MainspringError as error:
        raise AssertionError(f"outside of a dag it raised {error!r}") from error
    raise AssertionError(
        "called outside of a dag it did something: begin with"
        " `mainspring.operators.options.require_drawing(name)`, which raises `DefinitionError`"
    )
