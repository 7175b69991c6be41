"""Jobs over HTTP: made one by one and in bulk, looked at, triggered and changed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.roles import Role
from mainspring.store import job_reading
from mainspring.store.connection import Connection, fetch
from tests.contract.conftest import Api
from tests.support.factory import failure
from tests.support.job_stage import COMMAND_LANE, JobStage, command
from tests.support.team import Team

HOURLY = {"name": "hourly", "command": ["true"], "schedule": "every 1h"}


async def made(api: Api, body: dict[str, Any], **headers: str) -> int:
    answer = await api.post("/jobs", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    job_id: int = answer.json()["jobId"]
    return job_id


async def names(connection: Connection) -> set[str]:
    return {row["name"] for row in await fetch(connection, "select name from mainspring.job")}


async def pages(api: Api, path: str) -> list[dict[str, Any]]:
    """All items of a list, page by page."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = await api.get(path + cursor)
        assert answer.status_code == 200, answer.text
        found += answer.json()["items"]
        if answer.json()["next"] is None:
            return found
        cursor = f"&cursor={answer.json()['next']}"


# --- made -------------------------------------------------------------------------------------


async def test_a_job_is_made_runs_and_its_end_is_told_at_a_glance(
    api: Api, database_url: str, tmp_path: Path
) -> None:
    async with Team(database_url, tmp_path) as team:
        team.start_worker()
        good = await api.post(
            "/jobs",
            json={
                "name": "good",
                "command": ["sh", "-c", 'test "$MARK" = x'],
                "parameters": {"MARK": "x"},
            },
            role=Role.OPERATOR,
        )
        assert (good.status_code, good.json()["status"]) == (201, "pending")
        bad = await made(api, {"command": ["false"], "timeout": "1m", "priority": 9})
        assert await team.ended(good.json()["jobId"]) == "succeeded"
        assert await team.ended(bad) == "failed"
        told = (await api.get("/jobs/good")).json()
        assert (told["id"], told["status"]) == (good.json()["jobId"], "succeeded")
        assert (told["created_by"], told["last_run"]["id"]) == ("the-operator", told["id"])
        assert told["progress"]["percent"] == 100
        assert (await api.get(f"/jobs/{bad}")).json()["status"] == "failed"
        again = await api.post("/jobs/good/trigger")
        assert again.status_code == 201, again.text
        assert await team.ended(again.json()["id"]) == "succeeded"
        runs = (await api.get("/jobs/good/runs")).json()["items"]
        assert [run["id"] for run in runs] == [again.json()["id"], told["id"]]


async def test_jobs_that_many_ask_for_at_once_are_made_together(api: Api) -> None:
    await made(api, {"command": ["true"]})
    ids = await asyncio.gather(*(made(api, {"command": ["true"]}) for _ in range(60)))
    assert len(set(ids)) == 60
    [row] = await fetch(
        api.connection, "select count(distinct xmin::text) as statements from mainspring.job"
    )
    assert row["statements"] <= 30


async def test_a_key_stands_for_one_job_and_for_no_other(api: Api) -> None:
    body = {"command": ["true"], "retries": 1}
    ids = await asyncio.gather(*(made(api, body, **{"Idempotency-Key": "a"}) for _ in range(10)))
    assert len(set(ids)) == 1
    assert len(await names(api.connection)) == 1
    other = await api.post("/jobs", json={"command": ["false"]}, headers={"Idempotency-Key": "a"})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key")
    await api.ask("PATCH", f"/jobs/{ids[0]}", json={"cancelled": True})
    again = await api.post("/jobs", json=body, headers={"Idempotency-Key": "a"})
    assert again.json() == {"jobId": ids[0], "name": f"command-{ids[0]}", "status": "cancelled"}


async def test_a_name_that_is_taken_is_a_conflict(api: Api) -> None:
    await made(api, HOURLY)
    answer = await api.post("/jobs", json=HOURLY)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


