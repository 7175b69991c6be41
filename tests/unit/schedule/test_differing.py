"""What a change adds, removes and moves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mainspring.schedule.calendars import Calendar, CalendarSpec
from mainspring.schedule.differing import (
    Difference,
    fire_differences,
    option_differences,
)
from mainspring.schedule.parsing import schedule_from
from mainspring.schedule.timetable import Timetable

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
SUNDAYS = {"sundays": Calendar(CalendarSpec(weekdays=("sunday",)))}


def timetable(*written: str, **options: Any) -> Timetable:
    return Timetable(schedule_from(list(written), **options), "nightly", SUNDAYS)


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC)


def differences(
    before: Timetable | None, after: Timetable, days: float = 2, **options: Any
) -> list[tuple[str, datetime | None, datetime | None, str | None]]:
    found = fire_differences(before, after, NOON, NOON + timedelta(days=days), **options)
    return [(each.difference, each.before, each.after, each.note) for each in found.fires]


def test_a_fire_at_another_hour_has_moved() -> None:
    assert differences(timetable("0 2 * * *"), timetable("30 3 * * *")) == [
        ("moved", at(16, 2), at(16, 3, 30), "1 h 30 min later"),
        ("moved", at(17, 2), at(17, 3, 30), "1 h 30 min later"),
    ]


def test_the_day_of_a_fire_is_that_of_its_zone() -> None:
    before = timetable("0 1 * * *", timezone="Asia/Tokyo")
    after = timetable("0 23 * * *", timezone="Asia/Tokyo")
    found = differences(before, after, days=1.5)
    assert [(each[0], each[3]) for each in found] == [
        ("added", None),
        ("moved", "22 h later"),
        ("removed", None),
    ]


def test_what_a_calendar_excludes_from_now_on_is_removed() -> None:
    before = timetable("0 2 * * *")
    after = timetable("0 2 * * *", exclude="sundays")
    assert differences(before, after, days=9) == [
        ("removed", at(22, 2), None, "excluded by `sundays`")
    ]
    assert differences(after, before, days=9) == [
        ("added", None, at(22, 2), "`sundays` excluded it")
    ]


def test_all_fires_of_a_new_schedule_are_added() -> None:
    assert differences(None, timetable("0 2 * * *")) == [
        ("added", None, at(16, 2), None),
        ("added", None, at(17, 2), None),
    ]


def test_limits_are_counted_from_what_is_left() -> None:
    before = timetable("0 2 * * *", limit=5)
    after = timetable("0 2 * * *", limit=1)
    assert differences(before, after, left=2, days=9) == [("removed", at(17, 2), None, None)]


def test_of_too_many_fires_the_first_are_compared_and_that_is_told() -> None:
    found = fire_differences(
        timetable("every 1m"), timetable("every 2m"), NOON, NOON + timedelta(days=9), limit=100
    )
    assert not found.complete
    assert found.until == NOON + timedelta(minutes=100)
    assert (found.unchanged, len(found.fires)) == (50, 50)


def test_options_that_change_are_told() -> None:
    before = timetable("0 2 * * *").spec
    after = timetable("0 2 * * *", overlap="skip", jitter="5m").spec
    told = [(each.option, each.before, each.after) for each in option_differences(before, after)]
    assert told == [("jitter_seconds", 0, 300), ("overlap", "allow_all", "skip")]


_lines = st.sampled_from(
    ["0 2 * * *", "*/20 * * * *", "every 45m", "30 1,13 * * *", "0 0 * * SUN", "@hourly"]
)


@given(
    before=st.lists(_lines, min_size=1, max_size=3),
    after=st.lists(_lines, min_size=1, max_size=3),
    zone=st.sampled_from(["UTC", "America/New_York", "Asia/Kathmandu"]),
    hours=st.integers(1, 200),
)
def test_what_was_less_what_goes_and_with_what_comes_is_what_will_be(
    before: list[str], after: list[str], zone: str, hours: int
) -> None:
    old, new = timetable(*before, timezone=zone), timetable(*after, timezone=zone)
    until = NOON + timedelta(hours=hours)
    found = fire_differences(old, new, NOON, until)
    fires = {fire.at for fire in old.fires_between(NOON, until)}
    for each in found.fires:
        if each.before is not None:
            fires.remove(each.before)
    assert len(fires) == found.unchanged
    for each in found.fires:
        if each.after is not None:
            assert each.after not in fires
            fires.add(each.after)
    assert fires == {fire.at for fire in new.fires_between(NOON, until)}
    assert all(
        (each.before is None, each.after is None)
        == (each.difference is Difference.ADDED, each.difference is Difference.REMOVED)
        for each in found.fires
    )
