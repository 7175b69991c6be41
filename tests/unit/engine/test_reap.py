"""The reaper is patient: it counts only time in which it really watched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mainspring.engine.reap import Watch, observe
from mainspring.store.duties import Lease


def lease(beat: int, worker_id: int = 1) -> Lease:
    return Lease(worker_id, beat, 15.0, "worker")


def test_a_lease_is_dead_after_its_whole_length_without_a_beat() -> None:
    watches: dict[int, Watch] = {}
    assert observe(watches, [lease(7)], 100.0) == [], "the first look starts the clock"
    assert observe(watches, [lease(7)], 15.0) == []
    assert observe(watches, [lease(7)], 0.1) == [lease(7)]


def test_a_beat_starts_the_clock_anew() -> None:
    watches: dict[int, Watch] = {}
    observe(watches, [lease(7)], 1.0)
    observe(watches, [lease(7)], 14.9)
    assert observe(watches, [lease(8)], 1.0) == []
    assert observe(watches, [lease(8)], 14.9) == []


def test_what_is_gone_is_forgotten() -> None:
    watches: dict[int, Watch] = {}
    observe(watches, [lease(7)], 1.0)
    observe(watches, [], 1.0)
    assert watches == {}


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 4)), max_size=60),
)
def test_nobody_who_beats_within_a_lease_is_ever_found_dead(
    steps: list[tuple[bool, float]],
) -> None:
    watches: dict[int, Watch] = {}
    beat, since_beat = 0, 0.0
    for beats, elapsed in steps:
        since_beat += elapsed
        if beats or since_beat > 15.0:
            beat, since_beat = beat + 1, 0.0
        assert observe(watches, [lease(beat)], elapsed) == []
