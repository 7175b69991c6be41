"""What a task may know of its attempt, apart from any host."""

from __future__ import annotations

import contextvars
import pickle
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring import Context, DefinitionError, InputError, context, dag, task
from mainspring.authoring.context import Attempt, enter

DUE_AT = datetime(2026, 11, 15, 1, tzinfo=UTC)


class Told(msgspec.Struct, frozen=True):
    attempt: Attempt
    arguments: bytes


def attempt(
    *,
    number: int = 1,
    generation: int = 1,
    epoch: int = 1,
    term: int = 1,
    parameters: bytes | None = b'{"day":"today"}',
) -> Attempt:
    return Attempt(4711, "orders", "pay", number, generation, epoch, term, DUE_AT, parameters)


def asked_in(told: Attempt, arguments: bytes = b'{"amount":3}') -> Context:
    def ask() -> Context:
        enter(Told(told, arguments))
        return context()

    return contextvars.Context().run(ask)


def test_a_task_knows_its_run_its_attempt_and_its_keys() -> None:
    here = asked_in(attempt(number=2, generation=3))
    assert (here.run_id, here.dag, here.task) == (4711, "orders", "pay")
    assert (here.attempt, here.generation, here.due_at) == (2, 3, DUE_AT)
    assert here.idempotency_key == "4711/pay/3"
    assert here.attempt_key == "orders/4711/pay/2"


def test_a_retry_keeps_the_idempotency_key_and_nothing_else() -> None:
    first, second = asked_in(attempt()), asked_in(attempt(number=2, term=2))
    assert first.idempotency_key == second.idempotency_key
    assert first.attempt_key != second.attempt_key
    assert first.fencing_token < second.fencing_token


_FENCES = st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))


@given(_FENCES, _FENCES)
def test_tokens_are_in_the_order_of_epoch_and_then_term(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    tokens = [asked_in(attempt(epoch=e, term=t)).fencing_token for e, t in (one, other)]
    assert (tokens[0] < tokens[1]) == (one < other)
    assert max(tokens) < 2**63, "fits into a bigint"


def test_parameters_are_those_of_the_run_and_cannot_be_changed() -> None:
    parameters: Any = asked_in(attempt()).parameters
    assert parameters == {"day": "today"}
    with pytest.raises(TypeError):
        parameters["day"] = "tomorrow"


def test_parameters_that_are_the_arguments_are_not_told_twice() -> None:
    assert asked_in(attempt(parameters=None), b'{"day":1}').parameters == {"day": 1}


def test_a_context_is_made_once_and_cannot_be_changed() -> None:
    def ask() -> tuple[Context, Context]:
        enter(Told(attempt(), b"{}"))
        return context(), context()

    first, second = contextvars.Context().run(ask)
    assert first is second
    with pytest.raises(FrozenInstanceError):
        first.attempt = 9  # type: ignore[misc]


def test_a_context_can_be_handed_to_another_process() -> None:
    here = asked_in(attempt())
    assert here.parameters
    there = pickle.loads(pickle.dumps(here))
    assert there == here
    assert there.parameters == here.parameters


def test_outside_of_a_task_there_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(DefinitionError, match="does not run in a task") as raised:
        context()
    assert "copy_context" in raised.value.hint


def test_while_a_dag_is_drawn_there_is_no_context() -> None:
    @task
    def pay(key: str) -> None: ...

    @dag
    def orders() -> None:
        pay(context().idempotency_key)

    with pytest.raises(DefinitionError, match="while a dag is drawn"):
        _ = orders.spec


def test_a_task_called_as_a_function_has_no_context_of_its_own() -> None:
    @task
    def key() -> str:
        return context().idempotency_key

    with pytest.raises(DefinitionError):
        key()

    def inside() -> Any:
        enter(Told(attempt(), b"{}"))
        return key()

    assert contextvars.Context().run(inside) == "4711/pay/1"


# --- progress and log ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "text", "told"),
    [
        (50, "half way", (50.0, "half way")),
        (-3, "", (0.0, "")),
        (100.0000001, "", (100.0, "")),
        (float("inf"), "", (100.0, "")),
        (1, " two\nlines\tand\x00nul ", (1.0, "two lines and nul")),
        (1, "x" * 201, (1.0, "x" * 200)),
        (1, "\ud800", (1.0, "?")),
    ],
)
def test_progress_is_told_within_its_bounds(
    percent: float, text: str, told: tuple[float, str]
) -> None:
    heard: list[tuple[float, str]] = []
    here = replace(asked_in(attempt()), report=lambda *progress: heard.append(progress))
    here.progress(percent, text)
    assert heard == [told]


@pytest.mark.parametrize(
    ("percent", "text"), [("50", ""), (None, ""), (True, ""), (float("nan"), ""), (5, 7)]
)
def test_progress_that_is_none_is_refused(percent: Any, text: Any) -> None:
    with pytest.raises(InputError, match="progress: expected"):
        asked_in(attempt()).progress(percent, text)


def test_progress_outside_of_a_worker_is_told_to_nobody() -> None:
    asked_in(attempt()).progress(50, "half way")


def test_records_of_the_logger_say_which_attempt_they_are_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    here = asked_in(attempt(number=2))
    here.log.warning("%s left", 3, extra={"colour": "red", "task": "forged"})
    (record,) = caplog.records
    assert (record.name, record.getMessage()) == ("mainspring.orders.pay", "3 left")
    facts = vars(record)
    assert (facts["run_id"], facts["dag"], facts["task"]) == (4711, "orders", "pay")
    assert (facts["attempt"], facts["colour"]) == (2, "red")
    assert here.log is here.log
