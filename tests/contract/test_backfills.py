"""Backfills over HTTP: previewed, made once, watched, paused and cancelled."""

from __future__ import annotations

import json
from functools import partial

from tests.contract.conftest import Api, CommandLine, backfill_days

WEEK = {
    "schedule": "nightly_sales",
    "from": "2026-01-01T00:00:00Z",
    "to": "2026-01-08T00:00:00Z",
}


async def test_backfills_are_told_as_the_command_line_tells_them(
    api: Api, things: dict[str, str], command_line: CommandLine
) -> None:
    told = partial(command_line, "backfill")
    number = things["backfill"]
    path = f"/backfills/{number}"
    assert (await api.get("/backfills")).json()["items"] == await told("list")
    assert (await api.get(path)).json() == await told("show", number)
    estimate = await api.post("/backfills/preview?count=5", json={**WEEK, "concurrency": 2})
    assert estimate.status_code == 200, estimate.text
    typed = ("--schedule", WEEK["schedule"], "--from", WEEK["from"], "--to", WEEK["to"])
    assert estimate.json() == await told(
        *("create", *typed, "--dry-run", "--count", "5", "--concurrency", "2")
    )
    paused = await api.post(f"{path}/pause", json={"note": "slow"})
    assert paused.json()["state"] == "paused"
    again = await told("pause", number, "--note", "slow")
    assert {**paused.json(), "halted_by": again["halted_by"]} == again
    assert (await api.post(f"{path}/resume")).json() == await told("resume", number)
    cancelled = await api.post(f"{path}/cancel", json={"runs": True})
    assert cancelled.json() == await told("cancel", number)
    assert (await api.post(f"{path}/resume")).status_code == 409


async def test_what_is_previewed_is_what_is_made_and_it_is_made_once(
    api: Api, things: dict[str, str]
) -> None:
    before = len((await api.get("/backfills")).json()["items"])
    for body in (
        WEEK,
        {**WEEK, "newest_first": True, "concurrency": 3, "note": "why"},
        {
            "dag": "daily_sales",
            "spec": {"when": ["0 */6 * * *"], "timezone": "Europe/Berlin"},
            "from": "2026-03-28T00:00:00+01:00",
            "to": "2026-04-01T00:00:00Z",
            "parameters": {"region": "us"},
        },
    ):
        estimate = (await api.post("/backfills/preview", json=body)).json()
        keyed = {"Idempotency-Key": f"the {json.dumps(body)}"[:200]}
        made = await api.post("/backfills", json=body, headers=keyed)
        assert made.status_code == 201, made.text
        assert made.json()["instants"] == estimate["instants"] == len(estimate["fires"])
        assert made.json()["created_by"] == "the-admin"
        assert made.json()["parameters"] == body.get("parameters", {})
        again = await api.post("/backfills", json=body, headers=keyed)
        assert again.json() == made.json()
        before += 1
        assert len((await api.get("/backfills")).json()["items"]) == before


async def test_pages_together_hold_every_backfill_once_newest_first(
    api: Api, things: dict[str, str]
) -> None:
    made = [int(things["backfill"])]
    made += [await backfill_days(api.connection, days) for days in range(1, 7)]
    await api.post(f"/backfills/{made[2]}/cancel")
    seen: list[int] = []
    cursor = ""
    while True:
        page = (await api.get(f"/backfills?limit=3&state=running{cursor}")).json()
        seen += [each["id"] for each in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == sorted({*made} - {made[2]}, reverse=True)
    some = (await api.get("/backfills?state=cancelled&fields=id,from")).json()["items"]
    assert some == [{"id": made[2], "from": "2026-01-01T00:00:00Z"}]
    assert (await api.get("/backfills?fields=since")).status_code == 422


async def test_what_cannot_be_is_refused_and_makes_nothing(
    api: Api, things: dict[str, str]
) -> None:
    before = (await api.get("/backfills")).json()
    spec = {"when": ["@daily"]}
    for body, status in (
        ({}, 422),
        ({"from": WEEK["from"]}, 422),
        ({**WEEK, "dag": "daily_sales"}, 422),
        ({**WEEK, "schedule": None, "dag": "daily_sales"}, 422),
        ({**WEEK, "schedule": "nightly"}, 404),
        ({**WEEK, "schedule": None, "dag": "daily", "spec": spec}, 404),
        ({**WEEK, "to": WEEK["from"]}, 422),
        ({**WEEK, "to": "2090-01-01T00:00:00Z"}, 422),
        ({**WEEK, "from": "0001-01-01T00:00:00+23:59"}, 422),
        ({**WEEK, "from": "2026-01-01T00:00:00"}, 422),
        ({**WEEK, "concurrency": 0}, 422),
        ({**WEEK, "parameters": {"colour": 1}}, 422),
        ({**WEEK, "reprocess": "some"}, 422),
    ):
        for path in ("/backfills", "/backfills/preview"):
            answer = await api.post(path, json=body)
            assert answer.status_code == status, (body, answer.text)
    assert (await api.get("/backfills")).json() == before
    assert (await api.get("/backfills/2147483647")).status_code == 404
    assert (await api.post("/backfills/2147483647/pause")).status_code == 404
