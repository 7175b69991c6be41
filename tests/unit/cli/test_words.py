"""Times, numbers and texts as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.cli import words

NOW = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "just now"),
        (0.4, "just now"),
        (1, "1 s ago"),
        (59.6, "1 min ago"),
        (150, "2 min ago"),
        (3600, "1 h ago"),
        (47 * 3600, "47 h ago"),
        (48 * 3600, "2 d ago"),
        (-38, "in 38 s"),
        (-599.99, "in 10 min"),
    ],
)
def test_a_distance_in_time_is_told_in_one_unit(seconds: float, text: str) -> None:
    assert words.ago(NOW - timedelta(seconds=seconds), NOW) == text


@pytest.mark.parametrize(
    ("number", "at_most", "text"),
    [(1, None, "1 task"), (0, None, "0 tasks"), (1200, None, "1,200 tasks"), (5, 5, "5+ tasks")],
)
def test_things_are_counted_in_words(number: int, at_most: int | None, text: str) -> None:
    assert words.counted(number, "task", at_most=at_most) == text


@given(st.text())
def test_safe_text_holds_nothing_that_steers_a_terminal(text: str) -> None:
    shown = words.safe(text)
    assert len(shown) == len(text)
    assert not any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in shown)


@given(st.text(), st.integers(2, 100))
def test_shortened_text_is_one_line_and_short(text: str, length: int) -> None:
    shown = words.shortened(text, length)
    assert len(shown) <= length
    assert "\n" not in shown


def test_safe_lines_keep_lines_and_tabs_only() -> None:
    assert words.safe_lines("a\tb\n\x1b[31mc\x00\r") == "a\tb\n␛[31mc␀␍"


@pytest.mark.parametrize("text", ["2026-11-15T01:00Z", "2026-11-15T02:00+01:00"])
def test_an_instant_with_a_zone_is_that_instant(text: str) -> None:
    assert words.parse_moment(text) == datetime(2026, 11, 15, 1, 0, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "tomorrow", "25:00", "2026-13-01", "0001-01-01T00:00+23:59"])
def test_what_is_no_instant_is_none(text: str) -> None:
    assert words.parse_moment(text) is None


def test_what_has_not_begun_took_no_time() -> None:
    assert words.lasted(None, None, NOW) == ""
    assert words.lasted(NOW, None, NOW + timedelta(seconds=1.5)) == "1.5 s"
    assert words.lasted(NOW, NOW - timedelta(seconds=1)) == "0 s"
