"""What differs between two runs."""

from __future__ import annotations

from mainspring.domain.comparing import Facts, compare_tasks, compare_values
from mainspring.domain.states import TaskState


def facts(state: TaskState = TaskState.SUCCEEDED, *, result: bytes | None = None) -> Facts:
    return Facts(state, 1, 1.0, result, None if result is None else len(result))


def test_tasks_are_paired_by_name_and_what_is_gone_stays_in_its_place() -> None:
    first = {name: facts() for name in ("a", "gone", "b", "c")}
    second = {name: facts() for name in ("a", "b", "new", "c")}
    pairs = compare_tasks(first, second)
    assert [pair.name for pair in pairs] == ["a", "gone", "b", "new", "c"]
    assert [pair.changed for pair in pairs] == [[], ["there"], [], ["there"], []]


def test_states_and_results_that_differ_are_named() -> None:
    [pair] = compare_tasks({"a": facts(result=b"1")}, {"a": facts(TaskState.FAILED, result=b"2")})
    assert pair.changed == ["state", "result"]
    [pair] = compare_tasks({"a": facts()}, {"a": facts(result=b"null")})
    assert pair.changed == []


def test_parameters_differ_by_value_or_by_being_there() -> None:
    values = compare_values({"a": 1, "b": 2, "c": None}, {"a": 1, "b": 3, "d": 4})
    assert [value.name for value in values] == ["b", "c", "d"]
