"""Many schedules on a virtual clock, against walking through each of them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.domain.errors import InputError
from mainspring.schedule.calendars import Calendar, CalendarSpec
from mainspring.schedule.parsing import schedule_from
from mainspring.schedule.simulating import (
    Range,
    SimulatedSchedule,
    measure,
    range_of,
    simulate,
    starting_in,
)
from mainspring.schedule.specs import ScheduleSpec
from mainspring.schedule.timetable import Timetable

CALENDARS = {
    "weekend": Calendar(CalendarSpec(weekdays=("sat", "sun"))),
    "days": Calendar(CalendarSpec(dates=(date(2026, 3, 8), date(2026, 10, 25)))),
}
ZONES = (
    *("UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu"),
    *("Africa/Cairo", "Antarctica/Troll", "Pacific/Apia"),
)
TIMES = (
    *("0 2 * * *", "30 2 * * *", "*/7 * * * *", "H H * * *", "15,45 0 1-7 * MON", "0 */6 * * *"),
    *("*/20 30 1-3 * * *", "59 23 L * *", "every 97m", "every 2h", "every 7h phase 30m"),
    *("2026-10-25T00:30:00Z", "RRULE:FREQ=DAILY;BYHOUR=1,2;BYMINUTE=30"),
)
YEAR = datetime(2026, 1, 1, tzinfo=UTC)

moments = st.integers(0, 365 * 86_400).map(lambda seconds: YEAR + timedelta(seconds=seconds))


@st.composite
def specs(draw: st.DrawFn) -> ScheduleSpec:
    window = draw(st.sampled_from([{}, {}, {"start": YEAR + timedelta(days=70, hours=5)}]))
    return schedule_from(
        draw(st.lists(st.sampled_from(TIMES), min_size=1, max_size=2, unique=True)),
        timezone=draw(st.sampled_from(ZONES)),
        dst_gap=draw(st.sampled_from(["run_after_gap", "skip"])),
        dst_fold=draw(st.sampled_from(["first", "last", "both"])),
        exclude=draw(st.sampled_from([(), (), ("weekend",), ("days", "weekend")])),
        jitter=draw(st.sampled_from([0, 0, "90s", "3h"])),
        limit=draw(st.sampled_from([None, None, 5])),
        **window,
    )


@st.composite
def installations(draw: st.DrawFn) -> list[SimulatedSchedule]:
    found = draw(st.lists(specs(), min_size=1, max_size=5))
    return [
        SimulatedSchedule(f"s{i}", "dag", Timetable(spec, f"s{i}", CALENDARS))
        for i, spec in enumerate(found)
    ]


@st.composite
def ranges(draw: st.DrawFn) -> Range:
    since = draw(
        st.one_of(
            moments,
            # Just before clocks change, and at midnight.
            st.sampled_from(
                [datetime(2026, 3, 7, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)]
            ),
        )
    )
    return range_of(since, since + timedelta(seconds=draw(st.integers(1, 12 * 86_400))))


@settings(max_examples=150, deadline=None)
@given(installations(), ranges())
def test_all_fires_come_in_order_and_are_those_of_each_schedule(
    schedules: list[SimulatedSchedule], within: Range
) -> None:
    fires = list(simulate(schedules, within))
    assert all(a.fire_at <= b.fire_at for a, b in pairwise(fires))
    for schedule in schedules:
        timetable, limit = schedule.timetable, schedule.timetable.spec.limit
        expected, started = [], 0
        low, high = (datetime.fromtimestamp(each - 1, UTC) for each in within)
        for fire in timetable.fires_between(low, high):
            if started == limit:
                break
            started += fire.excluded is None
            expected.append((fire.at, fire.excluded))
        told = [(fire.fire_at, fire.excluded) for fire in fires if fire.schedule is schedule]
        assert told == expected


@settings(max_examples=150, deadline=None)
@given(installations(), ranges())
def test_the_load_is_what_the_fires_add_up_to(
    schedules: list[SimulatedSchedule], within: Range
) -> None:
    fires = list(simulate(schedules, within))
    starts = [int(fire.start_at.timestamp()) for fire in fires if fire.excluded is None]
    load = measure(schedules, within)
    expected = Counter(start // 60 for start in starts if start < within.high)
    minutes = range(within.low // 60, (within.high - 1) // 60 + 1)
    assert load.first_minute == minutes[0]
    assert list(load.minutes) == [expected[minute] for minute in minutes]
    assert load.late == sum(start >= within.high for start in starts)
    for schedule, tally in zip(schedules, load.tallies, strict=True):
        own = [fire for fire in fires if fire.schedule is schedule]
        assert tally.fires == sum(fire.excluded is None for fire in own)
        assert tally.excluded == sum(fire.excluded is not None for fire in own)
    for minute, count in load.busiest(3):
        beginning = minute.timestamp()
        named = [each.name for each in starting_in(schedules, minute, within)]
        assert named == sorted(
            {
                fire.schedule.name
                for fire in fires
                if fire.excluded is None and beginning <= fire.start_at.timestamp() < beginning + 60
            }
        )
        assert count == expected[int(beginning) // 60]
    most = sorted(expected.values(), reverse=True)[:3]
    assert [count for _, count in load.busiest(3)] == most


def test_a_limit_counts_what_was_used_up_before_the_clock_starts() -> None:
    spec = schedule_from("0 * * * *", limit=10)
    cursor = YEAR + timedelta(minutes=30)
    schedule = SimulatedSchedule("s", "dag", Timetable(spec, "s"), fired=4, since=cursor)
    day = timedelta(days=1)

    def hours(since: datetime) -> list[int]:
        return [f.fire_at.hour for f in simulate([schedule], range_of(since, since + day))]

    assert hours(cursor) == [1, 2, 3, 4, 5, 6]
    # Two hours later the clock starts with less.
    assert hours(cursor + timedelta(hours=2)) == [3, 4, 5, 6]
    # Before anything was used up there were ten.
    assert len(hours(YEAR - day)) == 10


def test_a_stream_is_not_held_in_memory() -> None:
    spec = schedule_from("* * * * * *")
    every_second = SimulatedSchedule("s", "dag", Timetable(spec, "s"))
    within = range_of(YEAR, YEAR + timedelta(days=3_000))
    first = list(islice(simulate([every_second] * 3, within), 7))
    assert [fire.fire_at.second for fire in first] == [0, 0, 0, 1, 1, 1, 2]


@pytest.mark.parametrize(
    ("since", "until", "words"),
    [
        (YEAR, YEAR, "not after"),
        (YEAR, YEAR - timedelta(1), "not after"),
        (YEAR, YEAR + timedelta(4_000), "longer than"),
        (datetime(1969, 1, 1, tzinfo=UTC), datetime(1969, 2, 1, tzinfo=UTC), "1970 to 2099"),
    ],
)
def test_a_range_that_cannot_be_is_refused(since: datetime, until: datetime, words: str) -> None:
    with pytest.raises(InputError, match=words):
        range_of(since, until)
