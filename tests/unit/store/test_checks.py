"""What the doctor makes of what it finds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from mainspring.config import Config
from mainspring.domain.lanes import SlotKind
from mainspring.logs.checking import objects_check
from mainspring.store import checks as doctor
from mainspring.store.checks import Check, Verdict
from mainspring.store.pauses import Pause
from mainspring.store.reading import EngineLine, LaneLine, PausedLine, ServerLine
from mainspring.store.schedule_checks import clock_check, shards_check
from mainspring.store.schedule_reading import EngineAtWork, ShardStanding

NOW = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("number", "verdict"), [(140010, Verdict.BROKEN), (150000, Verdict.OK), (180004, Verdict.OK)]
)
def test_an_old_server_is_broken(number: int, verdict: Verdict) -> None:
    server = ServerLine(number, "x", "mainspring", "db", False)
    assert doctor.server_check(server).verdict is verdict


@pytest.mark.parametrize(("superuser", "verdict"), [(True, Verdict.WARNING), (False, Verdict.OK)])
def test_a_superuser_is_a_warning(superuser: bool, verdict: Verdict) -> None:
    server = ServerLine(150000, "15", "root", "db", superuser)
    assert doctor.role_check(server).verdict is verdict


@pytest.mark.parametrize(
    ("held", "silent_seconds", "verdict"),
    [(False, 0, Verdict.BROKEN), (True, 60, Verdict.BROKEN), (True, 0.5, Verdict.OK)],
)
def test_an_engine_must_have_been_heard_of(
    held: bool, silent_seconds: float, verdict: Verdict
) -> None:
    engine = EngineLine("e", held, NOW - timedelta(seconds=silent_seconds), NOW)
    assert doctor.engine_check(engine).verdict is verdict


def test_ready_tasks_that_nobody_serves_are_broken_and_the_fix_serves_them() -> None:
    check = doctor.lanes_check([LaneLine("io", SlotKind.PROCESS, 3, 60.0, 0, 0)])
    assert check.verdict is Verdict.BROKEN
    assert "--queues io --slots process=1" in check.fix


def test_no_workers_are_broken() -> None:
    assert doctor.workers_check([]).verdict is Verdict.BROKEN


def test_a_broken_promise_is_counted() -> None:
    assert doctor.promise_check("N1_x", 0).verdict is Verdict.OK
    check = doctor.promise_check("N1_x", 2)
    assert (check.verdict, check.count) == (Verdict.BROKEN, 2)


async def objects(config: Config) -> Check:
    return await objects_check(config.object_store, config.home)


async def test_an_object_store_that_cannot_be_used_is_a_warning(tmp_path: Path) -> None:
    check = await objects(Config(home=tmp_path))
    assert (check.verdict, check.found) == (Verdict.OK, "`home:` takes and gives objects")
    assert not list((tmp_path / "objects").rglob("*")), "nothing is left of the probe"
    check = await objects(Config(home=tmp_path, database_url="elsewhere"))
    assert check.verdict is Verdict.OK
    (tmp_path / "file").write_text("in the way")
    url = (tmp_path / "file" / "objects").as_uri()
    check = await objects(Config(home=tmp_path, objects_url=url))
    assert check.verdict is Verdict.WARNING
    assert "MAINSPRING_OBJECTS" in check.fix


def test_pauses_are_told_and_are_no_fault() -> None:
    assert doctor.pauses_check([]).found == "no dag and no queue is paused"
    pause = Pause(NOW, "ann", "maintenance")
    paused = [PausedLine("dag", f"dag_{number}", pause) for number in range(12)]
    check = doctor.pauses_check([*paused, PausedLine("queue", "slow", Pause(NOW, None, None))])
    assert (check.verdict, check.count) == (Verdict.OK, 13)
    assert check.found.startswith("paused: dag `dag_0` (since ")
    assert "by ann: maintenance)" in check.found
    assert check.found.endswith(", and 3 more")
    assert check.fix == "`mainspring dag resume dag_0` lets it go on"


# --- schedules ------------------------------------------------------------------------------


def engine_at_work(name: str, silent_seconds: float = 0.2, age_seconds: float = 60) -> EngineAtWork:
    started = NOW - timedelta(seconds=age_seconds)
    return EngineAtWork(uuid4(), name, started, NOW - timedelta(seconds=silent_seconds), NOW)


def shards_of(*engines: EngineAtWork | None, lag_seconds: float = 0) -> list[ShardStanding]:
    """One shard each; the first is behind."""
    return [
        ShardStanding(
            number,
            engine.id if engine is not None else None,
            engine.name if engine is not None else None,
            NOW,
            3 if lag_seconds and number == 1 else 0,
            NOW - timedelta(seconds=lag_seconds) if lag_seconds and number == 1 else None,
            NOW,
        )
        for number, engine in enumerate(engines, 1)
    ]


def test_engines_are_told_with_their_shards() -> None:
    one, two = engine_at_work("one"), engine_at_work("two")
    check = shards_check([one, two], shards_of(one, one, one, two, one))
    assert check.verdict is Verdict.OK
    assert check.found == "`one` holds shards 1-3, 5, `two` holds shard 4; no schedule is late"
    assert check.details["shards"][3] == {
        "number": 4,
        "holder": "two",
        "due": 0,
        "lag_seconds": 0.0,
    }


def test_shards_that_nobody_holds_are_broken_and_the_fix_holds_them() -> None:
    dead = engine_at_work("dead", silent_seconds=60)
    for engines, shards in (([], shards_of(None, None)), ([dead], shards_of(dead, dead))):
        check = shards_check(engines, shards)
        assert check.verdict is Verdict.BROKEN
        assert "mainspring engine" in check.fix


def test_schedules_that_are_late_are_a_warning_and_say_how_late() -> None:
    one = engine_at_work("one")
    check = shards_check([one], shards_of(one, one, lag_seconds=90))
    assert (check.verdict, check.count) == (Verdict.WARNING, 1)
    assert "3 schedules due, the oldest for 1 min" in check.found


@pytest.mark.parametrize(("age", "verdict"), [(1, Verdict.OK), (60, Verdict.WARNING)])
def test_free_shards_are_odd_unless_an_engine_has_just_come(age: float, verdict: Verdict) -> None:
    one = engine_at_work("one", age_seconds=age)
    assert shards_check([one], shards_of(one, None)).verdict is verdict


@pytest.mark.parametrize(
    ("offset", "verdict"),
    [(0.0, Verdict.OK), (0.4, Verdict.OK), (0.6, Verdict.WARNING), (-3600, Verdict.WARNING)],
)
def test_clocks_that_differ_are_a_warning(offset: float, verdict: Verdict) -> None:
    check = clock_check(offset)
    assert check.verdict is verdict
    assert check.details == {"offset_seconds": offset}