@pytest.mark.parametrize(
    "schedule",
    [
        "0 3 * * *",
        "every 90m",
        "2099-01-01T00:00:00Z",
        "RRULE:FREQ=MONTHLY;BYDAY=-1FR",
        ["0 9 * * *", "every 7h"],
        {"when": ["0 3 * * *"], "timezone": "Europe/Berlin", "overlap": "skip"},
        {"when": [{"type": "every", "seconds": 60}, "@daily"], "jitter_seconds": 5},
    ],
    ids=str,
)
async def test_a_schedule_is_written_in_any_form_and_told_in_one_that_can_be_written(
    api: Api, schedule: object
) -> None:
    first = await made(api, {"command": ["true"], "schedule": schedule})
    told = (await api.get(f"/jobs/{first}")).json()
    assert (told["status"], told["last_run"]) == ("pending", None)
    assert told["next_run_at"] is not None
    second = await made(api, {"command": ["true"], "schedule": told["schedule"]})
    assert (await api.get(f"/jobs/{second}")).json()["schedule"] == told["schedule"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"command": []},
        {"command": "true"},
        {"command": ["true"], "task": "daily_sales"},
        {"command": ["a\x00b"]},
        {"http": "ftp://shop.example"},
        {"http": {"url": "https://shop.example/{order}"}},
        {"task": "no_such_dag"},
        {"task": "a\x00b"},
        {"task": "daily_sales", "parameters": {"colour": 1}},
        {"command": ["true"], "name": "a b"},
        {"command": ["true"], "retries": -1},
        {"command": ["true"], "retries": 2**70},
        {"command": ["true"], "priority": 10},
        {"command": ["true"], "timeout": "soon"},
        {"command": ["true"], "timeout": 0},
        {"command": ["true"], "queue": ""},
        {"command": ["true"], "schedule": "61 * * * *"},
        {"command": ["true"], "schedule": "2020-01-01T00:00:00Z"},
        {"command": ["true"], "schedule": "no-such-plug-in:1"},
        {"command": ["true"], "schedule": {"when": ["@daily"], "timezone": "Mars/Base"}},
        {"command": ["true"], "schedule": {"when": ["@daily"], "exclude": ["no_such_calendar"]}},
        {"command": ["true"], "colour": "red"},
    ],
    ids=str,
)
async def test_what_cannot_be_a_job_is_refused_alone_and_in_a_bulk_and_makes_nothing(
    api: Api, finished: int, body: dict[str, Any]
) -> None:
    alone = await api.post("/jobs", json=body)
    assert alone.status_code == 422, alone.text
    bulk = await api.post("/jobs/bulk", json={"jobs": [HOURLY, body]})
    assert bulk.status_code == 422, bulk.text
    assert alone.json()["detail"]
    assert bulk.json()["detail"]
    assert await names(api.connection) == set()


async def test_a_bulk_is_made_in_order_and_wholly_or_not_at_all(api: Api, finished: int) -> None:
    bodies: list[dict[str, Any]] = [
        {"name": f"job-{number}", "command": ["true"]} for number in range(50)
    ]
    bodies += [HOURLY, {"task": "daily_sales", "parameters": {"region": "us"}}]
    answer = await api.post("/jobs/bulk", json={"jobs": bodies})
    assert answer.status_code == 201, answer.text
    items = answer.json()["items"]
    assert [item["name"] for item in items[:51]] == [body["name"] for body in bodies[:51]]
    assert items[51]["name"] == f"task-{items[51]['jobId']}"
    assert {item["status"] for item in items} == {"pending"}
    clash = await api.post(
        "/jobs/bulk", json={"jobs": [{"name": "new", "command": ["true"]}, HOURLY]}
    )
    assert clash.status_code == 409
    assert len(await names(api.connection)) == 52
    assert (await api.post("/jobs/bulk", json={"jobs": []})).json() == {"items": [], "next": None}


async def test_a_bulk_is_made_once_even_if_its_answer_was_lost(api: Api) -> None:
    body = {"jobs": [{"command": ["true"]}, {"command": ["true"]}]}
    key = {"Idempotency-Key": "once"}
    first = await api.post("/jobs/bulk", json=body, headers=key)
    assert first.status_code == 201, first.text
    assert (await api.post("/jobs/bulk", json=body, headers=key)).content == first.content
    other = {"jobs": [*body["jobs"], {"command": ["true"]}]}
    refused = await api.post("/jobs/bulk", json=other, headers=key)
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key")
    # As if the server had died before it kept the answer.
    await api.connection.execute("delete from mainspring.answer")
    assert (await api.post("/jobs/bulk", json=body, headers=key)).json() == first.json()
    assert len(await names(api.connection)) == 2


# --- looked at --------------------------------------------------------------------------------


