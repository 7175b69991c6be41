"""`run_dag(…, fire_at=…)`: a run as a schedule would make it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from mainspring import InputError, Schedule, context, dag, task
from mainspring.testing import run_dag

MIDNIGHT = datetime(2026, 11, 15, tzinfo=UTC)


@task
def tell(word: str) -> list[Any]:
    here = context()
    return [word, here.schedule, here.fire_at, here.data_interval, here.due_at]


@dag(
    schedule=[
        Schedule("@daily", exclude="holidays"),
        Schedule("@daily", name="long", interval="2d", parameters={"word": "long"}),
    ]
)
def fired(word: str = "short") -> None:
    tell(word)


@dag
def unscheduled(word: str = "short") -> None:
    tell(word)


def told(*facts: datetime | str | list[datetime] | None) -> list[Any]:
    encoded: list[Any] = msgspec.json.decode(msgspec.json.encode(facts))
    return encoded


def days(number: int) -> datetime:
    return MIDNIGHT + timedelta(days=number)


def test_a_run_can_be_made_for_a_fire_of_one_of_its_schedules() -> None:
    short = run_dag(fired, fire_at=MIDNIGHT, schedule="fired")
    assert short["tell"].result == told("short", "fired", MIDNIGHT, [days(-1), MIDNIGHT], MIDNIGHT)
    for name in ("long", "fired.long"):
        long = run_dag(fired, fire_at=MIDNIGHT, schedule=name, at=days(1))
        assert long["tell"].result == told(
            "long", "fired.long", MIDNIGHT, [days(-2), MIDNIGHT], days(1)
        )
    own = run_dag(fired, fire_at=MIDNIGHT, schedule="long", word="mine")
    assert own["tell"].result[0] == "mine"


def test_a_run_can_be_made_for_a_fire_that_no_file_defines() -> None:
    given = run_dag(unscheduled, fire_at=MIDNIGHT, data_interval=(days(-3), MIDNIGHT))
    assert given["tell"].result == told("short", None, MIDNIGHT, [days(-3), MIDNIGHT], MIDNIGHT)
    bare = run_dag(unscheduled, fire_at=MIDNIGHT)
    assert bare["tell"].result == told("short", None, MIDNIGHT, [MIDNIGHT, MIDNIGHT], MIDNIGHT)


def test_a_run_without_a_fire_knows_of_none() -> None:
    assert run_dag(fired)["tell"].result[1:4] == [None, None, None]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fire_at": MIDNIGHT}, "has several schedules"),
        ({"fire_at": MIDNIGHT, "schedule": "lnog"}, "has no schedule `lnog`"),
        ({"fire_at": datetime(2026, 1, 1), "schedule": "long"}, "has no time zone"),
        ({"schedule": "long"}, "`schedule` belongs to a fire"),
        ({"data_interval": (days(0), days(1))}, "`data_interval` belongs to a fire"),
        (
            {"fire_at": MIDNIGHT, "schedule": "long", "data_interval": (days(0), days(1))},
            "does not end with the fire",
        ),
    ],
)
def test_a_fire_that_cannot_be_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        run_dag(fired, **options)
