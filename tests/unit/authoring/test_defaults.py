"""`TaskDefaults`: what a dag says for its tasks, and which of them do not listen."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring import DefinitionError, RetryPolicy, TaskDefaults, dag, task
from mainspring.domain.lanes import SlotKind
from mainspring.domain.specs import RetrySpec, TaskSpec

ALL = TaskDefaults(
    retry=RetryPolicy(attempts=7),
    timeout="10m",
    queue="io",
    priority=8,
    executor="thread",
    max_lost=9,
    on_lost="fail",
)


@task
def silent() -> None: ...


@task
async def waits() -> None: ...


@task(executor="command")
def lists() -> list[str]:
    return ["ls"]


@task(
    retries=0,
    timeout="1s",
    queue="default",
    priority=5,
    executor="process",
    max_lost=3,
    on_lost="retry",
)
def stubborn() -> None: ...


def drawn(defaults: TaskDefaults | None) -> dict[str, TaskSpec]:
    @dag(defaults=defaults)
    def sample() -> None:
        silent()
        waits()
        lists()
        stubborn()
        silent.named("renamed")()

    return {spec.name: spec for spec in sample.spec.tasks}


def test_a_task_that_says_nothing_gets_the_defaults_of_its_dag() -> None:
    tasks = drawn(ALL)
    for name in ("silent", "renamed"):
        spec = tasks[name]
        assert spec.retry == RetryPolicy(attempts=7).spec
        assert (spec.timeout_seconds, spec.queue, spec.priority) == (600.0, "io", 8)
        assert (spec.kind, spec.max_lost, spec.on_lost) == (SlotKind.THREAD, 9, "fail")


def test_what_a_task_says_itself_stays_even_if_it_is_the_usual() -> None:
    assert drawn(ALL)["stubborn"] == drawn(None)["stubborn"]


def test_an_executor_for_all_is_for_plain_functions_only() -> None:
    tasks = drawn(ALL)
    assert tasks["waits"].kind is SlotKind.ASYNC
    assert tasks["lists"].kind is SlotKind.COMMAND
    assert tasks["waits"].queue == tasks["lists"].queue == "io"


def test_defaults_leave_the_task_itself_alone() -> None:
    drawn(ALL)
    assert silent.spec.retry == RetrySpec()
    assert drawn(None)["silent"] == silent.spec
    assert silent.as_dag().tasks[0].queue == "default"


def test_defaults_are_part_of_the_graph() -> None:
    def body() -> None:
        silent()

    plain = dag(name="x")(body).spec
    assert dag(name="x", defaults=TaskDefaults())(body).spec.digest() == plain.digest()
    assert dag(name="x", defaults=ALL)(body).spec.digest() != plain.digest()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retries": -1}, "`TaskDefaults`: `retries`: expected a whole number"),
        ({"retries": 1, "retry": RetryPolicy()}, "`TaskDefaults`: `retries` and `retry` both"),
        ({"retry": 3}, "`TaskDefaults`: `retry`: expected a `RetryPolicy`, got `int`"),
        ({"retry": RetryPolicy(delay=lambda n, e: n)}, "`TaskDefaults`: `retry`: a `delay`"),
        ({"timeout": "soon"}, "`TaskDefaults`: `timeout`"),
        ({"timeout": 0}, "`TaskDefaults`: `timeout`: must be longer than nothing"),
        ({"queue": "a b/c"}, "the name `a b/c` of the queue of `TaskDefaults`"),
        ({"priority": 10}, "`TaskDefaults`: `priority`: expected a whole number from 0 to 9"),
        ({"executor": "async"}, "`TaskDefaults`: `executor`: expected one of"),
        ({"executor": "command"}, "`TaskDefaults`: `executor`: expected one of"),
        ({"max_lost": 0}, "`TaskDefaults`: `max_lost`: expected a whole number"),
        ({"on_lost": "cry"}, "`TaskDefaults`: `on_lost`: expected one of"),
    ],
)
def test_bad_defaults_are_refused_where_they_are_written(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DefinitionError) as error:
        TaskDefaults(**options)
    assert error.value.message.startswith(message)


def test_defaults_that_are_something_else_are_refused() -> None:
    given: Any = {"retries": 2}
    with pytest.raises(DefinitionError, match="expected `TaskDefaults`, got `dict`"):
        dag(name="x", defaults=given)(lambda: None)
