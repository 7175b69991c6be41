"""`mainspring simulate`: what is stored, on a virtual clock."""

from __future__ import annotations

from mainspring.schedule.calendars import CalendarSpec
from mainspring.schedule.parsing import schedule_from
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from mainspring.store.schedule_changes import (
    Intent,
    create_schedule,
    pause_schedule,
    put_calendar,
)
from tests.integration.cli.conftest import Command
from tests.support.factory import dag_of

BOTH_ROADS = True

DAY = ("--from", "2026-12-24T00:00Z", "--to", "2026-12-25T00:00Z")


async def put(connection: Connection, name: str, when: str, **options: object) -> None:
    await register_dag(connection, dag_of([], tasks=1, name="orders"), "snapshot")
    spec = schedule_from(when, **options)
    await create_schedule(connection, Intent(name, "orders", spec), by="test")


async def test_every_fire_of_what_is_stored_is_listed_in_order(
    connection: Connection, command: Command
) -> None:
    await put_calendar(connection, "closed", CalendarSpec(weekdays=("thu",)))
    await put(connection, "six", "0 */6 * * *")
    await put(connection, "noon", "0 12 * * *", jitter="30m", overlap="skip")
    await put(connection, "shut", "0 18 * * *", exclude="closed")
    await put(connection, "paused", "* * * * *")
    await pause_schedule(connection, "paused", by="test")

    document = (await command("simulate", *DAY, "--json")).json
    fires = [(fire["fire_at"][11:16], fire["schedule"]) for fire in document["fires"]]
    assert fires == [
        ("00:00", "six"),
        ("06:00", "six"),
        ("12:00", "noon"),
        ("12:00", "six"),
        ("18:00", "shut"),
        ("18:00", "six"),
    ]
    moved, shut = document["fires"][2], document["fires"][4]
    assert "2026-12-24T12:00:00" < moved["start_at"] < "2026-12-24T12:30:01"
    assert (shut["excluded"], shut["start_at"]) == ("closed", None)
    assert shut["note"] == "excluded by `closed`"
    assert (document["starts"], document["excluded"]) == (5, 1)
    assert sum(minute["starts"] for minute in document["load"]) == 5
    assert [each["name"] for each in document["schedules"]] == ["noon", "shut", "six"]
    assert any("`overlap`" in note for note in document["notes"])
    assert any("1 schedule is paused and left out" in note for note in document["notes"])

    whole = (await command("simulate", *DAY, "--with-paused", "--json", "--limit", 1)).json
    assert whole["starts"] == 5 + 1440
    assert len(whole["fires"]) == 1


async def test_a_spike_is_seen_without_colour(connection: Connection, command: Command) -> None:
    for number in range(5):
        await put(connection, f"hourly{number}", "0 * * * *")
    await put(connection, "calm", "*/10 * * * *")
    answer = await command("simulate", *DAY, "--timezone", "Europe/Berlin", "--limit", 2)
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0] == (
        "264 starts of 6 schedules from 2026-12-24 01:00 to 2026-12-25 01:00 (Europe/Berlin)"
    )
    assert "and 262 fires more; see `--limit`" in lines
    assert "Thu 24 01h  █·········▂·········▂·········▂·········▂·········▂·········  11" in lines
    assert "starts in a minute: · 0  ▂ 1  ▃ 2  ▄ 3  ▆ 4  ▇ 5  █ 6" in lines
    busiest = next(line for line in lines if line.startswith("Thu 2026-12-24 01:00 "))
    assert busiest.split(maxsplit=3)[3] == "6  calm, hourly0, hourly1 and 3 more"


async def test_a_schedule_that_cannot_be_computed_is_named_and_left_out(
    connection: Connection, command: Command
) -> None:
    await put_calendar(connection, "closed", CalendarSpec(weekdays=("thu",)))
    await put(connection, "shut", "0 18 * * *", exclude="closed")
    await put(connection, "noon", "0 12 * * *")
    await connection.execute("delete from mainspring.calendar")
    answer = await command("simulate", *DAY)
    assert answer.code == 0
    assert answer.out.startswith("1 start of 1 schedule from")
    assert "Schedule `shut` is left out: exclude: `closed` is not a calendar." in answer.out


async def test_a_range_that_cannot_be_is_refused(command: Command) -> None:
    answer = await command("simulate", "--from", "2026-12-24T00:00Z", "--to", "2026-12-23T00:00Z")
    assert answer.code == 2
    assert "is not after" in answer.err


async def test_nothing_stored_is_said_plainly(command: Command) -> None:
    answer = await command("simulate", *DAY)
    assert answer.code == 0
    assert answer.out.startswith("0 starts of 0 schedules")
