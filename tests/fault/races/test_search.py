"""The search plays each class of equal orders exactly once, compared with all orders there are."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from tests.fault.races.search import Search, Strayed
from tests.fault.races.stepper import Ending, Step

pytestmark = pytest.mark.fault

HERE, THERE = frozenset({"here"}), frozenset({"there"})
READ, WRITE = Step("read", reads=HERE), Step("write", HERE, HERE)
READ_THERE, WRITE_THERE = Step("read there", reads=THERE), Step("write there", THERE, THERE)
COMMIT = Step("commit", ending=Ending.COMMIT, last=True)
ROLL_BACK = Step("roll back", ending=Ending.ROLL_BACK, last=True)

PLANS = [
    [[WRITE, COMMIT], [WRITE, COMMIT]],
    [[READ, COMMIT], [WRITE, COMMIT]],
    [[WRITE, COMMIT], [WRITE_THERE, COMMIT]],
    [[READ, WRITE, COMMIT], [WRITE, READ_THERE, ROLL_BACK]],
    [[READ, READ_THERE, WRITE, COMMIT], [WRITE, WRITE_THERE, COMMIT]],
    [[READ, WRITE, ROLL_BACK], [WRITE, READ, WRITE_THERE, COMMIT]],
    [[WRITE, COMMIT], [READ, COMMIT], [WRITE, ROLL_BACK]],
    [[WRITE_THERE, COMMIT], [READ_THERE, COMMIT], [WRITE, ROLL_BACK]],
]

Plan = list[list[Step]]
Order = tuple[int, ...]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_each_class_of_equal_orders_is_played_exactly_once(plan: Plan, seed: int | None) -> None:
    played = _searched(plan, Search(None if seed is None else Random(seed)))
    every = {_class_of(plan, order) for order in _merges(plan)}
    classes = [_class_of(plan, order) for order in played]
    assert len(classes) == len(set(classes)), "an order was played twice"
    assert set(classes) == every


def test_a_search_that_is_led_astray_goes_on_from_there() -> None:
    search = Search()
    steps = {1: WRITE, 2: WRITE, 3: WRITE}
    assert [search.choose(steps, parked=False) for _ in range(2)] == [1, 1]
    assert search.back()
    elsewhere = {2: WRITE, 3: WRITE}
    assert search.choose(steps, parked=False) == 1
    assert search.choose(elsewhere, parked=False) == 2
    assert search.back()
    assert search.choose(steps, parked=False) == 1
    assert search.choose(elsewhere, parked=False) == 3


def test_a_search_that_strays_all_the_time_gives_up() -> None:
    search = Search()

    def stray() -> None:
        for number in range(1000):
            search.choose({number: WRITE, number + 1: WRITE}, parked=False)
            search.back()

    with pytest.raises(Strayed):
        stray()


def _searched(plan: Plan, search: Search) -> list[Order]:
    """What the search plays if nobody ever waits."""
    played = []
    more = True
    while more:
        order: list[int] = []
        while steps := _possible(plan, order):
            chosen = search.choose(steps, parked=False)
            if chosen is None:
                break
            order.append(chosen)
        else:
            played.append(tuple(order))
        more = search.back()
    return played


def _possible(plan: Plan, order: list[int]) -> dict[int, Step]:
    done = {number + 1: order.count(number + 1) for number in range(len(plan))}
    return {
        number: _step(plan, number, count)
        for number, count in done.items()
        if count < len(plan[number - 1])
    }


def _step(plan: Plan, number: int, count: int) -> Step:
    """An ending has touched what the statements before it touched."""
    steps = plan[number - 1]
    touched = frozenset().union(*(step.touches for step in steps))
    return steps[count]._replace(touches=touched) if steps[count].ending else steps[count]


def _merges(plan: Plan) -> set[Order]:
    steps = [number + 1 for number, each in enumerate(plan) for _ in each]
    return set(itertools.permutations(steps))


def _class_of(plan: Plan, order: Order) -> frozenset[tuple[tuple[int, int], tuple[int, int]]]:
    """An order up to swaps: which of each two steps that cannot be swapped came first."""
    steps = [(number, order[:place].count(number)) for place, number in enumerate(order)]
    return frozenset(
        (first, second)
        for first, second in itertools.combinations(steps, 2)
        if first[0] != second[0]
        and not _equal_if_swapped(_step(plan, *first), _step(plan, *second))
    )


def _equal_if_swapped(one: Step, other: Step) -> bool:
    match (one.ending, other.ending):
        case (None, None):
            return not one.touches & other.touches
        case (None, Ending.COMMIT):
            return not one.reads & other.touches
        case (None, _):
            return not one.touches & other.touches
        case (_, None):
            return _equal_if_swapped(other, one)
        case _:
            return True
