"""Cron lines against a walk through every minute or second, and against cronsim."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mainspring.domain.errors import InvalidSchedule
from mainspring.schedule.specs import CronSpec, DstFold, DstGap, ScheduleSpec, check_spec
from mainspring.schedule.timetable import Timetable
from tests.support.clockwork import ODD_DAYS, Line, lines, odd_moment, walked

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
options = st.tuples(st.sampled_from(DstGap), st.sampled_from(DstFold))
zones = pytest.mark.parametrize("zone", ODD_DAYS)


def timetable(line: str, zone: str, gap: DstGap, fold: DstFold) -> Timetable:
    spec = ScheduleSpec((CronSpec(line),), timezone=zone, dst_gap=gap, dst_fold=fold)
    try:
        check_spec(spec)
    except InvalidSchedule as error:
        # What is drawn is well-formed; it may be impossible, as 30 February is.
        if "never fires" not in error.message:
            raise
        assume(False)
    return Timetable(spec, "test")


def agrees(
    line: Line,
    zone: str,
    low: datetime,
    high: datetime,
    step: timedelta,
    gap: DstGap,
    fold: DstFold,
) -> None:
    low = max(low, datetime(1970, 1, 1, tzinfo=UTC))
    high = min(high, datetime(2099, 12, 31, 23, 59, 59, tzinfo=UTC))
    made = timetable(line.text, zone, gap, fold)
    if line.any_hour:
        gap, fold = DstGap.SKIP, DstFold.BOTH
    truth = walked(line.matches, zone, low, high, step=step, gap=gap, fold=fold)
    before = low - SECOND
    assert [fire.at for fire in made.fires_between(before, high)] == truth
    assert made.count_between(before, high) == len(truth)
    # Backwards, and from in between, it is the same.
    back, here = [], made.last_fire(high)
    while here is not None and here.at >= low:
        back.append(here.at)
        here = made.last_fire(here.at - SECOND)
    assert back[::-1] == truth
    for this, following in pairwise(truth):
        middle = this + (following - this) / 2
        assert made.next_fire(middle) == made.next_fire(this) == (following, None)


@zones
@settings(max_examples=40)
@given(st.data())
def test_lines_fire_where_a_walk_by_minutes_says(zone: str, data: st.DataObject) -> None:
    line = data.draw(lines(seconds=False))
    gap, fold = data.draw(options)
    low = odd_moment(zone, data.draw(st.sampled_from(ODD_DAYS[zone])), data.draw(_minutes))
    agrees(line, zone, low, low + timedelta(hours=48), MINUTE, gap, fold)


@pytest.mark.slow
@zones
@settings(max_examples=25)
@given(st.data())
def test_lines_fire_where_a_walk_by_seconds_says(zone: str, data: st.DataObject) -> None:
    line = data.draw(lines())
    gap, fold = data.draw(options)
    low = odd_moment(zone, data.draw(st.sampled_from(ODD_DAYS[zone])), data.draw(_minutes))
    low += timedelta(seconds=data.draw(st.integers(0, 59)))
    agrees(line, zone, low, low + timedelta(hours=2), SECOND, gap, fold)


_minutes = st.integers(0, 24 * 60)


@zones
@settings(max_examples=20)
@given(line=lines(seconds=False), year=st.integers(1970, 2098), option=options)
def test_days_of_a_year_are_those_that_match(
    zone: str, line: Line, year: int, option: tuple[DstGap, DstFold]
) -> None:
    made = timetable(line.text, zone, *option)
    info = ZoneInfo(zone)
    low, high = datetime(year, 1, 3, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    day, shown = low.date(), set()
    here = made.next_fire(low)
    # One fire a day is enough to see the day.
    while here is not None and here.at < high:
        local = here.at.astimezone(info)
        shown.add(local.date())
        after = (local + timedelta(days=1)).replace(hour=0, minute=0, second=0)
        here = made.next_fire(max(after.astimezone(UTC), here.at) - SECOND)
        if here is not None and here.at.astimezone(info).date() == local.date():
            here = made.next_fire(here.at)
    while day < high.date() - timedelta(days=2):
        day += timedelta(days=1)
        if day in shown:
            # A gap around midnight may move the last fire of a day to the next.
            assert line.on_day(day) or line.on_day(day - timedelta(days=1))
        elif line.on_day(day):
            noon = datetime(day.year, day.month, day.day, 12, tzinfo=info)
            changes = (noon - timedelta(days=1)).utcoffset() != (noon + SECOND * 86400).utcoffset()
            assert changes, day


def utc_fires(line: str, start: datetime, many: int) -> list[datetime]:
    found = CronSim(line, start)
    return [moment for moment, _ in zip(found, range(many), strict=False)]


@given(line=lines(ours=False), start=st.datetimes(datetime(1970, 1, 1), datetime(2040, 1, 1)))
def test_in_utc_we_agree_with_cronsim(line: Line, start: datetime) -> None:
    start = start.replace(microsecond=0, tzinfo=UTC)
    try:
        theirs = utc_fires(line.text, start, 20)
    except CronSimError:
        with pytest.raises(InvalidSchedule):
            check_spec(ScheduleSpec((CronSpec(line.text),)))
        return
    made = timetable(line.text, "UTC", DstGap.SKIP, DstFold.BOTH)
    ours = made.fires_between(start, datetime(2090, 1, 1, tzinfo=UTC), limit=20)
    assert [fire.at for fire in ours][: len(theirs)] == theirs


@zones
@settings(max_examples=30)
@given(st.data())
def test_at_clock_changes_we_agree_with_cronsim_by_default(zone: str, data: st.DataObject) -> None:
    line = data.draw(lines(ours=False, seconds=False, wild=False))
    assume(not line.text.split()[0].startswith("*"))
    start = odd_moment(zone, data.draw(st.sampled_from(ODD_DAYS[zone])), data.draw(_minutes))
    assume(start.year < 2090)
    info = ZoneInfo(zone)
    try:
        found = CronSim(line.text, start.astimezone(info))
        theirs = {next(found).astimezone(UTC) for _ in range(10)}
    except (CronSimError, StopIteration):
        assume(False)
    made = timetable(line.text, zone, DstGap.RUN_AFTER_GAP, DstFold.FIRST)
    ours = {fire.at for fire in made.fires_between(start, max(theirs))}
    # It starts from what the clock shows, so within a fold it is early or late by the fold.
    assert {at for at in ours ^ theirs if at > start + timedelta(hours=3)} == set()
