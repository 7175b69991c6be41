"""`mainspring doctor|migrate`, `queue list`, `worker list`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mainspring.domain.specs import DagSpec, TaskSpec
from mainspring.schedule.calendars import CalendarSpec
from mainspring.schedule.specs import IntervalSpec, ScheduleSpec
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import register_dag
from mainspring.store.reading import read_clock
from mainspring.store.schedule_changes import Intent, pause_schedule, put_calendar, put_schedule
from mainspring.store.schedules import due_schedules
from mainspring.store.settling import Settler
from tests.conftest import Server
from tests.integration.cli.conftest import Command
from tests.support.factory import BareWorker, dag_of, start_dag
from tests.support.launcher import Launcher
from tests.support.team import Team

BOTH_ROADS = True
LOCAL = ("test_a_database_without_the_schema_is_sent_to_migrate",)


async def _an_engine_lives(connection: Connection) -> None:
    await fetch(
        connection,
        "with beat as (insert into mainspring.engine (id, name) values ($1, 'e'))"
        " update mainspring.shard"
        " set holder = $1, holder_name = 'e', renewed_at = clock_timestamp()",
        uuid4(),
    )


async def test_doctor_finds_a_sound_system_well(connection: Connection, command: Command) -> None:
    await BareWorker.join(connection, dag_of())
    await _an_engine_lives(connection)
    answer = await command("doctor")
    assert answer.code == 0, answer.out
    assert answer.out.endswith("All is well.\n")
    checks = (await command("doctor", "--json")).json["checks"]
    assert {check["verdict"] for check in checks} == {"ok"}
    assert any(check["name"].startswith("L1_") and check["count"] == 0 for check in checks)


async def test_doctor_names_what_is_missing_and_the_fix(
    connection: Connection, command: Command
) -> None:
    await start_dag(connection, dag_of())
    answer = await command("doctor")
    assert answer.code == 1
    for words in (
        "none runs: timers",
        "nobody holds shards of schedules: nothing fires",
        "none lives",
        "nobody serves 1 task in `default`",
    ):
        assert words in answer.out
    assert "4 things broken" in answer.out


async def test_doctor_tells_which_engine_holds_which_shards_and_that_nobody_does(
    database_url: str, command: Command, tmp_path: Path, launcher: Launcher
) -> None:
    async def shards() -> dict[str, Any]:
        checks = (await command("doctor", "--json")).json["checks"]
        found: dict[str, Any] = next(check for check in checks if check["name"] == "shards")
        return found

    async with Team(database_url, tmp_path, launcher) as team:
        engines = [team.start_engine() for _ in range(2)]

        async def shared() -> bool:
            held = [len(engine["shards"]) for engine in (await shards())["details"]["engines"]]
            return held == [8, 8]

        await team.until(shared)
        check = await shards()
        assert check["verdict"] == "ok"
        assert {shard["lag_seconds"] for shard in check["details"]["shards"]} == {0.0}
        # No goodbye: their shards stay theirs by name, and nobody beats for them.
        for engine in engines:
            engine.kill()

        async def broken() -> bool:
            return str((await shards())["verdict"]) == "broken"

        await team.until(broken)
        check = await shards()
        assert "nobody holds shards of schedules: nothing fires" in check["found"]
        assert "was not heard of for" in check["found"]
        assert "mainspring engine" in check["fix"]


async def test_doctor_tells_of_schedules_that_need_somebody(
    connection: Connection, command: Command
) -> None:
    await register_dag(connection, dag_of(), "0" * 64)
    await put_calendar(connection, "closed", CalendarSpec(weekdays=("sunday",)))
    now = await read_clock(connection)
    for name, options in {
        "well": {},
        "failing": {"pause_after_failures": 1},
        "lost": {"exclude": ("closed",)},
        "refused": {},
    }.items():
        spec = ScheduleSpec(when=(IntervalSpec(60),), **options)  # type: ignore[arg-type]
        at = now - timedelta(seconds=90)
        await put_schedule(connection, Intent(name, "sample", spec), by="tests", now=at)
    await connection.execute("delete from mainspring.calendar")
    await pause_schedule(
        connection, "failing", by="mainspring", note="its runs failed once", now=now
    )
    await connection.execute(
        "update mainspring.schedule set parameters = '{\"no\":1}' where name = 'refused'"
    )
    due = await due_schedules(connection, now, list(range(17)), now - timedelta(days=1), 100)
    await Settler().settle(connection, due, now)
    checks = (await command("doctor", "--json")).json["checks"]
    [check] = [check for check in checks if check["name"] == "schedules"]
    assert (check["verdict"], check["count"]) == ("warning", 3)
    for words in (
        "4 schedules, 2 paused",
        "`failing`: paused itself, since its runs failed once",
        "there is no calendar `closed`",
        "`refused`: its fires are refused: dag `sample` does not take its parameters",
    ):
        assert words in check["found"]
    assert [each["name"] for each in check["details"]] == ["failing", "lost", "refused"]
    assert "mainspring schedule show failing" in check["fix"]


async def test_doctor_reports_a_broken_promise(connection: Connection, command: Command) -> None:
    run_id = await start_dag(connection, dag_of())
    taken = await fetch(connection, "delete from mainspring.ready returning *")
    checks = (await command("doctor", "--json")).json["checks"]
    broken = {check["name"] for check in checks if check["verdict"] == "broken"}
    assert "N1_every_ready_task_is_queued_or_claimed" in broken
    assert "promise" in (await command("doctor")).out
    row = taken[0]
    await fetch(
        connection,
        "insert into mainspring.ready (position, task_id, lane, term, priority)"
        " values ($1, $2, $3, $4, $5)",
        row["position"],
        run_id,
        row["lane"],
        row["term"],
        row["priority"],
    )


async def test_queues_show_what_waits_and_who_serves(
    connection: Connection, command: Command
) -> None:
    assert (await command("queue", "list", "--json")).json == []
    await BareWorker.join(connection, dag_of())
    for _ in range(3):
        await start_dag(connection, dag_of())
    await start_dag(connection, DagSpec(name="io", tasks=(TaskSpec("t", "m:t", queue="io"),)))
    default, io = (await command("queue", "list", "--json")).json
    assert (default["queue"], default["kind"], default["ready"]) == ("default", "async", 3)
    assert (default["workers"], default["running"]) == (1, 0)
    assert default["oldest_seconds"] >= 0
    assert (io["queue"], io["kind"], io["ready"], io["workers"]) == ("io", "process", 1, 0)
    assert "none" in (await command("queue", "list")).out


async def test_workers_show_what_they_have_in_hand(
    connection: Connection, command: Command
) -> None:
    assert "No worker lives" in (await command("worker", "list")).out
    worker = await BareWorker.join(connection, dag_of())
    await start_dag(connection, dag_of())
    await worker.claim()
    (line,) = (await command("worker", "list", "--json")).json
    assert (line["name"], line["queues"]) == ("bare", ["default"])
    assert (line["slots"], line["running"]) == ({"async": 10}, {"async": 1})
    assert (line["draining"], line["overdue"]) == (False, False)
    assert "async 1/10" in (await command("worker", "list")).out


async def test_a_database_without_the_schema_is_sent_to_migrate(
    server: Server, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server._admin("create database bare")
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", server.url("bare"))
    try:
        answer = await command("dag", "list")
        assert answer.code == 1
        assert "hint: run `mainspring migrate`" in answer.err
        assert (await command("migrate", "--check")).code == 1
        assert (await command("doctor")).code == 1
        assert "0001_core.before" in (await command("migrate")).out
        assert (await command("migrate")).out == "The schema is up to date.\n"
        assert (await command("migrate", "--check", "--json")).json == {"pending": []}
        assert (await command("dag", "list")).code == 0
    finally:
        await server.drop("bare")
