"""Schedules in plain words."""

from __future__ import annotations

import pytest
from hypothesis import given

from mainspring.domain.errors import InvalidSchedule
from mainspring.schedule.explaining import explain
from mainspring.schedule.parsing import schedule_from
from tests.support.clockwork import Line, lines


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("0 2 * * *", "every day at 02:00"),
        ("* * * * *", "every minute"),
        ("* * * * * *", "every second"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("*/5 * * * *", "every 5 minutes"),
        ("@hourly", "every hour"),
        ("5 * * * *", "every hour at minute 5"),
        ("30 5 * * * *", "every hour at minute 5 and second 30"),
        ("7,13 * * * *", "every hour at minutes 7 and 13"),
        ("0 */2 * * *", "every 2 hours"),
        ("15 */6 * * *", "every day at 00:15, 06:15, 12:15 and 18:15"),
        ("0 9-17 * * MON-FRI", "every hour from 09:00 to 17:00, on Monday to Friday"),
        ("*/5 9-17 * * SAT,SUN", "every 5 minutes from 09:00 to 17:55, on Saturday and Sunday"),
        ("*/5 9 * * *", "every 5 minutes from 09:00 to 09:55"),
        ("0 0 1,15 * *", "on days 1 and 15 of the month at 00:00"),
        ("0 0 L * *", "on the last day of the month at 00:00"),
        ("0 0 L-3 * *", "on the day 3 days before the last day of the month at 00:00"),
        ("0 9 15W * *", "on the working day nearest to day 15 at 09:00"),
        ("0 9 LW * *", "on the last working day of the month at 09:00"),
        ("0 9 * * FRI#2", "on the second Friday of the month at 09:00"),
        ("0 9 * * 5L", "on the last Friday of the month at 09:00"),
        ("0 0 13 * FRI", "on day 13 of the month or on Friday at 00:00"),
        ("0 0 */10 * MON", "on Monday if it is days 1, 11, 21 and 31 of the month at 00:00"),
        ("@yearly", "on day 1 of January at 00:00"),
        ("0 0 * 6-8 *", "every day in June to August at 00:00"),
        ("1,5 30 2 * * *", "every day at 02:30:01 and 02:30:05"),
        ("RRULE:FREQ=DAILY", "by the rule `RRULE:FREQ=DAILY`"),
        ("2026-07-15T08:30:00Z", "once, at 2026-07-15 10:30:00"),
    ],
)
def test_times_are_told_as_people_say_them(written: str, words: str) -> None:
    spec = schedule_from(written, timezone="Europe/Berlin")
    assert explain(spec, "test") == f"{words} (Europe/Berlin)"


def test_intervals_need_no_zone_and_lose_no_second() -> None:
    assert explain(schedule_from("every 1d2h3m4s phase 15m"), "test") == (
        "every 1 d 2 h 3 min 4 s, shifted by 15 min"
    )


def test_all_that_limits_a_schedule_is_told() -> None:
    spec = schedule_from(
        ["0 9 * * *", "0 17 * * *"],
        exclude=("holidays", "weekends"),
        start="2026-01-01T00:00:00Z",
        end="2027-01-01T00:00:00Z",
        limit=3,
        jitter="5m",
    )
    assert explain(spec, "test") == (
        "every day at 09:00, and every day at 17:00 (UTC), except on days of `holidays` and"
        " `weekends`, from 2026-01-01 00:00, until 2027-01-01 00:00, at most 3 times,"
        " up to 5 min later"
    )


@given(lines())
def test_every_line_can_be_told(line: Line) -> None:
    try:
        spec = schedule_from(line.text)
    except InvalidSchedule:
        return
    assert explain(spec, "test").endswith(" (UTC)")
