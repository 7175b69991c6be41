from __future__ import annotations

import asyncio
import dataclasses
import sys
import time
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest

from mainspring import (
    Command,
    DefinitionError,
    Fail,
    InputError,
    Retry,
    RetryPolicy,
    Skip,
    Task,
    task,
)
from mainspring.authoring.calling import (
    TRACE_LENGTH_MAX,
    ResultError,
    argument_vector,
    arguments_for,
    check_arguments,
    command_of,
    encode_result,
    outcome_of,
    resolve,
)
from mainspring.domain.outcomes import Failed, Skipped, decide
from mainspring.domain.specs import PAYLOAD_BYTES_MAX
from mainspring.domain.states import TaskState


class Colour(Enum):
    RED = "red"


@dataclasses.dataclass
class Sale:
    shop: str
    day: date


class Point(msgspec.Struct):
    x: int


@task
def typed(
    number: int,
    share: float,
    day: date,
    moment: datetime,
    length: timedelta,
    identity: UUID,
    price: Decimal,
    colour: Colour,
    sales: list[Sale],
    point: Point,
    pair: tuple[int, str],
    kinds: set[int],
    table: dict[int, str],
    maybe: int | None,
) -> None: ...


@task
def loose(first, second=2, *, third=3) -> None: ...  # type: ignore[no-untyped-def]


@task
def open_ended(day: date, **more: Any) -> None: ...


class Group:
    @staticmethod
    @task
    def inner() -> None: ...


not_a_task = 3


# --- resolve -------------------------------------------------------------------------------


def test_an_entry_leads_to_its_task() -> None:
    assert resolve(typed.spec.entry) is typed
    assert resolve(Group.inner.spec.entry) is Group.inner


