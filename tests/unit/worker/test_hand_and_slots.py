"""What a worker holds, and how much it may."""

from __future__ import annotations

from uuid import UUID

import msgspec
import pytest

from mainspring.domain.errors import InputError
from mainspring.domain.lanes import Lane, SlotKind
from mainspring.worker.hand import Hand, Holding
from mainspring.worker.slots import Slots, parse_slots
from tests.unit.store.test_floors import claimed


def holding(task_id: int, claim: int) -> Holding:
    row = msgspec.structs.replace(claimed(task_id), claim_id=UUID(int=claim))
    return Holding(row, SlotKind.ASYNC)


def test_a_claim_is_empty_when_its_last_task_is_reported() -> None:
    hand = Hand()
    one, two, other = holding(1, 1), holding(2, 1), holding(3, 2)
    hand.take([one, two, other])
    assert hand.emptied_by([one]) == []
    hand.let_go([one])
    assert hand.emptied_by([two, other]) == [UUID(int=1), UUID(int=2)]
    hand.let_go([two])
    assert hand.claims == [UUID(int=2)]
    assert len(hand) == 1


def test_slots_are_never_given_back_twice() -> None:
    slots = Slots({SlotKind.PROCESS: 2})
    slots.take(SlotKind.PROCESS, 1, 0.0)
    slots.give_back(SlotKind.PROCESS)
    with pytest.raises(AssertionError):
        slots.give_back(SlotKind.PROCESS)


def test_slots_are_never_overdrawn() -> None:
    slots = Slots({SlotKind.PROCESS: 2})
    slots.take(SlotKind.PROCESS, 2, 0.0)
    assert slots.free(SlotKind.PROCESS) == 0
    with pytest.raises(AssertionError):
        slots.take(SlotKind.PROCESS, 1, 0.0)


def test_slots_are_read_from_text() -> None:
    assert parse_slots("async=1000, process=2") == {SlotKind.ASYNC: 1000, SlotKind.PROCESS: 2}
    for text in ("", "async", "async=-1", "fibre=3", "async=1,async=2", "async=0", "async=x"):
        with pytest.raises(InputError):
            parse_slots(text)


def test_a_lane_is_a_queue_and_a_kind() -> None:
    numbers = {Lane(queue, kind).number for queue in range(1, 50) for kind in SlotKind}
    assert len(numbers) == 49 * len(SlotKind)
    assert all(Lane.of(number).number == number for number in numbers)


def test_short_tasks_are_held_ahead_and_one_long_task_ends_that() -> None:
    slots = Slots({SlotKind.PROCESS: 2})
    assert slots.free(SlotKind.PROCESS) == 2, "nothing is known of them yet"
    for now in range(10):
        slots.learn(SlotKind.PROCESS, 0.0001, now)
    assert slots.free(SlotKind.PROCESS) == 2 + 64
    slots.learn(SlotKind.PROCESS, 0.01, 10)
    assert slots.free(SlotKind.PROCESS) == 2 + 10
    slots.learn(SlotKind.PROCESS, 5.0, 11)
    assert slots.free(SlotKind.PROCESS) == 2


def test_what_waits_behind_a_long_task_is_found() -> None:
    slots = Slots({SlotKind.PROCESS: 1})
    slots.learn(SlotKind.PROCESS, 0.0001, 10.0)
    slots.take(SlotKind.PROCESS, 5, 20.0)
    assert slots.blocked(20.1) == [], "they came after a rest, and have only begun to wait"
    slots.take(SlotKind.PROCESS, 1, 20.2)
    assert slots.blocked(20.3) == [SlotKind.PROCESS]
    slots.give_back(SlotKind.PROCESS, 5)
    assert slots.blocked(20.3) == []


def test_nothing_is_held_ahead_behind_a_long_task_until_short_ones_have_ended() -> None:
    slots = Slots({SlotKind.PROCESS: 1})
    slots.learn(SlotKind.PROCESS, 0.0001, 10.0)
    slots.take(SlotKind.PROCESS, 33, 10.0)
    slots.give_back(SlotKind.PROCESS, 32)
    slots.expect_long(SlotKind.PROCESS)
    assert slots.free(SlotKind.PROCESS) == 0
    for _ in range(100):
        slots.learn(SlotKind.PROCESS, 0.0001, 11.0)
    assert slots.free(SlotKind.PROCESS) == 32


def test_kinds_with_many_slots_hold_nothing_ahead() -> None:
    slots = Slots({SlotKind.ASYNC: 1000})
    slots.learn(SlotKind.ASYNC, 0.0001, 10.0)
    assert slots.free(SlotKind.ASYNC) == 1000
