"""A fire that was computed by rules which have changed since, as those of zones do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.schedule.firing import Outcome, Standing, decide_fires
from mainspring.schedule.specs import CronSpec, Misfire, ScheduleSpec
from mainspring.schedule.timetable import Timetable

STORED = datetime(2026, 11, 15, 8, 30, tzinfo=UTC)
"""What a schedule waits for that now fires at full hours."""


def timetable_of(misfire: Misfire) -> tuple[ScheduleSpec, Timetable]:
    spec = ScheduleSpec((CronSpec("0 * * * *"),), misfire=misfire)
    return spec, Timetable(spec, "moved")


@pytest.mark.parametrize("misfire", Misfire)
def test_it_fires_at_the_time_that_was_told_and_then_by_the_new_rules(misfire: Misfire) -> None:
    spec, timetable = timetable_of(misfire)
    decision = decide_fires(spec, timetable, Standing(STORED), STORED)
    (entry,) = decision.entries
    assert (entry.fire_at, entry.outcome, entry.count) == (STORED, Outcome.FIRED, 1)
    assert decision.next_fire_at == entry.next_at == STORED.replace(hour=9, minute=0)


@pytest.mark.parametrize("misfire", Misfire)
@pytest.mark.parametrize("late", [timedelta(minutes=10), timedelta(hours=3)])
def test_one_that_was_missed_is_accounted_for(misfire: Misfire, late: timedelta) -> None:
    spec, timetable = timetable_of(misfire)
    now = STORED + late
    decision = decide_fires(spec, timetable, Standing(STORED), now)
    assert decision.entries[0].fire_at == STORED
    assert decision.next_fire_at is not None
    assert decision.next_fire_at > now
    hours = timetable.count_between(STORED, now)
    assert sum(entry.count for entry in decision.entries) == 1 + hours
    for entry, following in zip(decision.entries, decision.entries[1:], strict=False):
        assert entry.next_at == following.fire_at
