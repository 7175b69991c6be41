from __future__ import annotations

import contextlib
import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.durations import DURATION_SECONDS_MAX, format_duration, parse_duration
from mainspring.domain.errors import InputError


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("10m", 600),
        ("1h30m", 5400),
        ("1.5s", 1.5),
        ("250ms", 0.25),
        ("2d", 172800),
        ("1w", 604800),
        ("90", 90),
        (" 3 min 4 s ", 184),
        ("1H", 3600),
        (90, 90),
        (0, 0),
        (0.5, 0.5),
        (timedelta(minutes=1, milliseconds=500), 60.5),
    ],
)
def test_people_write_durations_in_many_ways(written: Any, seconds: float) -> None:
    assert parse_duration(written) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "written",
    [
        *("", " ", "soon", "m", "1h30", "1x", "1h 5h", "-1s", "1e3s", "s1", "1..5s", "١s", "nan"),
        *("9" * 200 + "s", "1m\x00", "40000d", True, None, [], timedelta(days=-1)),
        *(-1, -0.1, math.nan, math.inf, 10**400, DURATION_SECONDS_MAX + 1),
    ],
)
def test_what_is_no_duration_is_refused(written: Any) -> None:
    with pytest.raises(InputError, match="`first`: "):
        parse_duration(written, what="`first`")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0 s"),
        (0.0004, "0.4 ms"),
        (0.25, "250 ms"),
        (0.9996, "1 s"),
        (1.2, "1.2 s"),
        (3, "3 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (184, "3 min 4 s"),
        (3599.6, "1 h"),
        (3900, "1 h 5 min"),
        (86399, "1 d"),
        (2 * 86400 + 3 * 3600, "2 d 3 h"),
        (-1.2, "-1.2 s"),
        (math.inf, "forever"),
        (math.nan, "?"),
    ],
)
def test_durations_are_told_in_their_two_largest_units(seconds: float, told: str) -> None:
    assert format_duration(seconds) == told


@given(st.floats(min_value=0.001, max_value=DURATION_SECONDS_MAX / 2))
def test_what_is_told_can_be_parsed_and_is_near(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=0.05)


@given(st.integers(0, 30), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_written_units_add_up(days: int, hours: int, minutes: int, seconds: int) -> None:
    expected = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    assert parse_duration(f"{days}d{hours}h{minutes}m{seconds}s") == expected.total_seconds()


@given(st.text())
def test_any_text_is_a_duration_or_an_input_error(text: str) -> None:
    with contextlib.suppress(InputError):
        assert 0 <= parse_duration(text) <= DURATION_SECONDS_MAX
