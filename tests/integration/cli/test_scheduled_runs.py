"""What `run show`, `dag show` and `dag list` tell of schedules and fires."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.schedule.parsing import schedule_from
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import register_dag
from mainspring.store.history import archive_runs
from mainspring.store.reading import read_clock
from mainspring.store.schedule_changes import Intent, pause_schedule, put_schedule
from mainspring.store.schedules import due_schedules
from mainspring.store.settling import Settler
from tests.integration.cli.conftest import Command
from tests.support.factory import BareWorker, dag_of

BOTH_ROADS = True

REPORT = dag_of(name="report")
MORNING = datetime(2026, 11, 2, 6, tzinfo=UTC)


async def put(connection: Connection, name: str, when: str, now: datetime = MORNING) -> None:
    intent = Intent(name, "report", schedule_from(when, timezone="Europe/Berlin"))
    await put_schedule(connection, intent, by="tests", now=now)


async def fire(connection: Connection, now: datetime) -> int:
    due = await due_schedules(connection, now, list(range(17)), MORNING - timedelta(days=9), 100)
    await Settler().settle(connection, due, now)
    rows = await fetch(connection, "select max(id) as id from mainspring.run")
    run_id: int = rows[0]["id"]
    return run_id


@pytest.mark.parametrize("kept", ["hot", "history"])
async def test_a_run_tells_its_schedule_its_fire_and_its_data_interval(
    connection: Connection, command: Command, kept: str
) -> None:
    await register_dag(connection, REPORT, "snapshot")
    await put(connection, "report.night", "0 7 * * *")
    run_id = await fire(connection, MORNING + timedelta(days=1))
    worker = await BareWorker.join(connection, REPORT)
    [item] = await worker.claim()
    assert (item.fire_at, item.interval_start) == (MORNING + timedelta(days=1), MORNING)
    await worker.end_all([(item, None)])
    if kept == "history":
        later = await read_clock(connection) + timedelta(hours=1)
        async with connection.transaction():
            assert (await archive_runs(connection, 0, 100, later)).moved == 1
    told = (await command("run", "show", run_id, "--json")).json
    assert told["trigger"] == "schedule"
    assert (told["schedule"], told["fire_at"]) == ("report.night", "2026-11-03T06:00:00Z")
    assert told["data_interval"] == {"start": "2026-11-02T06:00:00Z", "end": "2026-11-03T06:00:00Z"}
    shown = (await command("run", "show", run_id)).out
    assert "report.night" in shown
    assert "data interval" in shown

    # A rerun on the latest version is for the same fire.
    assert (await command("run", "rerun", run_id, "--latest")).code == 0
    again = (await command("run", "show", "last", "--json")).json
    assert again["id"] != run_id
    assert again["trigger"] == "rerun"
    for fact in ("schedule", "fire_at", "data_interval"):
        assert again[fact] == told[fact]


async def test_a_run_without_a_fire_tells_of_none(connection: Connection, command: Command) -> None:
    await register_dag(connection, REPORT, "snapshot")
    assert (await command("dag", "trigger", "report")).code == 0
    told = (await command("run", "show", "last", "--json")).json
    assert [told[fact] for fact in ("schedule", "fire_at", "data_interval")] == [None, None, None]
    assert "data interval" not in (await command("run", "show", "last")).out


async def test_a_dag_tells_when_it_runs_by_itself(connection: Connection, command: Command) -> None:
    await register_dag(connection, REPORT, "snapshot")
    assert "schedule" not in (await command("dag", "list")).out
    now = await read_clock(connection)
    await put(connection, "report", "0 7 * * *", now)
    [line] = (await command("dag", "list", "--json")).json
    [schedule] = line["schedules"]
    assert schedule.pop("next_fire_at") > f"{now:%Y-%m-%dT%H:%M:%S}"
    assert schedule == {
        "name": "report",
        "words": "every day at 07:00 (Europe/Berlin)",
        "in_code": False,
        "paused": False,
    }
    listed = (await command("dag", "list")).out
    assert "every day at 07:00" in listed
    assert "next fire" in listed
    shown = (await command("dag", "show", "report")).out
    assert "1 schedule" in shown
    assert "every day at 07:00 (Europe/Berlin)" in shown

    await put(connection, "report.more", "@hourly", now)
    await pause_schedule(connection, "report.more", by="me")
    both = (await command("dag", "show", "report", "--json")).json["schedules"]
    assert [(each["name"], each["paused"]) for each in both] == [
        ("report", False),
        ("report.more", True),
    ]
    assert "2 schedules" in (await command("dag", "list")).out
    assert "paused" in (await command("dag", "show", "report")).out
