"""The heat map of starts: which cell a minute falls into, and what its marks stand for."""

from __future__ import annotations

from array import array
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.cli.heat_map import BARS, bar_of, grid_of, heat_map, scale_for
from mainspring.schedule.simulating import Load
from mainspring.schedule.zones import zone_named

BERLIN = zone_named("Europe/Berlin")


def load(since: datetime, minutes: list[int]) -> Load:
    return Load(int(since.timestamp()) // 60, array("I", minutes), [], 0)


@given(st.lists(st.integers(1, 100_000), min_size=1))
def test_more_starts_never_have_a_lower_mark_and_the_most_have_the_highest(
    counts: list[int],
) -> None:
    scale = scale_for(counts)
    bars = [bar_of(count, scale) for count in sorted(counts)]
    assert bars == sorted(bars)
    assert bars[-1] == len(BARS) - 1
    assert min(bars) >= 0


def test_a_day_has_a_row_for_each_hour_and_a_cell_for_each_minute() -> None:
    minutes = [0] * 120
    minutes[3], minutes[90] = 7, 2
    grid = grid_of(load(datetime(2026, 7, 1, 22, 30, tzinfo=UTC), minutes), BERLIN)
    assert [row.label for row in grid.rows] == ["Thu 02 00h", "Thu 02 01h", "Thu 02 02h"]
    first, second, third = grid.rows
    assert first.cells[:30] == [None] * 30
    assert (first.cells[33], first.starts) == (7, 7)
    assert second.cells == [0] * 60
    assert third.cells[0] == 2
    assert third.cells[30:] == [None] * 30


def test_an_hour_that_clocks_show_twice_has_two_rows() -> None:
    grid = grid_of(load(datetime(2026, 10, 25, 0, 0, tzinfo=UTC), [1] * 120), BERLIN)
    assert [(row.label, row.starts) for row in grid.rows] == [
        ("Sun 25 02h", 60),
        ("Sun 25 02h", 60),
    ]


@pytest.mark.parametrize(
    ("days", "rows", "label"),
    [(3, 3, "Mon 2026-07-06"), (62, 62, "Mon 2026-07-06"), (63, 9, "week of 2026-07-06")],
)
def test_longer_ranges_have_days_and_weeks_and_the_busiest_minute_of_an_hour(
    days: int, rows: int, label: str
) -> None:
    minutes = [1] * (days * 1440)
    minutes[7 * 60 + 5] = 9
    grid = grid_of(load(datetime(2026, 7, 5, 22, 0, tzinfo=UTC), minutes), BERLIN)
    assert len(grid.rows) == rows
    assert grid.rows[0].label == label
    assert grid.rows[0].cells == [9 if hour == 7 else 1 for hour in range(24)]
    assert sum(row.starts for row in grid.rows) == sum(minutes)


def test_the_lines_stay_legible_without_colour_and_within_80_columns() -> None:
    lines = [
        line.plain
        for line in heat_map(
            grid_of(
                load(datetime(2026, 7, 5, tzinfo=UTC), [n % 60 % 7 * 9 for n in range(1440)]),
                BERLIN,
            )
        )
    ]
    assert max(map(len, lines[:-1])) <= 80
    assert lines[0].split() == ["00", "10", "20", "30", "40", "50"]
    assert lines[1].startswith("Sun 05 02h  ·▁▄▆▇██·▁▄▆▇██")
    assert lines[-1].startswith("starts in a minute: · 0  ▁ 9  ▂ 10-12  ▃ 13-15  ▄ 16-19  ▅ 20-25")
