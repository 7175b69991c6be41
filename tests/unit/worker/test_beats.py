"""A beat tells of claims whose answer was lost, and of none that was on its way."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

from mainspring.worker.depot import Beat


def test_what_was_claimed_while_the_beat_was_on_its_way_is_not_lost() -> None:
    lost, meanwhile = uuid4(), uuid4()
    beat = Beat(datetime.now(UTC), [lost, meanwhile], [], None, 0.0, 0, 0)
    assert beat.lost_claims([meanwhile, uuid4()]) == [lost]
