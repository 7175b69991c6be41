"""The tables in `domain/states.py` are sound machines, and fold as the database stores them."""

from __future__ import annotations

from enum import StrEnum

import pytest

from mainspring.domain.states import (
    ATTEMPT,
    MACHINES,
    RUN,
    TASK,
    AttemptState,
    Machine,
    RunState,
    TaskState,
)

each_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)


def reached_from(start: str, machine: Machine) -> set[str]:
    reached, frontier = {start}, [start]
    while frontier:
        source = frontier.pop()
        targets = {move.target for move in machine.moves if move.source == source}
        frontier.extend(targets - reached)
        reached |= targets
    return reached


@pytest.mark.parametrize(
    ("machine", "states"), [(RUN, RunState), (TASK, TaskState), (ATTEMPT, AttemptState)]
)
def test_every_state_of_the_enum_has_its_facts_in_the_same_order(
    machine: Machine, states: type[StrEnum]
) -> None:
    assert list(machine.facts) == list(states)


@each_machine
def test_every_move_names_known_states_and_appears_once(machine: Machine) -> None:
    pairs = [(move.source, move.target) for move in machine.moves]
    assert {state for pair in pairs for state in pair} <= set(machine.facts)
    assert len(pairs) == len(set(pairs))
    assert all(source != target for source, target in pairs)
    assert all(move.when for move in machine.moves)


@each_machine
def test_allows_answers_from_the_table(machine: Machine) -> None:
    pairs = {(move.source, move.target) for move in machine.moves}
    allowed = {(a, b) for a in machine.facts for b in machine.facts if machine.allows(a, b)}
    assert allowed == pairs


@each_machine
def test_every_state_is_reachable_from_the_initial_one(machine: Machine) -> None:
    assert machine.initial in machine.open
    assert reached_from(machine.initial, machine) == set(machine.facts)


@each_machine
def test_every_open_state_can_reach_a_closed_one(machine: Machine) -> None:
    for state in machine.open:
        assert reached_from(state, machine) & machine.closed, state


@each_machine
def test_open_and_closed_divide_the_states(machine: Machine) -> None:
    assert machine.open | machine.closed == set(machine.facts)
    assert not machine.open & machine.closed


@pytest.mark.parametrize(
    ("machine", "reopened"), [(RUN, RunState.RUNNING), (TASK, TaskState.WAITING)]
)
def test_closed_states_leave_only_by_reopening(machine: Machine, reopened: str) -> None:
    ways_out = {
        (move.source, move.target) for move in machine.moves if move.source in machine.closed
    }
    assert ways_out == {(state, reopened) for state in machine.closed}


def test_a_closed_attempt_stays_closed() -> None:
    assert {move.source for move in ATTEMPT.moves} == ATTEMPT.open == {AttemptState.RUNNING}


def test_every_open_task_can_be_cancelled() -> None:
    for state in TASK.open:
        assert TASK.allows(state, TaskState.CANCELLED), state


@each_machine
def test_a_derived_state_stands_for_a_stored_one_of_the_same_kind(machine: Machine) -> None:
    for shown, stored in machine.derived.items():
        assert stored in machine.stored_states
        assert machine.facts[shown].closed == machine.facts[stored].closed


def test_the_stored_states_are_the_labels_of_the_enum_types() -> None:
    assert RUN.stored_states == ("running", "succeeded", "failed", "cancelled")
    assert TASK.stored_states == (
        "waiting",
        "ready",
        "backoff",
        "parked",
        "succeeded",
        "failed",
        "skipped",
        "upstream_failed",
        "cancelled",
    )
    assert ATTEMPT.stored_states == tuple(AttemptState)


def test_folding_gives_ready_the_moves_of_running() -> None:
    assert {target for source, target in TASK.stored() if source == TaskState.READY} == {
        TaskState.BACKOFF,
        TaskState.PARKED,
        TaskState.SUCCEEDED,
        TaskState.FAILED,
        TaskState.SKIPPED,
        TaskState.CANCELLED,
    }


def test_folding_leaves_out_moves_that_change_no_stored_state() -> None:
    assert RUN.stored() == {
        ("running", "succeeded"),
        ("running", "failed"),
        ("running", "cancelled"),
        ("succeeded", "running"),
        ("failed", "running"),
        ("cancelled", "running"),
    }


@each_machine
def test_folding_keeps_the_moves_between_stored_states(machine: Machine) -> None:
    stored = machine.stored()
    named = {state for pair in stored for state in pair}
    assert named <= set(machine.stored_states)
    for move in machine.moves:
        if move.source not in machine.derived and move.target not in machine.derived:
            assert (move.source, move.target) in stored
