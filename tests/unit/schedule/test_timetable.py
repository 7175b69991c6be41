"""The interface of a timetable: windows, several times, calendars, jitter, data intervals."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from mainspring.domain.errors import InputError, InvalidSchedule
from mainspring.schedule.calendars import Calendar, CalendarSpec
from mainspring.schedule.specs import (
    CronSpec,
    DatesSpec,
    IntervalSpec,
    OnceSpec,
    RecurrenceSpec,
    ScheduleSpec,
)
from mainspring.schedule.timetable import Fire, Timetable

DAY = timedelta(days=1)
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def made(*when: Any, name: str = "test", **options: Any) -> Timetable:
    return Timetable(ScheduleSpec(when, **options), name)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_an_interval_keeps_its_phase_for_ever() -> None:
    every = made(IntervalSpec(5400, 600))
    first = every.next_fire(NEW_YEAR)
    assert first == Fire(at("2026-01-01T00:10:00Z"), None)
    fires = every.fires_between(NEW_YEAR, NEW_YEAR + DAY)
    assert len(fires) == 16 == every.count_between(NEW_YEAR, NEW_YEAR + DAY)
    assert {after.at - before.at for before, after in pairwise(fires)} == {timedelta(minutes=90)}


def test_ends_of_a_range_are_after_and_until() -> None:
    daily = made(CronSpec("@daily"))
    assert [fire.at for fire in daily.fires_between(NEW_YEAR, NEW_YEAR + DAY)] == [NEW_YEAR + DAY]
    assert daily.fires_between(NEW_YEAR, NEW_YEAR) == []
    assert daily.fires_between(NEW_YEAR + DAY, NEW_YEAR) == []
    assert daily.count_between(NEW_YEAR + DAY, NEW_YEAR) == 0
    assert len(daily.fires_between(NEW_YEAR, NEW_YEAR + 9 * DAY, limit=3)) == 3
    assert daily.fires_between(NEW_YEAR, NEW_YEAR + 9 * DAY, limit=0) == []


def test_parts_of_a_second_count_as_before_it() -> None:
    daily = made(CronSpec("@daily"))
    just_before = NEW_YEAR - timedelta(microseconds=1)
    assert daily.next_fire(just_before) == (NEW_YEAR, None)
    assert daily.last_fire(just_before) == (NEW_YEAR - DAY, None)
    assert daily.last_fire(NEW_YEAR + timedelta(microseconds=1)) == (NEW_YEAR, None)


def test_a_window_includes_its_start_and_not_its_end() -> None:
    daily = made(CronSpec("@daily"), start=NEW_YEAR, end=NEW_YEAR + 3 * DAY)
    assert [fire.at for fire in daily.fires_between(NEW_YEAR - 9 * DAY, NEW_YEAR + 9 * DAY)] == [
        NEW_YEAR,
        NEW_YEAR + DAY,
        NEW_YEAR + 2 * DAY,
    ]
    assert daily.last_fire(NEW_YEAR - timedelta(seconds=1)) is None
    assert daily.next_fire(NEW_YEAR + 2 * DAY) is None


def test_equal_instants_of_several_times_are_one_fire() -> None:
    several = made(CronSpec("0 */2 * * *"), CronSpec("0 */3 * * *"), OnceSpec(NEW_YEAR + DAY / 24))
    fires = [fire.at for fire in several.fires_between(NEW_YEAR, NEW_YEAR + DAY / 2)]
    assert [fire.hour for fire in fires] == [1, 2, 3, 4, 6, 8, 9, 10, 12]
    assert several.count_between(NEW_YEAR, NEW_YEAR + DAY / 2) == 9


def test_dates_are_used_up() -> None:
    dates = made(DatesSpec((NEW_YEAR + DAY, NEW_YEAR, NEW_YEAR + DAY)))
    assert dates.next_fire(NEW_YEAR - DAY) == (NEW_YEAR, None)
    assert dates.next_fire(NEW_YEAR + DAY) is None
    assert dates.count_between(NEW_YEAR - DAY, NEW_YEAR + DAY) == 2


@pytest.mark.parametrize(
    "when",
    [
        CronSpec("* * * * * *"),
        IntervalSpec(1),
        CronSpec("0 0 29 2 *"),
        RecurrenceSpec("FREQ=DAILY"),
    ],
)
def test_nothing_fires_before_1970_or_after_2099(when: Any) -> None:
    timetable = made(when, timezone="Pacific/Apia")
    assert timetable.next_fire(at("2099-12-31T23:59:59Z")) is None
    assert timetable.next_fire(datetime.max.replace(tzinfo=UTC)) is None
    assert timetable.last_fire(at("1969-12-31T23:59:59Z")) is None
    assert timetable.last_fire(datetime.min.replace(tzinfo=UTC)) is None
    everything = timetable.count_between(
        datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    )
    assert everything > 0


def test_years_of_seconds_are_counted_not_walked() -> None:
    seconds = made(CronSpec("* * * * * *"), timezone="Europe/Berlin")
    assert seconds.count_between(NEW_YEAR, NEW_YEAR + 365 * DAY) == 365 * 86_400
    all_of_it = (at("1969-12-31T23:59:59Z"), at("2099-12-31T23:59:59Z"))
    assert seconds.count_between(*all_of_it) == 4_102_444_800


def test_left_out_days_are_told_with_the_calendar() -> None:
    calendars = {
        "weekends": Calendar(CalendarSpec(weekdays=("sat", "sunday"))),
        "closed": Calendar(CalendarSpec(dates=(date(2026, 1, 5),))),
    }
    spec = ScheduleSpec((CronSpec("0 9 * * *"),), exclude=("weekends", "closed"))
    fires = Timetable(spec, "test", calendars).fires_between(NEW_YEAR, NEW_YEAR + 6 * DAY)
    assert [fire.excluded for fire in fires] == [
        *(None, None, "weekends", "weekends", "closed", None)
    ]


def test_the_local_date_decides_what_is_left_out() -> None:
    calendars = {"closed": Calendar(CalendarSpec(dates=(date(2026, 1, 5),)))}
    spec = ScheduleSpec((CronSpec("0 1 * * *"),), timezone="Asia/Kolkata", exclude=("closed",))
    timetable = Timetable(spec, "test", calendars)
    assert timetable.next_fire(at("2026-01-04T12:00:00Z")) == (
        at("2026-01-04T19:30:00Z"),
        "closed",
    )


def test_public_holidays_of_a_part_of_a_country_are_known() -> None:
    bavaria = Calendar(CalendarSpec(country="DE", subdivision="BY"))
    assert bavaria.excludes(date(2026, 1, 6))
    assert not Calendar(CalendarSpec(country="DE")).excludes(date(2026, 1, 6))
    assert bavaria.excludes(date(2026, 10, 3))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (CalendarSpec(), "leaves out no day"),
        (CalendarSpec(weekdays=("someday",)), "is no day of the week"),
        (CalendarSpec(country="XX"), "is no country"),
        (CalendarSpec(country="DE", subdivision="XX"), "is no part of `DE`"),
        (CalendarSpec(subdivision="BY"), "needs a `country`"),
    ],
)
def test_a_calendar_that_cannot_be_is_refused(spec: CalendarSpec, words: str) -> None:
    with pytest.raises(InvalidSchedule, match=words):
        Calendar(spec)


def test_holidays_without_their_package_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "holidays", None)
    with pytest.raises(InvalidSchedule, match="is not installed") as caught:
        Calendar(CalendarSpec(country="DE"))
    assert "mainspring[holidays]" in caught.value.hint


def test_a_calendar_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match="is not a calendar"):
        made(CronSpec("@daily"), exclude=("holidays",))


def test_jitter_moves_the_start_and_stays_the_same() -> None:
    spread = [made(CronSpec("@daily"), name=f"s{n}", jitter_seconds=60) for n in range(50)]
    starts = [timetable.start_at(NEW_YEAR) for timetable in spread]
    assert all(NEW_YEAR <= start <= NEW_YEAR + timedelta(seconds=60) for start in starts)
    assert len(set(starts)) > 40
    assert starts == [timetable.start_at(NEW_YEAR) for timetable in spread]
    assert made(CronSpec("@daily")).start_at(NEW_YEAR) == NEW_YEAR


def test_a_data_interval_reaches_back_to_the_previous_nominal_fire() -> None:
    weekly = made(CronSpec("0 0 * * MON"), start=at("2026-01-05T00:00:00Z"))
    monday = at("2026-01-05T00:00:00Z")
    assert weekly.data_interval(monday) == (monday - 7 * DAY, monday)
    assert made(OnceSpec(NEW_YEAR)).data_interval(NEW_YEAR) == (NEW_YEAR, NEW_YEAR)
    hour = made(CronSpec("@daily"), interval_seconds=3600)
    assert hour.data_interval(NEW_YEAR) == (NEW_YEAR - timedelta(hours=1), NEW_YEAR)


def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises(InputError, match="has no zone"):
        made(CronSpec("@daily")).next_fire(datetime(2026, 1, 1))


def test_h_spreads_schedules_and_keeps_each_in_its_place() -> None:
    def first(name: str, line: str) -> datetime:
        fire = made(CronSpec(line), name=name).next_fire(NEW_YEAR - timedelta(seconds=1))
        assert fire is not None
        return fire.at

    names = [f"dag_{n}" for n in range(200)]
    assert len({first(name, "H * * * *").minute for name in names}) > 50
    assert len({first(name, "H H * * *").hour for name in names}) == 24
    assert {first(name, "H(10-12) * * * *").minute for name in names} == {10, 11, 12}
    assert {first(name, "H/15 * * * *").minute for name in names} == set(range(15))
    assert max(first(name, "0 0 H * *").day for name in names) == 28
    # The hash is part of the interface: after an upgrade everybody stays where they were.
    assert first("report", "H H * * *") == at("2026-01-01T03:35:00Z")
