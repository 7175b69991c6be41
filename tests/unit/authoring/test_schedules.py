"""`@dag(schedule=…)` and `Schedule`: what an author may write, and what is said of the rest."""

from __future__ import annotations

import inspect
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest

from mainspring import Dag, DefinitionError, Schedule, dag, task
from mainspring.domain.specs import DagSpec
from mainspring.schedule.parsing import schedule_from
from mainspring.schedule.specs import ScheduleSpec


@task
def work() -> None:
    pass


def drawn(**options: Any) -> DagSpec:
    @dag(**options)
    def report(day: date | None = None) -> None:
        work()

    return report.spec


def stored(**options: Any) -> dict[str, ScheduleSpec]:
    """As the engine gets them: by name, over the wire."""
    spec = msgspec.json.decode(msgspec.json.encode(drawn(**options)), type=DagSpec)
    return {each.name: msgspec.convert(each.spec, ScheduleSpec) for each in spec.schedules}


@pytest.mark.parametrize(
    "when",
    [
        "0 2 * * *",
        "H H * * MON-FRI",
        "@daily",
        "every 90m",
        "RRULE:FREQ=MONTHLY;BYDAY=-1FR",
        "easter:-2 09:00 Europe/Berlin",
        "2027-11-15T08:30:00Z",
        timedelta(minutes=90),
        datetime(2027, 1, 1, tzinfo=UTC),
        ["0 9 * * *", "0 17 * * *"],
    ],
)
def test_a_dag_takes_whatever_a_schedule_may_be_written_as(when: Any) -> None:
    assert stored(schedule=when) == {"report": schedule_from(when)}


def test_the_common_options_stand_next_to_the_schedule() -> None:
    options = {"timezone": "Europe/Berlin", "misfire": "all", "overlap": "max=3"}
    assert stored(schedule="0 2 * * *", **options) == {
        "report": schedule_from("0 2 * * *", **options)
    }


def test_a_schedule_object_takes_every_option() -> None:
    options: dict[str, Any] = {
        "timezone": "America/New_York",
        "dst_gap": "skip",
        "dst_fold": "both",
        "exclude": ["holidays"],
        "start": "2026-01-01T00:00:00Z",
        "end": datetime(2027, 1, 1, tzinfo=UTC),
        "jitter": "5m",
        "interval": "1h",
        "overlap": "skip",
        "overlap_max": 2,
        "misfire": "none",
        "grace": 5,
        "max_age": "1d",
        "max_count": 3,
        "limit": 10,
        "pause_after_failures": 4,
    }
    assert stored(schedule=Schedule("0 2 * * *", **options)) == {
        "report": schedule_from("0 2 * * *", **options)
    }


def test_options_that_are_left_out_mean_what_the_spec_means() -> None:
    assert Schedule("0 2 * * *").spec == schedule_from("0 2 * * *")
    own = {"when", "self", "name", "parameters", "note"}
    taken = set(inspect.signature(Schedule.__init__).parameters) - own
    known = {name.removesuffix("_seconds") for name in ScheduleSpec.__struct_fields__}
    assert taken == known - {"when"}


def test_several_schedules_have_names_of_their_own_and_their_own_parameters() -> None:
    spec = drawn(
        schedule=[
            Schedule("0 2 * * *", name="night", parameters={"day": date(2026, 1, 2)}, note="big"),
            Schedule("@hourly"),
        ]
    )
    told = [(each.name, each.parameters, each.note) for each in spec.schedules]
    assert told == [("report", {}, ""), ("report.night", {"day": "2026-01-02"}, "big")]


def test_a_schedule_is_no_part_of_the_graph() -> None:
    with_one, without = drawn(schedule="@daily"), drawn()
    assert with_one.schedules
    assert not with_one.graph().schedules
    assert with_one.digest() == without.digest()


