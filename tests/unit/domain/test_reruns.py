"""Which tasks a rerun opens, and the words with which it refuses."""

from __future__ import annotations

import pytest

from mainspring.domain.errors import ConflictError, NotFoundError
from mainspring.domain.reruns import (
    Standing,
    TaskStanding,
    check_opening,
    named_tasks,
    undone_tasks,
    unmet_among,
    was_opened,
    with_descendants,
)
from mainspring.domain.states import TASK, TaskState

DIAMOND = ((), (0,), (0,), (1, 2))
CHAIN = ((), (0,), (1,), (2,))
FAILED, RUNNING, SKIPPED, SUCCEEDED = (
    TaskState.FAILED,
    TaskState.RUNNING,
    TaskState.SKIPPED,
    TaskState.SUCCEEDED,
)
UPSTREAM = TaskState.UPSTREAM_FAILED


def standing(
    before: tuple[tuple[int, ...], ...], *states: TaskState, stopped: bool = False
) -> Standing:
    tasks = [
        TaskStanding(f"t{node}", 1, state, 1, before[node]) for node, state in enumerate(states)
    ]
    return Standing(7, stopped, tasks)


def refusal(given: Standing, *chosen: int) -> ConflictError:
    with pytest.raises(ConflictError) as refused:
        check_opening(given, chosen)
    return refused.value


# --- choosing -----------------------------------------------------------------------------


def test_what_failed_never_ran_or_was_cancelled_is_taken_up() -> None:
    given = standing(((),) * 5, FAILED, SUCCEEDED, UPSTREAM, SKIPPED, TaskState.CANCELLED)
    assert undone_tasks(given) == [0, 2, 4]


def test_without_anything_undone_the_hint_says_how_to_run_it_all() -> None:
    with pytest.raises(ConflictError, match="no task of run 7 has failed") as refused:
        undone_tasks(standing(DIAMOND, SUCCEEDED, SUCCEEDED, SKIPPED, SKIPPED))
    assert "`mainspring run rerun 7 --all`" in refused.value.hint


def test_tasks_are_found_by_name_and_unknown_ones_get_a_hint() -> None:
    given = standing(CHAIN, *[SUCCEEDED] * 4)
    assert named_tasks(given, ["t2", "t0"]) == [2, 0]
    with pytest.raises(NotFoundError, match="run 7 has no task `t22`") as unknown:
        named_tasks(given, ["t1", "t22"])
    assert unknown.value.hint == "did you mean `t2`?"


@pytest.mark.parametrize(
    ("before", "chosen", "opened", "unmet"),
    [
        (CHAIN, [1], [1, 2, 3], [0, 1, 1]),
        (CHAIN, [3], [3], [0]),
        (DIAMOND, [1], [1, 3], [0, 1]),
        (DIAMOND, [2, 1], [1, 2, 3], [0, 0, 2]),
        (DIAMOND, [0], [0, 1, 2, 3], [0, 1, 1, 2]),
        (DIAMOND, [3, 0], [0, 1, 2, 3], [0, 1, 1, 2]),
    ],
)
def test_all_that_comes_after_a_chosen_task_is_opened_and_waits_for_what_is_opened(
    before: tuple[tuple[int, ...], ...], chosen: list[int], opened: list[int], unmet: list[int]
) -> None:
    given = standing(before, *[SUCCEEDED] * 4)
    assert with_descendants(given, chosen) == opened
    assert unmet_among(given, opened) == dict(zip(opened, unmet, strict=True))
    check_opening(given, chosen)


# --- refusing -----------------------------------------------------------------------------


@pytest.mark.parametrize("state", sorted(TASK.open))
def test_what_has_not_ended_is_not_opened(state: TaskState) -> None:
    given = standing(CHAIN, FAILED, state, UPSTREAM, UPSTREAM)
    refused = refusal(given, 0)
    assert str(refused) == "task `t1` of run 7 has not ended"
    assert "`mainspring run watch 7`" in refused.hint
    assert "`mainspring run cancel 7`" in refused.hint


def test_what_runs_elsewhere_is_not_in_the_way() -> None:
    check_opening(standing(((), (), (0,), (1,)), FAILED, RUNNING, UPSTREAM, TaskState.WAITING), [0])


def test_a_run_that_is_stopping_is_left_to_end() -> None:
    given = standing(((), ()), TaskState.CANCELLED, RUNNING, stopped=True)
    assert "run 7 was asked to stop, and has not ended" in str(refusal(given, 0))


def test_a_run_that_was_stopped_and_has_ended_is_opened() -> None:
    check_opening(standing(((), ()), TaskState.CANCELLED, SUCCEEDED, stopped=True), [0])


def test_a_task_after_one_that_still_runs_waits_with_its_rerun() -> None:
    given = standing(((), (), (0, 1)), FAILED, RUNNING, UPSTREAM)
    refused = refusal(given, 0, 2)
    assert str(refused) == "task `t2` of run 7 comes after `t1`, which has not ended"
    assert "`mainspring run watch 7`" in refused.hint


def test_a_task_after_one_that_failed_needs_that_one_to_run_again() -> None:
    refused = refusal(standing(CHAIN, SUCCEEDED, FAILED, UPSTREAM, UPSTREAM), 3)
    assert str(refused) == (
        "task `t3` of run 7 comes after `t2`, which did not succeed and would not run again"
    )
    assert refused.hint == "run `t1` again as well: `mainspring run rerun 7 --from t1`"


def test_the_hint_keeps_what_was_chosen_beside() -> None:
    given = standing(((), (), (0, 1)), SKIPPED, FAILED, UPSTREAM)
    refused = refusal(given, 1, 2)
    assert refused.hint == "run `t0` again as well: `mainspring run rerun 7 --from t0 --from t1`"


def test_a_long_list_of_causes_is_no_command_to_type() -> None:
    wide = ((),) * 12 + (tuple(range(12)),)
    refused = refusal(standing(wide, *[FAILED] * 12, UPSTREAM), 12)
    assert "and 3 more again as well: `mainspring run rerun 7 --all`" in refused.hint


# --- repeating ----------------------------------------------------------------------------


def test_a_repetition_is_told_by_the_generations() -> None:
    given = standing(CHAIN, *[SUCCEEDED] * 4)
    assert not was_opened(given, {1: 1, 2: 1})
    assert was_opened(given, {1: 0, 2: 0})


@pytest.mark.parametrize("seen", [{1: 0, 2: 1}, {1: -1}, {1: 2}])
def test_generations_of_somebody_else_are_a_conflict(seen: dict[int, int]) -> None:
    given = standing(CHAIN, *[SUCCEEDED] * 4)
    with pytest.raises(ConflictError, match="task `t1` of run 7 was opened by somebody else"):
        was_opened(given, seen)
