"""Timetables as a whole: unions and windows against single sources, and any text at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.domain.errors import InvalidSchedule
from mainspring.schedule.parsing import schedule_from
from mainspring.schedule.specs import CronSpec, IntervalSpec, OnceSpec, ScheduleSpec, When
from mainspring.schedule.timetable import Timetable

START = datetime(2026, 10, 24, tzinfo=UTC)
SECOND = timedelta(seconds=1)

moments = st.integers(0, 3 * 86_400).map(lambda seconds: START + seconds * SECOND)
whens: st.SearchStrategy[When] = st.one_of(
    st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 */5 * * *", "H H * * *", "@daily"]).map(
        CronSpec
    ),
    st.integers(300, 90_000).map(IntervalSpec),
    moments.map(OnceSpec),
)


@given(st.lists(whens, min_size=1, max_size=4), moments, moments, st.none() | moments)
def test_a_schedule_is_the_union_of_its_times_within_its_window(
    several: list[When], after: datetime, until: datetime, start: datetime | None
) -> None:
    zone = "Europe/Berlin"
    truth = set[datetime]()
    for when in several:
        alone = Timetable(ScheduleSpec((when,), timezone=zone), "test")
        truth |= {fire.at for fire in alone.fires_between(after, until)}
    truth = {at for at in truth if start is None or at >= start}
    made = Timetable(ScheduleSpec(tuple(several), timezone=zone, start=start), "test")
    assert [fire.at for fire in made.fires_between(after, until)] == sorted(truth)
    assert made.count_between(after, until) == len(truth)
    if truth:
        assert made.next_fire(after) == (min(truth), None)
        assert made.last_fire(until) == (max(truth), None)


@settings(max_examples=300)
@given(st.text("0123456789*/-,#LWH()? @MONFRIJASUN", max_size=30))
def test_any_line_either_fires_or_is_refused_with_a_reason(text: str) -> None:
    fires_or_is_refused(text)


def item() -> st.SearchStrategy[str]:
    return st.one_of(
        st.sampled_from(["*", "H", "L", "LW", "?", "15W", "31", "30", "29", "5L", "MON#5", "H/7"]),
        st.integers(0, 70).map(str),
        st.tuples(st.integers(0, 31), st.integers(0, 31)).map(lambda two: f"{two[0]}-{two[1]}"),
    )


@settings(max_examples=300)
@given(st.lists(item(), min_size=5, max_size=6).map(" ".join))
def test_any_fields_either_fire_or_are_refused_with_a_reason(text: str) -> None:
    fires_or_is_refused(text)


@settings(max_examples=200)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [
                    *("FREQ=WEEKLY", "FREQ=MONTHLY", "FREQ=YEARLY", "BYDAY=MO,-1FR", "BYSETPOS=-1"),
                    *("BYMONTHDAY=31", "BYMONTHDAY=-32", "BYWEEKNO=53", "BYYEARDAY=366", "COUNT=2"),
                    *("BYMONTH=2", "BYHOUR=24", "WKST=XX", "UNTIL=2026", "INTERVAL=0", "BYDAY="),
                ]
            ),
            st.text(max_size=5),
        ),
        max_size=4,
    ).map(";".join)
)
def test_any_rule_either_fires_or_is_refused_with_a_reason(text: str) -> None:
    fires_or_is_refused(f"RRULE:{text}")


def fires_or_is_refused(text: str) -> None:
    try:
        spec = schedule_from(text)
    except InvalidSchedule:
        return
    fire = Timetable(spec, "test").next_fire(datetime(1969, 12, 31, tzinfo=UTC))
    assert fire is not None
