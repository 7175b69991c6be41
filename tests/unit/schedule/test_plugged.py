"""Schedules of plug-ins: asked, and not believed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.errors import InvalidSchedule, PluginError
from mainspring.plugins import Kind, load_plugin_named
from mainspring.schedule import plugged
from mainspring.schedule.easter import Easter
from mainspring.schedule.explaining import explain
from mainspring.schedule.parsing import schedule_from
from mainspring.schedule.specs import PluginSpec, ScheduleSpec
from mainspring.schedule.timetable import Timetable
from mainspring.testing.conformance import check_schedule

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def test_easter_is_a_schedule_that_conforms() -> None:
    days = check_schedule(Easter, "-2 09:00 Europe/Berlin", wrong_address="whenever")
    assert days[0] == datetime(2026, 4, 3, 7, tzinfo=UTC)
    assert len(days) == 5


def test_a_text_with_a_colon_names_a_plug_in() -> None:
    spec = schedule_from("easter:+1 06:00 Europe/Zurich")
    assert spec.when == (PluginSpec("easter", "+1 06:00 Europe/Zurich"),)
    timetable = Timetable(spec, "holidays")
    fire = timetable.next_fire(NOON)
    assert fire is not None
    assert fire.at == datetime(2027, 3, 29, 4, tzinfo=UTC)
    last = timetable.last_fire(NOON)
    assert last is not None
    assert timetable.data_interval(fire.at) == (last.at, fire.at)
    assert timetable.count_between(NOON, NOON + timedelta(days=3653)) == 10
    assert explain(spec, "holidays") == "by `easter:+1 06:00 Europe/Zurich` (UTC)"


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match="does not say days from Easter"):
        schedule_from("easter:soon")
    with pytest.raises(PluginError, match="there is no schedule `moon`"):
        schedule_from("moon:full")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (NOON - timedelta(days=1), "as the next instant after"),
        (NOON.replace(tzinfo=None), "expected an instant with a zone"),
        (NOON + timedelta(days=1, microseconds=1), "expected an instant with a zone"),
        ("tomorrow", "expected an instant with a zone"),
        (ZeroDivisionError("it"), "failed: ZeroDivisionError: it"),
    ],
)
def test_a_plug_in_that_answers_nonsense_is_named(
    answer: object, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wrong:
        def __init__(self, address: str) -> None: ...

        def next_instant(self, after: datetime) -> object:
            if isinstance(answer, Exception):
                raise answer
            return answer

        last_instant = next_instant

    monkeypatch.setattr(plugged, "_load", lambda _: Wrong)
    timetable = Timetable(ScheduleSpec(when=(PluginSpec("wrong"),)), "name")
    with pytest.raises(PluginError, match="schedule `wrong` ") as raised:
        timetable.next_fire(NOON)
    assert words in raised.value.message


def test_ours_comes_through_the_door() -> None:
    assert load_plugin_named(Kind.SCHEDULE, "easter") is Easter
