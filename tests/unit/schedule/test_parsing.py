"""What authors write after `schedule=`, and what it means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.domain.errors import InvalidSchedule
from mainspring.schedule.parsing import schedule_from
from mainspring.schedule.specs import (
    CronSpec,
    DatesSpec,
    DstFold,
    DstGap,
    IntervalSpec,
    OnceSpec,
    Overlap,
    RecurrenceSpec,
    ScheduleSpec,
)

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "when"),
    [
        ("0 2 * * *", CronSpec("0 2 * * *")),
        (" @daily ", CronSpec("@daily")),
        ("H H * * MON-FRI", CronSpec("H H * * MON-FRI")),
        ("every 90m", IntervalSpec(5400)),
        ("@every 1h30m", IntervalSpec(5400)),
        ("Every 1h phase 15m", IntervalSpec(3600, 900)),
        (timedelta(minutes=90), IntervalSpec(5400)),
        ("2026-11-15T12:00:00Z", OnceSpec(NOON)),
        ("2026-11-15 13:00+01:00", OnceSpec(NOON)),
        (NOON, OnceSpec(NOON)),
        ("RRULE:FREQ=DAILY", RecurrenceSpec("RRULE:FREQ=DAILY")),
        ("freq=daily", RecurrenceSpec("freq=daily")),
        (
            "DTSTART:20260101T080000\nRRULE:FREQ=DAILY",
            RecurrenceSpec("DTSTART:20260101T080000\nRRULE:FREQ=DAILY"),
        ),
        (IntervalSpec(60), IntervalSpec(60)),
    ],
)
def test_one_time_is_recognized_by_its_looks(written: Any, when: Any) -> None:
    assert schedule_from(written).when == (when,)


def test_several_are_one_schedule_and_instants_one_list() -> None:
    later = NOON + timedelta(days=1)
    spec = schedule_from(["0 9 * * *", NOON, later.isoformat(), "every 5m"])
    assert spec.when == (DatesSpec((NOON, later)), CronSpec("0 9 * * *"), IntervalSpec(300))


def test_options_may_be_words_and_lengths_of_time() -> None:
    spec = schedule_from(
        "@daily",
        timezone="Europe/Berlin",
        dst_gap="skip",
        dst_fold=DstFold.BOTH,
        jitter="5m",
        interval=timedelta(days=1),
        grace=90,
        exclude="holidays",
        start="2026-11-15T12:00:00Z",
        overlap="max=3",
    )
    assert spec == ScheduleSpec(
        (CronSpec("@daily"),),
        timezone="Europe/Berlin",
        dst_gap=DstGap.SKIP,
        dst_fold=DstFold.BOTH,
        jitter_seconds=300,
        interval_seconds=86_400,
        grace_seconds=90,
        exclude=("holidays",),
        start=NOON,
        overlap=Overlap.BUFFER_ALL,
        overlap_max=3,
    )
    assert schedule_from(spec) == spec
    assert schedule_from(spec, timezone="UTC").timezone == "UTC"


@pytest.mark.parametrize(
    ("written", "options", "words"),
    [
        ("every -5m", {}, "every: `-5m` is negative"),
        ("every 0.5s", {}, "every: `0.5s` is shorter than 1 s"),
        ("every 1.5s", {}, "is not a whole number of seconds"),
        ("every soon", {}, "every: `soon` is not a length of time"),
        (timedelta(seconds=-1), {}, "is not a length of time"),
        ("every 1h phase 1h", {}, "phase: `3600 s` is not from 0"),
        ("2026-11-15", {}, "at: `2026-11-15` has no zone"),
        ("2026-13-45T00:00Z", {}, "is no instant"),
        ("9999-01-01T00:00Z", {}, "is not in the years 1970 to 2099"),
        (5, {}, "is of type `int`"),
        (None, {}, "is of type `NoneType`"),
        ([], {}, "when: `()` is empty"),
        (["@daily", ["@daily"]], {}, "is of type `list`"),
        ("tomorrow", {}, "has 1 fields instead of 5 or 6"),
        ("@daily", {"timezon": "UTC"}, "`timezon` is no option"),
        ("@daily", {"dst_gap": "maybe"}, "dst_gap: `maybe` is no choice"),
        ("@daily", {"jitter": "5m", "jitter_seconds": 5}, "is given twice"),
        ("@daily", {"start": "soon"}, "start: `soon` is no instant"),
        ("@daily", {"overlap": "max=0"}, "overlap_max: `0`"),
    ],
)
def test_what_means_nothing_is_refused(written: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        schedule_from(written, **options)
    assert words in caught.value.message