def test_a_schedule_is_told_in_words() -> None:
    assert repr(Schedule("0 2 * * *")) == "<schedule: every day at 02:00 (UTC)>"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schedule": "61 2 * * *"}, "dag `report`: cron `61 2 * * *`, minute: `61` is not"),
        ({"schedule": "0 0 30 2 *"}, "dag `report`: cron: `0 0 30 2 *` never fires"),
        ({"schedule": "0 2 * *\0 *"}, "dag `report`: cron"),
        ({"schedule": "nobody:knows"}, "dag `report`: "),
        ({"schedule": 5}, "dag `report`: schedule: `5` is of type `int`"),
        ({"schedule": []}, "dag `report`: `schedule` is an empty list"),
        ({"schedule": datetime(2027, 1, 1)}, "has no zone"),
        ({"schedule": "@daily", "timezone": "Mars/Olympus"}, "is not a time zone"),
        ({"schedule": "@daily", "timezone": "a\0b"}, "is not a time zone"),
        ({"schedule": "@daily", "misfire": "never"}, "dag `report`: misfire: `never` is no choice"),
        ({"schedule": "@daily", "overlap": 3}, "dag `report`: overlap: `3` is no choice"),
        ({"timezone": "UTC"}, "dag `report`: `timezone` says something of a schedule"),
        ({"schedule": Schedule("@daily"), "overlap": "skip"}, "`overlap` is given to the dag"),
        ({"schedule": [Schedule("@daily"), "@hourly"]}, "holds schedules and bare times"),
        ({"schedule": [Schedule("@daily"), Schedule("@hourly")]}, "two of its schedules have no"),
        ({"schedule": [Schedule("@daily", name="a")] * 2}, "two of its schedules have the name"),
        ({"schedule": [Schedule("@daily", name=f"n{n}") for n in range(101)]}, "more than 100"),
        ({"schedule": Schedule("@daily", parameters={"dya": 1})}, "has no parameter `dya`"),
        (
            {"schedule": Schedule("@daily", name="night", parameters={"day": "soon"})},
            "dag `report`: its schedule `night`: parameter `day`",
        ),
        ({"schedule": Schedule("@daily", name="x" * 195)}, "is longer than 200 characters"),
    ],
)
def test_a_schedule_that_cannot_be_is_a_definition_error(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(DefinitionError) as refused:
        drawn(**options)
    assert said in refused.value.message


def test_a_schedule_has_to_give_the_parameters_that_have_no_default() -> None:
    def decorated(schedule: Any) -> Dag[...]:
        @dag(schedule=schedule)
        def load(day: date) -> None:
            work()

        return load

    with pytest.raises(DefinitionError, match="needs the parameter `day`"):
        decorated("@daily")
    [stored] = decorated(Schedule("@daily", parameters={"day": "2026-01-02"})).spec.schedules
    assert stored.parameters == {"day": "2026-01-02"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "a b"}, "the name `a b` of a schedule may only hold"),
        ({"name": "a\0b"}, "the name `a\\x00b` of a schedule"),
        ({"name": ""}, "the name `` of a schedule is empty"),
        ({"note": "a\0b"}, "`note`: holds a NUL"),
        ({"note": "n" * 1001}, "`note`: longer than 1000"),
        ({"parameters": [1]}, "`parameters`: expected a mapping"),
        ({"exclude": 5}, "exclude: `5` is no list of calendars"),
        ({"exclude": "a b"}, "exclude: `a b` may only hold"),
        ({"exclude": ["a", "a"]}, "exclude: `a` is named twice"),
        ({"exclude": {"a", 5}}, "exclude: "),
        ({"start": "2026"}, "start: `2026` is no instant"),
        ({"start": 5}, "start: `5` is not"),
        ({"end": "9999-01-01T00:00:00Z"}, "end: "),
        ({"jitter": "soon"}, "jitter: `soon` is not a length of time"),
        ({"limit": 0}, "limit: `0` is not from 1"),
        ({"limit": "x"}, "limit: `x` is not"),
        ({"grace": None}, "grace: `None` is not"),
        ({"overlap": "max=3", "overlap_max": 3}, "`overlap_max` is given twice"),
    ],
)
def test_an_option_that_cannot_be_names_itself(options: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        Schedule("@daily", **options)
    assert said in refused.value.message