def test_an_entry_is_imported_when_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fresh_module.py").write_text(
        "from mainspring import task\n@task\ndef work() -> int:\n    return 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert resolve("fresh_module:work")() == 7
    del sys.modules["fresh_module"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("no_such_module:work", "cannot be imported: ModuleNotFoundError: No module named"),
        (f"{__name__}:absent", "`absent` does not exist"),
        (f"{__name__}:absent.deeper", "does not exist"),
        (f"{__name__}:not_a_task", "is a `int` and not a task"),
        (f"{__name__}:make.<locals>.work", "is made inside a function"),
        (f"{__name__}:", "does not exist"),
        ("", "cannot be imported"),
    ],
)
def test_entries_that_lead_nowhere_say_why(entry: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        resolve(entry)


@pytest.mark.parametrize("statement", ["raise SystemExit(3)", "1 / 0", "def"])
def test_a_module_that_cannot_be_imported_is_the_cause(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad_module.py").write_text(statement)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DefinitionError, match="cannot be imported") as caught:
        resolve("bad_module:work")
    assert caught.value.__cause__ is not None


# --- arguments -----------------------------------------------------------------------------


def test_arguments_are_converted_to_the_annotated_types() -> None:
    raw = b"""{"number": 1, "share": 2, "day": "2026-01-02", "moment": "2026-01-02T03:04:05Z",
        "length": "PT90S", "identity": "12345678-1234-5678-1234-567812345678", "price": "1.10",
        "colour": "red", "sales": [{"shop": "a", "day": "2026-01-02"}], "point": {"x": 3},
        "pair": [1, "a"], "kinds": [1, 1], "table": {"5": "five"}, "maybe": null}"""
    arguments = arguments_for(typed, raw)
    assert arguments["day"] == date(2026, 1, 2)
    assert arguments["length"] == timedelta(seconds=90)
    assert arguments["identity"] == UUID("12345678-1234-5678-1234-567812345678")
    assert arguments["price"] == Decimal("1.10")
    assert arguments["colour"] is Colour.RED
    assert arguments["sales"] == [Sale("a", date(2026, 1, 2))]
    assert arguments["point"] == Point(3)
    assert arguments["pair"] == (1, "a")
    assert arguments["kinds"] == {1}
    assert arguments["table"] == {5: "five"}
    assert arguments["share"] == 2.0
    assert arguments["maybe"] is None
    assert arguments["moment"].utcoffset() == timedelta(0)


def test_without_annotations_arguments_are_json_data() -> None:
    assert arguments_for(loose, b'{"first": [1, {"a": null}]}') == {"first": [1, {"a": None}]}


def test_open_arguments_are_passed_through() -> None:
    arguments = arguments_for(open_ended, b'{"day": "2026-01-02", "more": 1, "x": "2026-01-02"}')
    assert arguments == {"day": date(2026, 1, 2), "more": 1, "x": "2026-01-02"}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"number": "1"}', "argument `number` of task `typed`: expected `int`, got `str`"),
        (b'{"sales": [{"shop": 1}]}', r"argument `sales\[0\].shop` of task"),
        (b'{"colour": "blue"}', "argument `colour` of task `typed`: invalid enum value 'blue'"),
        (b"[]", "the arguments of task `typed`: expected `object`, got `array`"),
        (b"{", "are not JSON"),
    ],
)
def test_arguments_that_do_not_fit_are_named(raw: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        arguments_for(typed, raw)


def test_annotations_that_json_cannot_meet_are_found_before_a_call() -> None:
    @task
    def opened(file: Path) -> None: ...

    with pytest.raises(DefinitionError, match=r"argument `file`: the type `pathlib\.Path`"):
        check_arguments(opened)


def test_arguments_are_read_in_a_few_microseconds() -> None:
    @task
    def simple(left: int, right: str = "x") -> None: ...

    raw = b'{"left": 1, "right": "a"}'
    arguments_for(simple, raw)
    best = min(_seconds_of_thousand(simple, raw) for _ in range(5))
    assert best / 1000 < 20e-6  # 0.6 µs when nothing disturbs


def _seconds_of_thousand(simple: Task[..., Any], raw: bytes) -> float:
    started = time.perf_counter()
    for _ in range(1000):
        arguments_for(simple, raw)
    return time.perf_counter() - started


# --- results -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (None, b"null"),
        ({"a": (1, 2.5, "é")}, '{"a":[1,2.5,"é"]}'.encode()),
        (date(2026, 1, 2), b'"2026-01-02"'),
        (UUID(int=0), b'"00000000-0000-0000-0000-000000000000"'),
        (Decimal("1.10"), b'"1.10"'),
        ({3}, b"[3]"),
        (Sale("a", date(2026, 1, 2)), b'{"shop":"a","day":"2026-01-02"}'),
        (Point(3), b'{"x":3}'),
        (Colour.RED, b'"red"'),
        (2**200, str(2**200).encode()),
        (-(2**63) - 1, str(-(2**63) - 1).encode()),
        ("a NUL \x00, and null as a word", None),
    ],
)
def test_results_are_json(value: Any, encoded: bytes | None) -> None:
    assert encode_result(value) == (encoded or msgspec.json.encode(value))


class Unprintable(Exception):
    def __str__(self) -> str:
        raise SystemExit("no")

    __repr__ = __str__


class Tricky:
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Tricky(), "the result: cannot be written as JSON, encoding objects of type Tricky"),
        (lambda: 1, "cannot be written as JSON"),
        ({"a": [None, float("nan")]}, "the result: `nan` cannot be written"),
        (float("-inf"), "the result: `-inf` cannot be written"),
        (Sale("\ud800", date(2026, 1, 2)), "lone surrogate"),
        ("x" * PAYLOAD_BYTES_MAX, "the result: too large, 4.0 MiB as JSON; the limit is 4.0 MiB"),
    ],
)
def test_results_that_cannot_be_stored_say_why(value: Any, message: str) -> None:
    with pytest.raises(ResultError, match=message):
        encode_result(value)
    assert issubclass(ResultError, InputError)


