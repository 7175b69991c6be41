"""RRULEs against a walk of `dateutil` from the very start, and through gaps and folds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mainspring.domain.errors import InvalidSchedule
from mainspring.schedule.specs import DstFold, DstGap, RecurrenceSpec, ScheduleSpec, check_spec
from mainspring.schedule.timetable import Timetable
from tests.support.clockwork import ODD_DAYS, odd_moment, walked

SECOND = timedelta(seconds=1)


@st.composite
def rules(draw: st.DrawFn, frequencies: list[str]) -> str:
    frequency = draw(st.sampled_from(frequencies))
    parts = {"FREQ": frequency, "INTERVAL": str(draw(st.integers(1, 5)))}

    def maybe(key: str, values: st.SearchStrategy[str]) -> None:
        if draw(st.integers(0, 3)) == 0:
            parts[key] = ",".join(draw(st.lists(values, min_size=1, max_size=3, unique=True)))

    maybe("BYMONTH", st.integers(1, 12).map(str))
    if frequency in ("MONTHLY", "YEARLY"):
        maybe("BYMONTHDAY", st.integers(1, 28).map(str) | st.integers(-5, -1).map(str))
        numbered = st.tuples(st.sampled_from(["", "1", "2", "-1"]), _days).map("".join)
        if frequency == "MONTHLY" or "BYMONTH" in parts:
            maybe("BYDAY", numbered)
    else:
        maybe("BYDAY", _days)
    maybe("BYHOUR", st.integers(0, 23).map(str))
    maybe("BYMINUTE", st.integers(0, 59).map(str))
    maybe("WKST", st.sampled_from(["MO", "SU"]))
    if "WKST" in parts:
        parts["WKST"] = parts["WKST"][:2]
    return ";".join(f"{key}={value}" for key, value in parts.items())


_days = st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"])


@settings(max_examples=60)
@given(
    rules(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]),
    st.datetimes(datetime(1990, 1, 1), datetime(2000, 1, 1)),
    st.integers(0, 8000),
)
def test_asked_in_the_middle_a_rule_says_what_it_says_from_its_start(
    rule: str, start: datetime, days: int
) -> None:
    start = start.replace(microsecond=0)
    low, high = start + timedelta(days=days), start + timedelta(days=days + 1500)
    walk = rrulestr(f"RRULE:{rule};UNTIL={high:%Y%m%dT%H%M%S}", dtstart=start)
    truth = [moment.replace(tzinfo=UTC) for moment in walk if moment >= low]
    made = timetable(f"DTSTART:{start:%Y%m%dT%H%M%S}\nRRULE:{rule}", "UTC")
    low, high = low.replace(tzinfo=UTC), high.replace(tzinfo=UTC)
    assert [fire.at for fire in made.fires_between(low - SECOND, high)] == truth
    assert made.count_between(low - SECOND, high) == len(truth)
    for moment in truth[:5]:
        assert made.last_fire(moment) == (moment, None)
    for moment, following in pairwise(truth[:6]):
        assert made.last_fire(following - SECOND) == (moment, None)


@settings(max_examples=40)
@given(
    rules(["SECONDLY", "MINUTELY", "HOURLY"]),
    st.datetimes(datetime(1990, 1, 1), datetime(2000, 1, 1)),
    st.integers(0, 3),
)
def test_quick_rules_say_the_same_near_their_start_and_later(
    rule: str, start: datetime, days: int
) -> None:
    start = start.replace(microsecond=0)
    low = start + timedelta(days=days)
    high = low + timedelta(hours=6)
    walk = rrulestr_or_none(f"RRULE:{rule};UNTIL={high:%Y%m%dT%H%M%S}", start)
    assume(walk is not None)
    truth = [moment.replace(tzinfo=UTC) for moment in walk or [] if moment >= low]
    made = timetable(f"DTSTART:{start:%Y%m%dT%H%M%S}\nRRULE:{rule}", "UTC")
    fires = made.fires_between(low.replace(tzinfo=UTC) - SECOND, high.replace(tzinfo=UTC))
    assert [fire.at for fire in fires] == truth


@pytest.mark.parametrize("zone", ODD_DAYS)
@settings(max_examples=15)
@given(st.data())
def test_rules_meet_gaps_and_folds_as_cron_lines_do(zone: str, data: st.DataObject) -> None:
    hours = data.draw(st.sets(st.integers(0, 23), min_size=1, max_size=6))
    minutes = data.draw(st.sets(st.integers(0, 59), min_size=1, max_size=3))
    gap, fold = data.draw(st.sampled_from(DstGap)), data.draw(st.sampled_from(DstFold))
    low = odd_moment(zone, data.draw(st.sampled_from(ODD_DAYS[zone])), 0)
    low = max(low, datetime(1970, 1, 2, tzinfo=UTC))
    high = min(low + timedelta(days=2), datetime(2099, 12, 31, 23, 59, tzinfo=UTC))
    rule = f"FREQ=DAILY;BYHOUR={','.join(map(str, hours))};BYMINUTE={','.join(map(str, minutes))}"
    made = timetable(rule, zone, gap, fold)
    truth = walked(
        lambda shown: shown.hour in hours and shown.minute in minutes and shown.second == 0,
        zone,
        low,
        high,
        step=timedelta(minutes=1),
        gap=gap,
        fold=fold,
    )
    assert [fire.at for fire in made.fires_between(low - SECOND, high)] == truth
    assert made.count_between(low - SECOND, high) == len(truth)


def test_a_count_ends_a_rule() -> None:
    made = timetable("DTSTART:20260101T080000\nRRULE:FREQ=DAILY;COUNT=3", "Europe/Berlin")
    fires = made.fires_between(datetime(1970, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC))
    assert [fire.at.day for fire in fires] == [1, 2, 3]
    assert {fire.at.astimezone(ZoneInfo("Europe/Berlin")).hour for fire in fires} == {8}


def test_a_start_and_an_until_in_utc_are_those_instants() -> None:
    made = timetable(
        "DTSTART:20260701T060000Z\nRRULE:FREQ=DAILY;UNTIL=20260703T060000Z", "Europe/Berlin"
    )
    fires = made.fires_between(datetime(1970, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC))
    assert [fire.at for fire in fires] == [
        datetime(2026, 7, day, 6, tzinfo=UTC) for day in (1, 2, 3)
    ]


def timetable(
    rule: str,
    zone: str,
    gap: DstGap = DstGap.RUN_AFTER_GAP,
    fold: DstFold = DstFold.FIRST,
) -> Timetable:
    spec = ScheduleSpec((RecurrenceSpec(rule),), timezone=zone, dst_gap=gap, dst_fold=fold)
    try:
        check_spec(spec)
    except InvalidSchedule as error:
        if "never fires" not in error.message:
            raise
        assume(False)
    return Timetable(spec, "test")


def rrulestr_or_none(rule: str, start: datetime) -> list[datetime] | None:
    """What it lists; None for rules that never come to a time, which `dateutil` refuses."""
    try:
        return list(rrulestr(rule, dtstart=start))
    except ValueError:
        return None
