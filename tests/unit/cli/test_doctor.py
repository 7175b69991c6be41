"""What the doctor makes of what it finds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mainspring.cli import doctor
from mainspring.cli.doctor import Verdict
from mainspring.config import Config
from mainspring.domain.lanes import SlotKind
from mainspring.store.pauses import Pause
from mainspring.store.reading import EngineLine, LaneLine, PausedLine, ServerLine

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


async def test_an_object_store_that_cannot_be_used_is_a_warning(tmp_path: Path) -> None:
    check = await doctor.objects_check(Config(home=tmp_path))
    assert (check.verdict, check.found) == (Verdict.OK, "`home:` takes and gives objects")
    assert not list((tmp_path / "objects").rglob("*")), "nothing is left of the probe"
    check = await doctor.objects_check(Config(home=tmp_path, database_url="elsewhere"))
    assert check.verdict is Verdict.OK
    (tmp_path / "file").write_text("in the way")
    url = (tmp_path / "file" / "objects").as_uri()
    check = await doctor.objects_check(Config(home=tmp_path, objects_url=url))
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