async def test_pages_of_jobs_together_hold_what_fits_once_newest_first(
    api: Api, finished: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So few are looked at for a page that most pages of a filter are not full.
    monkeypatch.setattr(job_reading, "JOBS_SEEN_MAX", 4)
    monkeypatch.setattr(job_reading, "_PAGE", 2)
    for number in range(15):
        body: dict[str, Any] = {"name": f"{'ab'[number % 2]}-{number}"}
        body |= {"task": "daily_sales"} if number % 5 == 0 else {"command": ["true"]}
        await made(api, body)
    jobs = (await api.get("/jobs?limit=500")).json()["items"]
    assert [job["name"] for job in jobs] == [f"{'ab'[n % 2]}-{n}" for n in range(14, -1, -1)]
    for limit in (1, 3, 15, 100):
        assert await pages(api, f"/jobs?limit={limit}") == jobs
        for query, fits in (
            ("kind=task", lambda job: job["kind"] == "task"),
            ("name=a-", lambda job: job["name"].startswith("a-")),
            ("name=a-&kind=command", lambda job: job["name"][0] + job["kind"][0] == "ac"),
            ("status=pending", lambda _: True),
            ("status=failed", lambda _: False),
        ):
            found = await pages(api, f"/jobs?limit={limit}&{query}")
            assert found == [job for job in jobs if fits(job)], (limit, query)
    some = (await api.get("/jobs?limit=1&fields=name,status")).json()["items"]
    assert some == [{"name": "a-14", "status": "pending"}]


async def test_pages_of_runs_of_a_job_together_hold_what_fits_once_newest_first(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_reading, "RUNS_SEEN_MAX", 3)
    stage = JobStage(api.connection)
    job_id = await stage.make(command("often"))
    await stage.make(command("other"))
    for _ in range(11):
        await stage.trigger(job_id)
    worker = await stage.worker()
    for number, claimed in enumerate(await worker.claim(9, lane=COMMAND_LANE)):
        await worker.end(claimed, failure(retry=False) if number % 4 == 0 else None)
    runs = (await api.get("/jobs/often/runs?limit=500")).json()["items"]
    assert len(runs) == 12
    assert {run["state"] for run in runs} == {"succeeded", "failed", "queued"}
    middle = runs[5]["created_at"]
    for limit in (1, 4, 12, 100):
        for query, fits in (
            ("", lambda _: True),
            ("&state=failed", lambda run: run["state"] == "failed"),
            ("&state=failed&state=queued", lambda run: run["state"] != "succeeded"),
            (f"&since={middle}", lambda run: run["created_at"] >= middle),
            (f"&until={middle}", lambda run: run["created_at"] < middle),
            (
                f"&until={middle}&state=succeeded",
                lambda run: run["created_at"] < middle and run["state"] == "succeeded",
            ),
        ):
            found = await pages(api, f"/jobs/{job_id}/runs?limit={limit}{query}")
            assert found == [run for run in runs if fits(run)], (limit, query)
    assert (await api.get("/jobs/often/runs?cursor=am9iIHJ1bjp4LjE")).status_code == 422


async def test_a_job_is_told_as_the_command_line_tells_it(
    api: Api,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from mainspring.cli import run_command

    await made(api, {**HOURLY, "parameters": {"A": 1}, "retries": 3, "queue": "other"})
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", database_url)
    assert await asyncio.to_thread(run_command, ["job", "show", "hourly", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (await api.get("/jobs/hourly")).json() == told
    assert await asyncio.to_thread(run_command, ["job", "list", "--json"]) == 0
    assert (await api.get("/jobs")).json()["items"] == json.loads(capsys.readouterr().out)


async def test_a_job_that_is_not_there_is_told_with_the_nearest_name(api: Api) -> None:
    await made(api, HOURLY)
    for method, path in (("GET", ""), ("GET", "/runs"), ("POST", "/trigger"), ("PATCH", "")):
        body = {"paused": True} if method == "PATCH" else None
        answer = await api.ask(method, f"/jobs/hourli{path}", json=body)
        assert answer.status_code == 404, answer.text
        assert "hourly" in answer.json()["hint"]


# --- acted upon -------------------------------------------------------------------------------


async def test_a_job_is_triggered_once_for_each_key(api: Api) -> None:
    await made(api, HOURLY)
    await made(api, {**HOURLY, "name": "other"})

    async def triggered(key: str | None) -> int:
        headers = {} if key is None else {"Idempotency-Key": key}
        answer = await api.post("/jobs/hourly/trigger", headers=headers)
        assert answer.status_code == 201, answer.text
        run_id: int = answer.json()["id"]
        return run_id

    same = await asyncio.gather(*(triggered("a") for _ in range(5)))
    assert len(set(same)) == 1
    assert len({*same, await triggered("b"), await triggered(None), await triggered(None)}) == 4
    other = await api.post("/jobs/other/trigger", headers={"Idempotency-Key": "a"})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key")


async def test_a_job_is_paused_resumed_rescheduled_unscheduled_and_cancelled(api: Api) -> None:
    await made(api, HOURLY)
    await api.post("/jobs/hourly/trigger")

    async def changed(**change: object) -> dict[str, Any]:
        answer = await api.ask("PATCH", "/jobs/hourly", json=change, role=Role.OPERATOR)
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        assert told == (await api.get("/jobs/hourly")).json()
        return told

    paused = await changed(paused=True, note="why")
    assert (paused["status"], paused["version"]) == ("paused", 2)
    assert (paused["paused"]["note"], paused["paused"]["by"]) == ("why", "the-operator")
    assert (await changed(paused=True))["version"] == 2
    assert (await changed(paused=False))["paused"] is None
    moved = await changed(schedule={"when": ["0 3 * * *"], "timezone": "Europe/Berlin"})
    assert moved["schedule"]["timezone"] == "Europe/Berlin"
    loose = await changed(schedule=None)
    assert (loose["schedule"], loose["next_run_at"], loose["version"]) == (None, None, 5)
    gone = await changed(cancelled=True, note="enough")
    assert (gone["status"], gone["cancelled"]["note"]) == ("cancelled", "enough")
    assert gone["last_run"]["state"] == "cancelled"
    assert (await api.post("/jobs/hourly/trigger")).status_code == 409
    late = await api.ask("PATCH", "/jobs/hourly", json={"schedule": "@daily"})
    assert late.status_code == 409


async def test_who_has_seen_an_older_version_changes_nothing_and_is_shown_the_current_one(
    api: Api,
) -> None:
    await made(api, HOURLY)
    seen = (await api.get("/jobs/hourly")).headers["etag"]

    async def change(tag: str, **body: object) -> Any:
        return await api.ask("PATCH", "/jobs/hourly", json=body, headers={"If-Match": tag})

    first = await change(seen, schedule="every 2h")
    assert first.status_code == 200, first.text
    late = await change(seen, cancelled=True)
    assert (late.status_code, late.json()["code"]) == (412, "precondition")
    assert late.json()["current"] == (await api.get("/jobs/hourly")).json()
    assert late.json()["current"]["schedule"] == {"when": [{"type": "every", "seconds": 7200}]}
    assert (await change(first.headers["etag"], paused=True)).status_code == 200
    for tag in ('"3"', "*", 'W/"3.5f"'):
        assert (await change(tag, paused=True)).status_code == 200, tag
    for tag in ('"x"', "", '"3", "4"', '"-3"'):
        assert (await change(tag, paused=True)).status_code == 400, tag
    # A run that is made meanwhile changes the tag, but not what a change is compared with.
    seen = (await api.get("/jobs/hourly")).headers["etag"]
    same = await api.get("/jobs/hourly", headers={"If-None-Match": seen})
    assert same.status_code == 304
    await api.post("/jobs/hourly/trigger")
    other = await api.get("/jobs/hourly", headers={"If-None-Match": seen})
    assert (other.status_code, other.json()["queued"]) == (200, 1)
    assert (await change(seen, paused=False)).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"paused": True, "cancelled": True},
        {"cancelled": False},
        {"schedule": "now"},
        {"schedule": "61 * * * *"},
        {"schedule": "2020-01-01T00:00:00Z"},
        {"paused": False, "note": "why"},
        {"paused": None},
        {"name": "other"},
    ],
    ids=str,
)
async def test_what_is_no_change_is_refused_and_changes_nothing(
    api: Api, body: dict[str, Any]
) -> None:
    await made(api, HOURLY)
    before = (await api.get("/jobs/hourly")).json()
    answer = await api.ask("PATCH", "/jobs/hourly", json=body)
    assert answer.status_code == 422, answer.text
    assert (await api.get("/jobs/hourly")).json() == before
