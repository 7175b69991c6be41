"""Which failures look alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.dead_letters import common_words, likeness
from mainspring.domain.outcomes import Error


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("order 17 is gone", "order <number> is gone"),
        ("took 1.5 s at 12:30:01", "took <number> s at <number>"),
        ("no row for 'ann' in \"people\"", "no row for <text> in <text>"),
        ("it doesn't fit, it isn't there", "it doesn't fit, it isn't there"),
        ("<object at 0x7f12ab> broke", "<object at <id>> broke"),
        ("job 4f5c2a9e-1b1c-4a7e-9a53-0242ac120002 is late", "job <id> is late"),
        ("commit deadbeef01 is missing", "commit <id> is missing"),
        ("the facade decade", "the facade decade"),
        ("10.0.0.7:5432 refused", "<number> refused"),
        ("two\n  lines", "two lines"),
        ("", ""),
    ],
)
def test_what_differs_from_case_to_case_is_left_out(message: str, words: str) -> None:
    assert common_words(message) == words


def test_errors_are_alike_by_type_and_common_words() -> None:
    assert likeness(Error("A", "order 1")) == likeness(Error("A", "order 22", trace="elsewhere"))
    assert likeness(Error("A", "order 1")) != likeness(Error("B", "order 1"))
    assert likeness(Error("A", "order 1")) != likeness(Error("A", "bill 1"))


@given(st.text())
def test_any_text_has_common_words_that_stay_the_same(message: str) -> None:
    words = common_words(message)
    assert not any(c.isascii() and c.isdigit() for c in words)
    likeness(Error(message, message))


@given(st.text(alphabet=st.characters(codec=None)), st.integers(0), st.integers(0))
def test_numbers_do_not_tell_errors_apart(text: str, one: int, other: int) -> None:
    assert likeness(Error("E", f"{text} {one}")) == likeness(Error("E", f"{text} {other}"))
