"""Schedules as data: what is refused, in which words, and that the rest survives storage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from mainspring.domain.errors import InvalidSchedule
from mainspring.schedule.specs import (
    CronSpec,
    DatesSpec,
    DstFold,
    DstGap,
    IntervalSpec,
    Misfire,
    OnceSpec,
    Overlap,
    RecurrenceSpec,
    ScheduleSpec,
    check_spec,
)

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def problem(*when: Any, **options: Any) -> InvalidSchedule:
    with pytest.raises(InvalidSchedule) as caught:
        check_spec(ScheduleSpec(when or (CronSpec("@daily"),), **options))
    return caught.value


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0 0 30 2 *", "`0 0 30 2 *` never fires: Feb has 29 days, day of month is `30`"),
        ("0 0 31 4,6 *", "the longest month of `4,6` has 30 days"),
        ("0 0 31W 2 *", "never fires"),
        ("0 25 * * *", "hour: `25` is not between 0 and 23"),
        ("60 0 * * *", "minute: `60` is not between 0 and 59"),
        ("0 0 0 * *", "day of month: `0` is not between 1 and 31"),
        ("0 0 * 13 *", "month: `13` is not between 1 and 12"),
        ("0 0 * * 8", "day of week: `8` is not between 0 and 7"),
        ("61 0 0 * * *", "second: `61` is not between 0 and 59"),
        ("0 0 * * MOO", "day of week: `MOO` is not a number, nor one of SUN/MON"),
        ("0 22-2 * * *", "hour: `22-2` ends before it begins"),
        ("*/0 * * * *", "minute: `*/0` needs a step from 1 to 60"),
        ("*/99999 * * * *", "minute: `*/99999` needs a number after `/`"),
        ("1, * * * *", "minute: `1,` has a comma with nothing beside it"),
        ("5- * * * *", "minute: `` is not a number"),
        ("-5 * * * *", "minute: `` is not a number"),
        ("٣ * * * *", "minute: `٣` is not a number"),
        ("0 0 * * MON#6", "day of week: `MON#6` needs a number from 1 to 5 after `#`"),
        ("0 0 * * L", "day of week: `L` does not say which day"),
        ("0 0 W * *", "day of month: `W` has no single day before its `W`"),
        ("0 0 1-5W * *", "day of month: `1-5W` has no single day before its `W`"),
        ("0 0 L-31 * *", "day of month: `L-31` counts 1 to 30 days back"),
        ("H(5-99) * * * *", "minute: `99` is not between 0 and 59"),
        ("0 0 H(29-31) * *", "day of month: `H(29-31)` goes beyond 28"),
        ("* * * *", "has 4 fields instead of 5 or 6"),
        ("", "has 0 fields instead of 5 or 6"),
        ("@fortnightly", "`@fortnightly` is not known"),
        ("@reboot", "has no instant"),
        ("* " * 400, "is longer than 500 characters"),
    ],
)
def test_a_bad_cron_line_is_told_by_field_and_reason(line: str, words: str) -> None:
    assert words in problem(CronSpec(line)).message


@pytest.mark.parametrize(
    ("when", "words"),
    [
        (IntervalSpec(-5), "every: `-5 s` is negative"),
        (IntervalSpec(0), "every: `0 s` is shorter than 1 s"),
        (IntervalSpec(10**12), "is longer than a hundred years"),
        (IntervalSpec(60, 60), "phase: `60 s` is not from 0 up to the interval of 60 s"),
        (OnceSpec(datetime(9999, 1, 1, tzinfo=UTC)), "is not in the years 1970 to 2099"),
        (OnceSpec(datetime.max.replace(tzinfo=timezone(-timedelta(hours=9)))), "not in the years"),
        (OnceSpec(datetime(1969, 12, 31, tzinfo=UTC)), "is not in the years 1970 to 2099"),
        (OnceSpec(datetime(2026, 1, 1)), "at: `2026-01-01T00:00:00` has no zone"),
        (OnceSpec(NOON.replace(microsecond=5)), "is not a whole second"),
        (DatesSpec(()), "dates: `()` is empty"),
        (DatesSpec((NOON,) * 10_000), "dates: `10,000 dates` are more than 1,000"),
        (DatesSpec((NOON, datetime(9999, 1, 1, tzinfo=UTC))), "is not in the years 1970 to 2099"),
        (RecurrenceSpec("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"), "never fires"),
        (RecurrenceSpec("FREQ=SOMETIMES"), "needs `FREQ=` one of SECONDLY"),
        (RecurrenceSpec("FREQ=DAILY;COUNT=0"), "has `COUNT=0`, not 1 to 10,000"),
        (RecurrenceSpec("FREQ=DAILY;INTERVAL=-1"), "has `INTERVAL=-1`"),
        (RecurrenceSpec("FREQ=DAILY;BYHOUR=25"), "has `25` in `BYHOUR`, not 0 to 23"),
        (RecurrenceSpec("FREQ=DAILY;BYDAY=2MO"), "has `2MO` in `BYDAY` with `FREQ=DAILY`"),
        (RecurrenceSpec("FREQ=DAILY;BYYEARDAY=5"), "means nothing with `FREQ=DAILY`"),
        (RecurrenceSpec("FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30"), "never fires"),
        (RecurrenceSpec("FREQ=MINUTELY;INTERVAL=1440;BYHOUR=3"), "never fires"),
        (RecurrenceSpec("FREQ=DAILY;COUNT=3;UNTIL=20260101"), "has both `COUNT` and `UNTIL`"),
        (RecurrenceSpec("FREQ=DAILY;FOO=1"), "has `FOO`"),
        (RecurrenceSpec("FREQ=DAILY;UNTIL=99990101T000000Z"), "has UNTIL in 9999"),
        (
            RecurrenceSpec("DTSTART:20269999\nFREQ=DAILY"),
            "has DTSTART `20269999`, which is no time",
        ),
        (RecurrenceSpec("DTSTART;TZID=Asia/Tokyo:20260101T000000 FREQ=DAILY"), "starts in"),
        (RecurrenceSpec("FREQ=DAILY\nEXDATE:20260101T000000Z"), "has `EXDATE`"),
        (RecurrenceSpec(""), "has no rule"),
    ],
)
def test_what_can_never_fire_as_meant_is_refused(when: Any, words: str) -> None:
    assert words in problem(when).message


def test_what_surrounds_the_times_is_checked_too() -> None:
    with pytest.raises(InvalidSchedule, match="is empty"):
        check_spec(ScheduleSpec(()))
    assert problem(timezone="Europe/Berln").hint == "did you mean `Europe/Berlin`?"
    assert "is not a time zone" in problem(timezone="../../etc/passwd").message
    assert "is not a time zone" in problem(timezone="").message
    assert "is not a time zone" in problem(timezone="America").message
    assert "is before the start" in problem(start=NOON, end=NOON - timedelta(1)).message
    assert "is the start" in problem(start=NOON, end=NOON).message
    assert "1970 to 2099" in problem(end=datetime(9999, 1, 1, tzinfo=UTC)).message
    assert "has no zone" in problem(start=datetime(2026, 1, 1)).message
    assert "jitter_seconds: `-1`" in problem(jitter_seconds=-1).message
    assert "limit: `0`" in problem(limit=0).message
    assert "means nothing with overlap `allow_all`" in problem(overlap_max=3).message
    assert "is named twice" in problem(exclude=("a", "a")).message
    assert "cannot be stored" in problem(timezone=7).message
    assert "cannot be stored" in problem(dst_gap="sometimes").message


def test_calendars_have_to_exist_when_they_are_known() -> None:
    spec = ScheduleSpec((CronSpec("@daily"),), exclude=("holydays",))
    check_spec(spec)
    with pytest.raises(InvalidSchedule) as caught:
        check_spec(spec, {"holidays"})
    assert caught.value.hint == "did you mean `holidays`?"


def test_a_schedule_survives_storage() -> None:
    berlin = timezone(timedelta(hours=1))
    spec = ScheduleSpec(
        (
            CronSpec("H 2 * * *"),
            IntervalSpec(90, 30),
            OnceSpec(NOON.astimezone(berlin)),
            DatesSpec((NOON, NOON + timedelta(1))),
            RecurrenceSpec("FREQ=DAILY"),
        ),
        timezone="Europe/Berlin",
        dst_gap=DstGap.SKIP,
        dst_fold=DstFold.BOTH,
        exclude=("holidays",),
        start=NOON.astimezone(berlin),
        end=NOON + timedelta(30),
        overlap=Overlap.SKIP,
        overlap_max=2,
        misfire=Misfire.ALL,
    )
    check_spec(spec)
    stored = msgspec.json.encode(spec)
    assert msgspec.json.decode(stored, type=ScheduleSpec) == spec
    assert b'"start":"2026-11-15T12:00:00Z"' in stored


def test_defaults_are_not_stored() -> None:
    stored = msgspec.json.encode(ScheduleSpec((CronSpec("@daily"),)))
    assert stored == b'{"when":[{"type":"cron","expression":"@daily"}]}'
