"""Cron lines of the benchmark: as many schedules as asked for, and as many fires a second."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.bench.lines import interleaved, lines_for

HOUR = datetime(2026, 11, 15, 12, tzinfo=UTC)


@given(schedules=st.integers(1, 20_000), rate=st.integers(1, 2_000))
def test_lines_cover_all_schedules_and_make_the_rate_where_cron_can(
    schedules: int, rate: int
) -> None:
    lines = lines_for(schedules, rate)
    assert sum(line.schedules for line in lines) == schedules
    fires = sum(line.fires(HOUR, HOUR + timedelta(hours=1)) for line in lines)
    if rate >= schedules:
        assert fires == 3600 * schedules
    elif 3600 * rate <= schedules:
        assert fires == schedules
    else:
        assert fires / 3600 == pytest.approx(rate, rel=0.02, abs=1)


def test_a_million_make_ten_thousand_in_every_second() -> None:
    lines = lines_for(1_000_000, 10_000)
    for second in range(0, 120, 7):
        at = HOUR + timedelta(seconds=second)
        fires = sum(line.fires(at, at + timedelta(seconds=1)) for line in lines)
        assert fires == pytest.approx(10_000, rel=0.001)


def test_a_window_counts_from_its_beginning_up_to_its_end() -> None:
    (line,) = lines_for(1, 1)
    assert line.fires(HOUR, HOUR + timedelta(seconds=3)) == 3
    half = timedelta(milliseconds=500)
    assert line.fires(HOUR + half, HOUR + timedelta(seconds=3) + half) == 3
    assert line.next_fire(HOUR) == HOUR


def test_neighbours_fire_at_different_seconds() -> None:
    lines = lines_for(1_000, 100)
    found = list(interleaved(lines))
    assert Counter(found) == {line: line.schedules for line in lines}
    assert all(one != other for one, other in pairwise(found[:500]))