def test_a_result_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    with pytest.raises(ResultError, match="contains itself"):
        encode_result(loop)


def test_a_command_is_a_list_of_texts() -> None:
    @task(executor="command")
    def copy() -> list[str]:
        return ["cp", "a", "b"]

    assert argument_vector(copy, copy()) == ["cp", "a", "b"]
    for wrong in ("cp a b", [], [""], ["cp", 3], None, {"cp"}):
        with pytest.raises(ResultError, match="has to return its command as a list of texts"):
            argument_vector(copy, wrong)
    with pytest.raises(ResultError, match="NUL"):
        argument_vector(copy, ["cp", "a\x00"])


def test_a_command_may_come_with_its_surroundings() -> None:
    @task(executor="command")
    def copy() -> list[str]:
        return ["cp"]

    whole = Command(("cp", "a"), {"A": "1"}, "folder")
    assert command_of(copy, whole) == Command(["cp", "a"], {"A": "1"}, "folder")
    assert argument_vector(copy, whole) == ["cp", "a"]
    assert command_of(copy, ["cp"]) == Command(["cp"])
    wrongs: list[tuple[Any, str]] = [
        (Command([]), "has to return its command as a list of texts"),
        (Command(["cp"], env={"A": 1}), "not a mapping from text to text"),  # type: ignore[dict-item]
        (Command(["cp"], env=["A"]), "not a mapping from text to text"),  # type: ignore[arg-type]
        (Command(["cp"], env={"A=B": "1"}), "cannot hold the variable `A=B`"),
        (Command(["cp"], env={"A": "\x00"}), "cannot hold the variable `A`"),
        (Command(["cp"], cwd=""), "the `cwd` of its command is not a path"),
        (Command(["cp"], cwd=3), "the `cwd` of its command is not a path"),  # type: ignore[arg-type]
    ]
    for wrong, message in wrongs:
        with pytest.raises(ResultError, match=message):
            command_of(copy, wrong)


# --- outcomes ------------------------------------------------------------------------------


