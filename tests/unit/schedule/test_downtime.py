"""What the guide says becomes of fires that nobody was there for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.schedule.firing import Outcome, Standing, decide_fires
from mainspring.schedule.parsing import schedule_from
from mainspring.schedule.timetable import Timetable


def at(hour: int, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2026, 11, 15, hour, minute, second, tzinfo=UTC)


@pytest.mark.parametrize(
    ("options", "back_at", "fired"),
    [
        ({}, at(12, 10), [12]),
        ({"misfire": "all"}, at(12, 10), [9, 10, 11, 12]),
        ({"misfire": "all", "max_count": 2}, at(12, 10), [11, 12]),
        ({"misfire": "all", "max_age": "2h"}, at(12, 10), [11, 12]),
        ({"misfire": "none"}, at(12, 10), []),
        ({"misfire": "from_now"}, at(12, 10), []),
        ({"misfire": "none"}, at(12, 0, 30), [12]),
        ({"misfire": "from_now"}, at(12, 0, 30), []),
    ],
)
def test_an_hourly_schedule_after_engines_were_away(
    options: dict[str, Any], back_at: datetime, fired: list[int]
) -> None:
    spec = schedule_from("0 * * * *", **options)
    decision = decide_fires(spec, Timetable(spec, "hourly"), Standing(at(9)), back_at)
    entries = decision.entries
    assert [entry.fire_at.hour for entry in entries if entry.outcome is Outcome.FIRED] == fired
    assert sum(entry.count for entry in entries) == 4
    assert decision.next_fire_at == at(13)
