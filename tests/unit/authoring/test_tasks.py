from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import date, timedelta
from typing import Any

import pytest

from mainspring import DefinitionError, RetryPolicy, TaskDefaults, dag, task
from mainspring.domain.lanes import SlotKind
from mainspring.domain.specs import Parameter


@task
def add(left: int, right: int = 1) -> int:
    """Add two numbers.

    This line is not part of the description.
    """
    return left + right


@task
async def fetch(url: str) -> str:
    return url


def test_a_task_called_outside_of_a_dag_is_its_function() -> None:
    assert add(2, right=3) == 5
    assert add.named("other")(2) == 3


async def test_an_async_task_called_outside_of_a_dag_is_awaited_like_its_function() -> None:
    assert await fetch("x") == "x"


def test_a_task_takes_name_description_and_entry_from_its_function() -> None:
    assert add.name == "add"
    assert getattr(add, "__name__") == "add"  # noqa: B009
    assert add.spec.description == "Add two numbers."
    assert add.spec.entry == f"{__name__}:add"


def test_plain_functions_run_in_processes_and_async_ones_in_the_loop() -> None:
    assert add.spec.kind is SlotKind.PROCESS
    assert fetch.spec.kind is SlotKind.ASYNC


def test_options_are_kept() -> None:
    @task(
        name="load.rows-2",
        retries=3,
        timeout="10m",
        queue="io",
        priority=9,
        executor="thread",
        max_lost=1,
        on_lost="fail",
    )
    def load() -> None: ...

    spec = load.spec
    assert (spec.name, spec.queue, spec.priority, spec.kind) == ("load.rows-2", "io", 9, "thread")
    assert (spec.timeout_seconds, spec.max_lost, spec.on_lost) == (600.0, 1, "fail")
    assert spec.retry.attempts == 4


@pytest.mark.parametrize("timeout", ["90s", 90, 90.0, timedelta(seconds=90)])
def test_a_timeout_is_text_a_number_or_a_timedelta(timeout: Any) -> None:
    assert task(timeout=timeout)(lambda_free).spec.timeout_seconds == 90.0


def lambda_free() -> None: ...


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retries": 1, "retry": RetryPolicy()}, "both say how often"),
        ({"retries": -1}, "`retries`: expected a whole number"),
        ({"retries": True}, "`retries`: expected a whole number"),
        ({"retry": 3}, "expected a `RetryPolicy`"),
        ({"timeout": "soon"}, "`timeout`: `soon` is not a length of time"),
        ({"timeout": 0}, "longer than nothing"),
        ({"timeout": -1}, "cannot be negative"),
        ({"priority": 10}, "from 0 to 9"),
        ({"priority": 1.5}, "from 0 to 9"),
        ({"executor": "docker"}, "expected one of `async`, `thread`, `process` and `command`"),
        ({"executor": "async"}, "a plain function cannot run"),
        ({"max_lost": 0}, "from 1 to 1000"),
        ({"on_lost": "cry"}, "expected one of `retry` and `fail`"),
        ({"queue": "a b"}, "may only hold"),
        ({"name": ""}, "is empty"),
        ({"name": "a/b"}, "may only hold"),
        ({"name": "a\x00b"}, r"`a\\x00b` of a task may only hold"),
        ({"name": "naïve"}, "may only hold"),
        ({"name": "x" * 201}, "longer than 200"),
        ({"name": ".."}, "not a dot"),
        ({"name": 7}, "is not text"),
    ],
)
def test_wrong_options_are_refused_with_the_reason(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        task(**options)(lambda_free)


@pytest.mark.parametrize("executor", ["process", "thread", "command"])
def test_an_async_function_runs_in_the_loop_only(executor: Any) -> None:
    async def wait() -> None: ...

    with pytest.raises(DefinitionError, match="an async function cannot run"):
        task(executor=executor)(wait)


def star(*items: int) -> None: ...


def positional(left: int, /) -> None: ...


def generate() -> Iterator[int]:
    yield 1


async def generate_async() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (star, r"`\*items` cannot be used"),
        (positional, "`left` is positional-only"),
        (generate, "a generator cannot be a task"),
        (generate_async, "a generator cannot be a task"),
        (lambda: 1, "`<lambda>` of a task may only hold"),
        (7, "is empty"),
        (dict, "expected a function"),
    ],
)
def test_what_cannot_be_a_task_is_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        task(function)


def test_attributes_that_other_decorators_leave_on_a_function_are_not_ours() -> None:
    def patient() -> None: ...

    patient.retry = "theirs"  # type: ignore[attr-defined]
    assert task(patient).retry is None


def test_a_lone_task_is_a_dag_with_the_parameters_of_its_function() -> None:
    spec = add.as_dag()
    assert spec.name == "add"
    assert spec.edges == ()
    left, right = spec.parameters
    assert (left.name, left.required, left.schema) == ("left", True, {"type": "integer"})
    assert (right.name, right.required, right.default) == ("right", False, 1)
    (only,) = spec.tasks
    assert only.arguments == {"left": Parameter("left"), "right": Parameter("right")}


def test_defaults_of_a_lone_task_become_json() -> None:
    @task
    def report(day: date = date(2026, 1, 2)) -> None: ...

    assert report.as_dag().parameters[0].default == "2026-01-02"


def test_a_lone_task_with_open_arguments_has_no_dag() -> None:
    @task
    def anything(**values: Any) -> None: ...

    with pytest.raises(DefinitionError, match=r"`\*\*values` cannot be used here"):
        anything.as_dag()


def test_an_annotation_that_cannot_be_looked_up_is_named() -> None:
    @task
    def strange(value: Unheard) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(DefinitionError, match="uses `Unheard`, which is not known"):
        strange.as_dag()


# --- options of one call -------------------------------------------------------------------


def test_options_can_be_given_where_a_task_is_called() -> None:
    @task(retries=1, queue="io")
    def load(table: str) -> None:
        """Load a table."""

    @dag(defaults=TaskDefaults(priority=9, timeout="1m"))
    def sample() -> None:
        load("a")
        load.with_options(
            name="heavy", timeout="1h", priority=1, queue="big", max_lost=1, description="Slow."
        )("b")
        load.with_options(retries=4, on_lost="fail")("c")

    plain, heavy, keen = sample.spec.tasks
    assert (plain.name, plain.queue, plain.priority, plain.timeout_seconds) == ("load", "io", 9, 60)
    assert (heavy.name, heavy.queue, heavy.priority) == ("heavy", "big", 1)
    assert (heavy.timeout_seconds, heavy.max_lost, heavy.retry) == (3600, 1, plain.retry)
    assert (heavy.description, plain.description) == ("Slow.", "Load a table.")
    assert (keen.name, keen.retry.attempts, keen.on_lost) == ("load_2", 5, "fail")
    assert (heavy.entry, keen.entry) == (plain.entry, plain.entry)
    assert load.spec.queue == "io"


def test_a_delay_function_belongs_to_the_function_and_not_to_a_call() -> None:
    @task
    def load() -> None: ...

    with pytest.raises(DefinitionError, match="a `delay` function cannot be given here"):
        load.with_options(retry=RetryPolicy(delay=lambda number, error: number))