def raised(action: Callable[[], Any]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        action()
    return caught.value


def failure(exception: BaseException, of: Task[..., Any] = loose, attempt: int = 1) -> Failed:
    outcome = outcome_of(of, exception, attempt)
    assert isinstance(outcome, Failed)
    msgspec.json.encode(outcome)
    return outcome


@task
def raising(error: Any) -> None:
    helper(error)


def helper(error: Any) -> None:
    raise error


def test_an_exception_is_told_with_its_classes_and_a_trace_of_user_code() -> None:
    outcome = failure(raised(lambda: raising(LookupError("gone"))), raising)
    assert (outcome.error.type, outcome.error.message) == ("LookupError", "gone")
    assert outcome.error.types == ("LookupError", "Exception", "BaseException")
    lines = outcome.error.trace.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "in raising" in lines[1]
    assert lines[-1] == "LookupError: gone"
    assert "authoring/tasks.py" not in outcome.error.trace
    assert outcome.retry
    assert outcome.delay_seconds is None


def test_causes_are_part_of_the_trace() -> None:
    def wrap() -> None:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise RuntimeError("outer") from inner

    trace = failure(raised(wrap)).error.trace
    assert "KeyError: 'inner'" in trace
    assert trace.endswith("RuntimeError: outer")


def test_skip_fail_and_retry_say_how_the_attempt_ended() -> None:
    assert outcome_of(loose, Skip("nothing new"), 1) == Skipped("nothing new")
    failed = failure(Fail("hopeless"))
    assert (failed.retry, failed.error.message) == (False, "hopeless")
    again = failure(Retry("busy", after="1m"))
    assert (again.retry, again.delay_seconds, again.error.message) == (True, 60.0, "busy")
    assert failure(Retry()).delay_seconds is None


def test_retry_wins_over_give_up_on_but_not_over_the_number_of_attempts() -> None:
    stubborn = task(retry=RetryPolicy(attempts=2, give_up_on=Exception))(loose.function)
    again = outcome_of(stubborn, Retry(after=0), 1)
    assert decide(again, stubborn.spec, 1, 0, 0.0).state is TaskState.BACKOFF
    assert decide(again, stubborn.spec, 2, 0, 0.0).state is TaskState.FAILED
    hopeless = outcome_of(stubborn, OSError(), 1)
    assert decide(hopeless, stubborn.spec, 1, 0, 0.0).state is TaskState.FAILED


def test_give_up_on_matches_subclasses() -> None:
    picky = task(retry=RetryPolicy(attempts=5, give_up_on=(LookupError,)))(loose.function)
    ended = decide(outcome_of(picky, KeyError("x"), 1), picky.spec, 1, 0, 0.0)
    assert ended.state is TaskState.FAILED


@pytest.mark.parametrize("after", ["soon", -1, float("nan"), 1e12])
def test_a_wrong_rest_is_refused_where_it_is_raised(after: Any) -> None:
    with pytest.raises(InputError, match="`after`"):
        Retry(after=after)


@pytest.mark.parametrize(
    ("exception", "kind", "message"),
    [
        (SystemExit(3), "SystemExit", "sys.exit(3) was called"),
        (KeyboardInterrupt(), "KeyboardInterrupt", "interrupted"),
        (asyncio.CancelledError(), "CancelledError", ""),
        (Exception("a\x00b\ud800"), "Exception", "a\\x00b\\ud800"),
        (
            Unprintable(),
            "Unprintable",
            "<Unprintable that cannot be shown: SystemExit>",
        ),
        (InputError("wrong", hint="do it right"), "InputError", "wrong\nhint: do it right"),
        (
            ExceptionGroup("two", [ValueError(), KeyError()]),
            "ExceptionGroup",
            "two (2 sub-exceptions)",
        ),
    ],
)
def test_every_exception_becomes_an_error(
    exception: BaseException, kind: str, message: str
) -> None:
    error = failure(exception).error
    assert (error.type, error.message) == (kind, message)


def test_long_messages_and_traces_are_bounded() -> None:
    error = failure(ValueError("x" * 1_000_000)).error
    assert len(error.message) <= 4_000
    assert len(error.trace) <= TRACE_LENGTH_MAX

    def down(depth: int) -> int:
        return down(depth + 1) + 1

    trace = failure(raised(lambda: down(0))).error.trace
    assert len(trace) <= TRACE_LENGTH_MAX
    assert trace.endswith("RecursionError: maximum recursion depth exceeded")


def test_a_delay_function_decides_the_rest() -> None:
    answers: dict[int, float | str | None] = {1: 10, 2: "1m", 3: None}

    def by_error(attempt: int, error: BaseException) -> float | str | None:
        return answers[attempt]

    slow = task(retry=RetryPolicy(attempts=5, delay=by_error))(loose.function)
    assert failure(ValueError(), slow, 1).delay_seconds == 10.0
    assert failure(ValueError(), slow, 2).delay_seconds == 60.0
    assert failure(ValueError(), slow, 3).delay_seconds is None
    assert failure(Retry(after=5), slow, 1).delay_seconds == 5.0


@pytest.mark.parametrize("answer", [-1, "soon", float("inf"), object(), SystemExit(1)])
def test_a_delay_function_that_fails_is_survived_and_told(answer: Any) -> None:
    def broken(attempt: int, error: BaseException) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    slow = task(retry=RetryPolicy(attempts=5, delay=broken))(loose.function)
    outcome = failure(ValueError("x"), slow)
    assert outcome.delay_seconds is None
    assert "The delay function of the retry policy failed" in outcome.error.trace


def test_an_attempt_whose_task_could_not_be_found_has_an_outcome_too() -> None:
    outcome = outcome_of(None, raised(lambda: resolve("no_such_module:work")), 1)
    assert isinstance(outcome, Failed)
    assert "No module named 'no_such_module'" in outcome.error.message
