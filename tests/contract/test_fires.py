"""What all schedules do in the hours to come, and which engines look after them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from mainspring.schedule.specs import IntervalSpec, Misfire, ScheduleSpec
from mainspring.store.duties import take_shard
from mainspring.store.schedule_changes import Intent, create_schedule
from mainspring.store.schedules import due_schedules
from mainspring.store.settling import Settler
from mainspring.store.shards import ALL_SHARDS, beat_engine
from tests.contract.conftest import Api


def text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


async def test_the_hours_to_come_hold_just_the_fires_that_a_preview_tells(
    api: Api, things: dict[str, str]
) -> None:
    spec = {"when": ["*/7 * * * *", "every 50m"], "timezone": "Asia/Kathmandu"}
    body = {"dag": "daily_sales", "spec": spec}
    assert (await api.ask("PUT", "/schedules/often", json=body)).status_code == 200
    told = {each["schedule"]: each for each in (await api.get("/fires?hours=30")).json()["items"]}
    often = told["often"]
    since = datetime.fromisoformat(often["since"])
    assert len(often["by_hour"]) == 30
    assert (since.minute, since.second) == (0, 0)
    end = text(since + timedelta(hours=30, seconds=-1))
    # From the end of the hour under way on, so that the time that passes here does not matter.
    begin = text(since + timedelta(hours=1, seconds=-1))
    asked = f"/schedules/often/preview?since={begin}&until={end}&count=1000"
    fires = [
        datetime.fromisoformat(each["fire_at"]) for each in (await api.get(asked)).json()["items"]
    ]
    expected = [0] * 30
    for fire in fires:
        expected[(fire - since) // timedelta(hours=1)] += 1
    assert often["by_hour"][1:] == expected[1:]
    first = [each for each in often["fires"] if each >= text(since + timedelta(hours=1))]
    assert first == [text(each) for each in fires[: len(first)]]


async def test_pages_of_fires_hold_every_schedule_that_fires_once(
    api: Api, things: dict[str, str]
) -> None:
    for number in range(5):
        body = {"dag": "daily_sales", "spec": {"when": ["@hourly"]}}
        await api.ask("PUT", f"/schedules/s{number}", json=body)
    await api.post("/schedules/s3/pause", json={})
    seen: list[str] = []
    cursor = ""
    while True:
        page = (await api.get(f"/fires?limit=2{cursor}")).json()
        seen += [each["schedule"] for each in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == ["job.tidy", things["schedule"], "s0", "s1", "s2", "s4"]


async def test_engines_are_told_with_the_shards_that_they_hold(api: Api) -> None:
    engine = uuid4()
    await beat_engine(api.connection, engine, "engine-1", {})
    for number in (3, 5):
        assert await take_shard(api.connection, number, engine, "engine-1", 0) is not None
    [told] = (await api.get("/engines")).json()["items"]
    assert (told["name"], told["leads"]) == ("engine-1", False)
    assert [each["number"] for each in told["shards"]] == [3, 5]


async def test_what_was_left_out_is_told_once_newest_first_with_the_reason(
    api: Api, things: dict[str, str]
) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(3):
        intent = Intent(
            f"late-{number}",
            "daily_sales",
            ScheduleSpec((IntervalSpec(60 * (number + 1)),), misfire=Misfire.NONE),
        )
        await create_schedule(api.connection, intent, by="ada", now=begin)
    now, settler = begin + timedelta(hours=1), Settler()
    while due := await due_schedules(api.connection, now, list(ALL_SHARDS), begin, 100):
        await settler.settle(api.connection, due, now)
    await api.ask("DELETE", "/schedules/late-2")
    seen: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = (await api.get(f"/fires/skipped?limit=2{cursor}")).json()
        seen += page["items"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    late = [each for each in seen if each["schedule"].startswith("late-")]
    # What was due until it was removed is told by itself.
    assert [each["schedule"] for each in late] == ["late-2", "late-2", "late-1", "late-0"]
    assert [each["gone"] for each in late] == [True, True, False, False]
    assert {(each["reason"], each["text"]) for each in late} == {
        ("misfire", "nobody was there in time")
    }
    assert late[3]["fire_at"] == text(begin + timedelta(minutes=1))
    assert len(seen) == await api.connection.fetchval(
        "select count(*) from mainspring.fire where outcome = 'skipped'"
    )
    for tampered in ("c2tpcHBlZDp4LzE", "c2tpcHBlZDoyMDI2LTAxLTAxLy0x", "x"):
        answer = await api.get(f"/fires/skipped?cursor={tampered}")
        assert answer.status_code == 422, answer.text
