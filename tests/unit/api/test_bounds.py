"""What the document tells of values is what the checks further in say of them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from mainspring.api.preconditions import TAG_PATTERN, Expected, expected_version
from mainspring.api.problems import Refusal
from mainspring.api.repeating import KEY_PATTERN
from mainspring.domain.names import NAME_LENGTH_MAX, NAME_PATTERN, name_problem


@given(st.text(alphabet="aZ0_.- \n/é", max_size=NAME_LENGTH_MAX))
def test_a_name_fits_the_pattern_if_and_only_if_it_is_one(name: str) -> None:
    # `$` of the document's regular expressions is the end; in Python that is `\Z`.
    fits = re.fullmatch(NAME_PATTERN.removesuffix("$"), name) is not None
    assert fits == (name_problem(name) is None)


def test_a_key_may_hold_what_can_be_printed_of_what_a_header_can_hold() -> None:
    for number in range(256):
        fits = re.fullmatch(KEY_PATTERN, chr(number)) is not None
        assert fits == chr(number).isprintable(), number


@given(st.from_regex(TAG_PATTERN, fullmatch=True) | st.text(alphabet='W/"3.f*', max_size=6))
def test_a_version_fits_the_pattern_if_and_only_if_it_is_one(text: str) -> None:
    fits = re.fullmatch(rf"\*|{TAG_PATTERN}", text.strip()) is not None
    try:
        version = expected_version(Headers({"if-match": text}))
    except (Refusal, UnicodeEncodeError):
        assert not fits
    else:
        assert fits
        assert isinstance(version, int) or version is Expected.ANY
