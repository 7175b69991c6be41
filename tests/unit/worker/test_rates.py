"""What a worker tells of its own speed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.worker.rates import LANES_MAX, WINDOW_SECONDS, Rates


def test_a_rate_is_what_ended_in_the_last_seconds_by_lane() -> None:
    rates = Rates(0.0)
    rates.ended([8, 8, 16])
    assert rates.tell(5.0) == {8: 0.4, 16: 0.2}
    rates.ended([8] * 8)
    assert rates.tell(10.0) == {8: 1.0, 16: 0.1}
    assert rates.tell(15.0) == {8: 0.8}
    assert rates.tell(20.0) == {}


@given(
    st.lists(st.tuples(st.floats(0.01, 8.0), st.integers(0, 50)), min_size=1),
)
def test_however_often_it_is_told_it_is_what_ended_over_the_time_it_took(
    steps: list[tuple[float, int]],
) -> None:
    rates, now = Rates(0.0), 0.0
    ended: list[tuple[float, float, int]] = []
    for seconds, count in steps:
        rates.ended([1] * count)
        ended.append((now, now + seconds, count))
        now += seconds
        told = rates.tell(now).get(1, 0.0)
        within = [each for each in ended if each[1] > now - WINDOW_SECONDS] or ended[-1:]
        expected = sum(count for _, _, count in within) / (now - within[0][0])
        assert told == pytest.approx(expected, abs=0.001)


def test_only_the_busiest_lanes_are_told() -> None:
    rates = Rates(0.0)
    for lane in range(LANES_MAX + 10):
        rates.ended([lane] * (lane + 1))
    told = rates.tell(1.0)
    assert len(told) == LANES_MAX
    assert min(told) == 10
