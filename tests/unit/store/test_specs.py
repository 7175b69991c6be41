"""Decoded specs are kept, as many as there is room for, the last ones asked for."""

from __future__ import annotations

import msgspec

from mainspring.domain.specs import DagSpec, TaskSpec
from mainspring.store.specs import KeptSpecs


def content_of(name: str) -> bytes:
    task = TaskSpec(name="say", entry="hello:say")
    return msgspec.json.encode(DagSpec(name=name, tasks=(task,), edges=()))


def test_what_was_asked_for_last_is_decoded_once() -> None:
    one, other, third = (content_of(name) for name in ("one", "two", "six"))
    kept = KeptSpecs(bytes_max=2 * len(one))
    first, second = kept.decode(one), kept.decode(other)
    assert first == msgspec.json.decode(one, type=DagSpec)
    assert kept.decode(bytes(bytearray(one))) is first
    kept.decode(third)
    assert kept.decode(one) is first
    assert kept.decode(other) is not second
    assert kept.decode(other) == msgspec.json.decode(other, type=DagSpec)


def test_what_is_larger_than_all_the_room_is_decoded_each_time() -> None:
    kept = KeptSpecs(bytes_max=1)
    assert kept.decode(content_of("one")) == kept.decode(content_of("one"))
