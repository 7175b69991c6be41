"""Depth, ranges, hosts, tags and cursors, against plain ways of finding the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.api.answers import etag_of, same_tag, takes_gzip
from mainspring.api.decoding import DEPTH_MAX, check_depth
from mainspring.api.frame import host_name
from mainspring.api.pages import cursor_of, id_of
from mainspring.api.problems import Refusal

json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='[]{}"\\a\n', max_size=200),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner),
)


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


@given(json_data, st.integers(0, DEPTH_MAX + 10))
def test_depth_is_what_is_nested_and_not_what_texts_hold(value: object, more: int) -> None:
    for _ in range(more):
        value = [value]
    content = json.dumps(value).encode()
    if depth_of(value) > DEPTH_MAX:
        with pytest.raises(Refusal):
            check_depth(content)
    else:
        check_depth(content)


@given(st.integers(0, 10**18 - 1))
def test_a_cursor_leads_back_to_its_place(place: int) -> None:
    assert id_of("run", cursor_of("run", place)) == place
    with pytest.raises(Refusal):
        id_of("dag", cursor_of("run", place))


@given(st.text(max_size=100) | st.text(alphabet="abcnu:09-_=VjOg", max_size=100))
def test_a_cursor_that_is_none_is_refused_and_nothing_else_happens(text: str) -> None:
    try:
        place = id_of("run", text)
    except Refusal:
        return
    assert place is not None
    assert 0 <= place < 10**18


@given(st.binary(), st.binary())
def test_tags_are_equal_if_and_only_if_the_answers_are(one: bytes, other: bytes) -> None:
    assert same_tag(etag_of(one).decode(), etag_of(other)) == (one == other)
    assert same_tag(f'"x", {etag_of(one).decode()}', etag_of(one))
    assert same_tag("*", etag_of(one))
    assert not same_tag(None, etag_of(one))


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip", True),
        ("br, gzip;q=0.5", True),
        ("*", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0", False),
        ("identity", False),
        ("", False),
        ("xgzip", False),
    ],
)
def test_who_takes_gzip(accepted: str, takes: bool) -> None:
    assert takes_gzip(accepted) is takes


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("localhost", "localhost"),
        ("localhost:8470", "localhost"),
        ("[::1]:8470", "::1"),
        ("[::1]", "::1"),
        ("10.0.0.1:80", "10.0.0.1"),
        ("", ""),
    ],
)
def test_the_name_in_a_host_header(given: str, name: str) -> None:
    assert host_name(given) == name
