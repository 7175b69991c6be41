"""`mainspring calendar`, and what previews and schedules make of stored calendars."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime

import pytest

from mainspring.schedule.calendars import CalendarSpec
from mainspring.schedule.parsing import schedule_from
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from mainspring.store.schedule_changes import (
    Intent,
    create_schedule,
    read_calendars,
    remove_schedule,
)
from mainspring.store.schedules import standing_schedules
from mainspring.store.settling import Settler
from tests.integration.cli.conftest import Command
from tests.support.factory import dag_of

BOTH_ROADS = True

NIGHTLY = Intent("nightly", "orders", schedule_from("0 9 * * *", exclude="closed"))


async def schedule(connection: Connection, now: datetime | None = None) -> int:
    await register_dag(connection, dag_of([], tasks=1, name="orders"), "snapshot")
    return (await create_schedule(connection, NIGHTLY, by="test", now=now)).schedule_id


async def test_a_calendar_is_put_shown_listed_and_removed(
    connection: Connection, command: Command
) -> None:
    assert "no calendar" in (await command("calendar", "list")).out
    days = ("--date", "2026-12-31", "--date", "2026-12-24", "--date", "2026-12-24")
    answer = await command("calendar", "put", "closed", *days, "--weekday", "SUN")
    assert answer.code == 0, answer.err
    assert answer.out == "Calendar closed holds every sun; 2026-12-24 and 2026-12-31.\n"
    assert await read_calendars(connection) == {
        "closed": CalendarSpec(dates=(date(2026, 12, 24), date(2026, 12, 31)), weekdays=("sun",))
    }
    await schedule(connection)
    [line] = (await command("calendar", "list", "--json")).json
    assert line == {
        "name": "closed",
        "dates": ["2026-12-24", "2026-12-31"],
        "weekdays": ["sun"],
        "country": None,
        "subdivision": None,
        "schedules": 1,
    }
    shown = (await command("calendar", "show", "closed", "--json")).json
    assert shown["schedules"] == ["nightly"]
    assert len(shown["next"]) == 10
    assert "excluded by  `nightly`" in (await command("calendar", "show", "closed")).out

    refused = await command("calendar", "remove", "closed")
    assert refused.code == 2
    assert "schedule `nightly` excludes" in refused.err
    await remove_schedule(connection, "nightly")
    assert (await command("calendar", "remove", "closed")).code == 0
    assert await read_calendars(connection) == {}
    missing = await command("calendar", "remove", "closed")
    assert missing.code != 0
    assert "there is no calendar `closed`" in missing.err


async def test_what_a_calendar_cannot_be_changes_nothing(
    connection: Connection, command: Command
) -> None:
    for arguments, words in [
        (["closed"], "leaves out no day"),
        (["closed", "--date", "24.12."], "`--date`: `24.12.` is no date"),
        (["closed", "--weekday", "frday"], "is no day of the week"),
        (["closed", "--subdivision", "BY"], "needs a `country`"),
        (["closed", "--country", "XX"], "is no country"),
        (["closed", "--country", "DE", "--subdivision", "XX"], "is no part of `DE`"),
        (["on fire", "--weekday", "sat"], "`on fire` may only hold"),
    ]:
        answer = await command("calendar", "put", *arguments)
        assert answer.code == 2
        assert words in " ".join(answer.err.split())
    assert await read_calendars(connection) == {}


async def test_without_the_package_of_holidays_it_says_what_to_install(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "holidays", None)
    answer = await command("calendar", "put", "holidays", "--country", "DE")
    assert answer.code == 2
    assert "which is not installed" in answer.err
    assert "pip install 'mainspring[holidays]'" in answer.err


async def test_public_holidays_have_names(command: Command) -> None:
    put = await command("calendar", "put", "bavaria", "--country", "DE", "--subdivision", "BY")
    assert put.out == "Calendar bavaria holds public holidays of DE-BY.\n"
    days = (await command("calendar", "show", "bavaria", "--json")).json["next"]
    assert all(day["name"] for day in days)
    assert any(day["date"].endswith("-01-06") for day in days)  # Epiphany is one there.


async def test_a_preview_marks_days_of_stored_calendars(command: Command) -> None:
    await command("calendar", "put", "closed", "--date", "2026-12-24")
    asked = ("schedule", "preview", "--cron", "0 9 * * *", "--from", "2026-12-23T12:00Z")
    fires = (await command(*asked, "--exclude", "closed", "--count", 2, "--json")).json
    assert [fire["note"] for fire in fires] == ["excluded by `closed`", None]
    unknown = await command(*asked, "--exclude", "close")
    assert unknown.code != 0
    assert "there is no calendar `close`" in unknown.err
    assert "did you mean `closed`?" in unknown.err


async def test_a_changed_calendar_takes_effect_at_the_next_fire(
    connection: Connection, command: Command
) -> None:
    await command("calendar", "put", "closed", "--date", "2026-12-24")
    schedule_id = await schedule(connection, datetime(2026, 12, 23, 12, tzinfo=UTC))
    settler, fired = Settler(), []
    for day in (24, 25, 26):
        if day == 26:
            answer = await command("calendar", "put", "closed", "--date", "2026-12-26")
            assert "1 schedule follows with the next fire." in answer.out
        now = datetime(2026, 12, day, 9, tzinfo=UTC)
        standing = await standing_schedules(connection, now, [schedule_id])
        await settler.settle(connection, standing, now)
        [line] = await connection.fetch(
            "select outcome, reason from mainspring.fire order by id desc limit 1"
        )
        fired.append((line["outcome"], line["reason"]))
    assert len(fired) == 3
    assert fired[0] == fired[2] != fired[1]
