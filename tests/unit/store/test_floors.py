"""Low-water marks are hints: they lag behind, and a claim looks from the start often enough."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from mainspring.store.attempts import Claimed
from mainspring.store.floors import FROM_THE_START, Floors


def claimed(position: int, priority: int = 5) -> Claimed:
    return Claimed(
        claim_id=UUID(int=1),
        task_id=position,
        run_id=position,
        version_id=1,
        snapshot_id=1,
        node=0,
        lane=8,
        priority=priority,
        position=position,
        term=1,
        attempt=1,
        lost=0,
        generation=1,
        epoch=1,
        due_at=datetime(2026, 1, 1, tzinfo=UTC),
        parameters=None,
        many=False,
    )


def test_the_first_claim_looks_from_the_start() -> None:
    assert Floors().next(10.0) == FROM_THE_START


def test_the_mark_follows_a_moment_behind() -> None:
    floors = Floors()
    floors.next(10.0)
    floors.learn([claimed(100)], 10.0, short=False)
    assert floors.next(10.01)[5] == 0, "rows that commit late may still appear behind it"
    floors.learn([claimed(200)], 10.3, short=False)
    assert floors.next(10.31)[5] == 100


def test_priorities_have_marks_of_their_own() -> None:
    floors = Floors()
    floors.next(10.0)
    floors.learn([claimed(100, 9), claimed(50, 1)], 10.0, short=False)
    floors.learn([claimed(300, 9), claimed(60, 1)], 10.3, short=False)
    marks = floors.next(10.31)
    assert (marks[9], marks[1], marks[5]) == (100, 50, 0)


def test_a_full_lane_is_looked_at_from_the_start_once_a_second() -> None:
    floors = Floors()
    floors.next(10.0)
    floors.learn([claimed(100)], 10.0, short=False)
    floors.learn([claimed(200)], 10.3, short=False)
    assert floors.next(10.9) != FROM_THE_START
    assert floors.next(11.0) == FROM_THE_START


def test_a_short_claim_brings_the_next_look_from_the_start_forward() -> None:
    floors = Floors()
    floors.next(10.0)
    floors.learn([claimed(100)], 10.0, short=False)
    floors.learn([claimed(200)], 10.3, short=True)
    assert floors.next(10.31) == FROM_THE_START
    assert floors.next(10.32) != FROM_THE_START, "not at every claim: an idle lane is always short"


def test_the_mark_goes_back_to_what_was_found_behind_it() -> None:
    """A large set that committed late is not taken in drops, one batch a second."""
    floors = Floors()
    floors.next(10.0)
    floors.learn([claimed(100)], 10.0, short=False)
    floors.learn([claimed(200)], 10.3, short=False)
    assert floors.next(11.0) == FROM_THE_START
    floors.learn([claimed(40), claimed(41)], 11.0, short=False)
    assert floors.next(11.1)[5] == 40
    floors.learn([claimed(42)], 11.3, short=False)
    assert floors.next(11.4)[5] == 41
