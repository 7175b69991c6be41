"""A stream cut anywhere gives the messages that went into it; a broken one is noticed."""

from __future__ import annotations

import itertools
import struct
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.authoring.context import Attempt
from mainspring.domain.outcomes import Error, Failed, HandedBack, Outcome, Skipped
from mainspring.executors.frames import (
    FRAME_BYTES_MAX,
    BrokenFrame,
    Done,
    Dropped,
    Ending,
    Forget,
    FromHost,
    Keep,
    Log,
    Ready,
    Run,
    Stop,
    ToHost,
    frame_of,
    reader_in_host,
    reader_in_worker,
)

_SLOTS = st.integers(0, 2**31)
_TIMES = st.integers(0, 2**63 - 1)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]))

_IDS = st.integers(1, 2**63 - 1)
_FENCES = st.integers(0, 2**31 - 1)
_ATTEMPTS = st.builds(
    Attempt,
    run_id=_IDS,
    dag=_TEXT,
    task=_TEXT,
    number=st.integers(1, 10_000),
    generation=st.integers(1, 1000),
    epoch=_FENCES,
    term=_FENCES,
    due_at=st.datetimes(timezones=st.just(UTC)),
    parameters=st.none() | st.binary(),
)
_RUNS: st.SearchStrategy[ToHost] = st.builds(Run, _SLOTS, _TEXT, st.binary(), _ATTEMPTS)
_STOPS: st.SearchStrategy[ToHost] = st.builds(Stop, _SLOTS, st.floats(0, 1e6))
_KEEPS: st.SearchStrategy[ToHost] = st.builds(Keep, _IDS, st.binary()) | st.builds(Forget, _IDS)
_TO_HOST = _RUNS | _STOPS | _KEEPS
_OUTCOMES: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(Failed, st.builds(Error, _TEXT, _TEXT, _TEXT), st.booleans(), st.none()),
    st.builds(Skipped, _TEXT),
    st.builds(HandedBack, _TEXT),
)
_FROM_HOST: st.SearchStrategy[FromHost] = st.one_of(
    st.just(Ready()),
    st.builds(Done, _SLOTS, _TIMES, _TIMES, st.binary()),
    st.builds(Ending, _SLOTS, _TIMES, _TIMES, _OUTCOMES),
    st.builds(Dropped, _SLOTS),
    st.builds(Log, _SLOTS, st.binary()),
)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(places) if start < end]


@given(st.lists(st.lists(_FROM_HOST, max_size=5)), st.lists(st.integers(min_value=0)))
def test_answers_arrive_wherever_the_stream_is_cut(
    batches: list[list[FromHost]], cuts: list[int]
) -> None:
    stream = b"".join(bytes(frame_of(batch)) for batch in batches)
    reader = reader_in_worker()
    found = [message for piece in pieces(stream, cuts) for message in reader.feed(piece)]
    assert found == [message for batch in batches for message in batch]


@given(st.lists(st.lists(_TO_HOST, max_size=5)), st.lists(st.integers(min_value=0)))
def test_orders_arrive_wherever_the_stream_is_cut(
    batches: list[list[ToHost]], cuts: list[int]
) -> None:
    stream = b"".join(bytes(frame_of(batch)) for batch in batches)
    reader = reader_in_host()
    found = [message for piece in pieces(stream, cuts) for message in reader.feed(piece)]
    assert found == [message for batch in batches for message in batch]


def test_a_frame_given_byte_by_byte_is_told_with_its_last_byte() -> None:
    messages: list[FromHost] = [Done(1, 2, 3, b"null"), Dropped(4)]
    frame = bytes(frame_of(messages))
    reader = reader_in_worker()
    assert not any(reader.feed(frame[at : at + 1]) for at in range(len(frame) - 1))
    assert reader.feed(frame[-1:]) == messages


@pytest.mark.parametrize(
    "stream",
    [
        struct.pack(">I", 3) + b"abc",
        struct.pack(">I", 1) + b"\x05",
        struct.pack(">I", FRAME_BYTES_MAX + 1),
        b"hello, this is what a print into the wrong descriptor looks like\n",
        struct.pack(">I", 0) + struct.pack(">I", 0),
    ],
)
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_what_is_no_frame_is_refused(stream: bytes, size: int) -> None:
    reader = reader_in_worker()
    parts = [stream[at : at + size] for at in range(0, len(stream), size)]
    with pytest.raises(BrokenFrame):
        _ = [reader.feed(part) for part in parts]


@given(st.binary(min_size=1))
def test_any_bytes_are_messages_or_broken_and_nothing_else(data: bytes) -> None:
    try:
        reader_in_worker().feed(data)
    except BrokenFrame:
        pass
