"""What is sent: paths, queries and bodies."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from mainspring.domain.errors import InputError
from mainspring.http.requests import body, checked_url, range_header, target

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(TEXT, st.dictionaries(TEXT, TEXT | st.none() | st.lists(TEXT) | st.integers()))
def test_what_is_in_a_target_can_be_read_from_it(
    part: str, query: dict[str, str | list[str] | int | None]
) -> None:
    path, _, rest = target("/runs/{run}/tasks", {"run": part}, query).partition("?")
    before, _, after = path.removeprefix("/runs/").partition("/")
    assert (unquote(before), after) == (part, "tasks")
    wanted = []
    for name, value in query.items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                wanted.append((name, str(each)))
    assert parse_qsl(rest, keep_blank_values=True) == wanted


@given(st.dictionaries(TEXT, TEXT | st.none() | st.just(UNSET)))
def test_a_body_holds_what_is_given_and_null_where_null_is_meant(
    fields: dict[str, object],
) -> None:
    wanted = {name: value for name, value in fields.items() if value is not UNSET}
    assert msgspec.json.decode(body(fields)) == wanted


@pytest.mark.parametrize(
    ("bounds", "told"), [((0, 100), "bytes=0-99"), ((7, None), "bytes=7-"), ((0, 1), "bytes=0-0")]
)
def test_a_range_ends_before_its_end(bounds: tuple[int, int | None], told: str) -> None:
    assert range_header(bounds) == told


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mainspring",
        "ftp://a",
        "http://",
        "http://a:b",
        "http://u:p@a",
        "http://a?x",
        "http://[",
    ],
)
def test_what_is_no_address_of_a_server_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no address of a server"):
        checked_url(text)


def test_an_address_may_have_a_path_and_a_slash() -> None:
    assert checked_url("https://a.example:8470/mainspring/") == "https://a.example:8470/mainspring"
