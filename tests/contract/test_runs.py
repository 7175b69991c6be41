"""Runs over HTTP: lists in pages, documents, logs by range, cancel and rerun."""

from __future__ import annotations

import pytest

from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from tests.contract.conftest import DAILY_SALES, Api
from tests.support.factory import start_run


async def some_runs(connection: Connection, count: int) -> list[int]:
    dag = await register_dag(connection, DAILY_SALES, "snapshot")
    return [await start_run(connection, dag, 2) for _ in range(count)]


async def test_pages_together_hold_every_run_once_newest_first(api: Api) -> None:
    made = await some_runs(api.connection, 7)
    seen: list[int] = []
    cursor = ""
    while True:
        page = (await api.get(f"/runs?limit=3{cursor}")).json()
        seen += [run["id"] for run in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == sorted(made, reverse=True)


async def test_filters_hold_together_what_fits_and_nothing_else(api: Api, finished: int) -> None:
    open_runs = await some_runs(api.connection, 3)

    async def found(query: str) -> set[int]:
        answer = await api.get(f"/runs?{query}")
        assert answer.status_code == 200, answer.text
        return {run["id"] for run in answer.json()["items"]}

    assert await found("state=succeeded") == {finished}
    assert await found("state=queued") == set(open_runs)
    assert await found("dag=daily_sales") == {finished, *open_runs}
    assert await found("since=2020-01-01T00:00:00Z") == {finished, *open_runs}
    assert await found("until=2020-01-01T00:00:00Z") == set()
    assert await found("trigger=manual") == {finished, *open_runs}
    assert await found("trigger=schedule") == set()
    assert await found("tag=sales") == {finished, *open_runs}
    assert await found("tag=sales&tag=none") == set()
    assert await found("tag=sales&state=queued&dag=daily_sales") == set(open_runs)
    assert await found("text=DAILY") == {finished, *open_runs}
    assert await found("text=weekly&tag=sales") == set()
    assert await found("until=9999-12-31T23:00:00Z") == {finished, *open_runs}


async def test_fields_choose_what_each_item_holds(api: Api, finished: int) -> None:
    answer = await api.get("/runs?fields=id,state")
    assert answer.json() == {"items": [{"id": finished, "state": "succeeded"}], "next": None}
    refused = await api.get("/runs?fields=id,colour")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "query/fields"


async def test_a_run_is_told_as_the_command_line_tells_it(
    api: Api,
    finished: int,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import asyncio
    import json

    from mainspring.cli import run_command

    monkeypatch.setenv("MAINSPRING_DATABASE_URL", database_url)
    asked = ["run", "show", str(finished), "--json"]
    assert await asyncio.to_thread(run_command, asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert (await api.get(f"/runs/{finished}")).json() == told
    assert (await api.get(f"/dags/daily_sales/runs/{finished}")).json() == told
    assert (await api.get(f"/runs/{finished}/tasks")).json()["items"] == told["tasks"]
    attempts = (await api.get(f"/runs/{finished}/tasks/extract/attempts")).json()
    assert attempts["items"] == told["tasks"][0]["attempts"]


async def test_a_log_is_read_by_byte_range(api: Api, finished: int) -> None:
    path = f"/runs/{finished}/tasks/extract/attempts/1/logs"
    whole = b"0123456789" * 30
    answer = await api.get(path)
    assert (answer.status_code, answer.content) == (200, whole)
    assert answer.headers["mainspring-log"] == "complete"
    for first, last in [(0, 9), (5, 299), (290, 10_000), (299, 299)]:
        part = await api.get(path, headers={"Range": f"bytes={first}-{last}"})
        assert part.status_code == 206
        assert part.content == whole[first : last + 1]
        assert part.headers["content-range"] == f"bytes {first}-{min(last, 299)}/300"
    assert (await api.get(path, headers={"Range": "bytes=-5"})).content == whole[-5:]
    for wrong in ("bytes=300-", "bytes=9-2", "bytes=-", "bytes=a-b", "lines=1-2"):
        assert (await api.get(path, headers={"Range": wrong})).status_code == 416, wrong
    nothing = await api.get(f"/runs/{finished}/tasks/load/attempts/1/logs")
    assert (nothing.status_code, nothing.content) == (200, b"")


async def test_a_run_is_cancelled_and_run_again(api: Api) -> None:
    [run_id] = await some_runs(api.connection, 1)
    stopped = await api.post(f"/runs/{run_id}/cancel")
    assert stopped.status_code == 200, stopped.text
    assert stopped.json()["state"] == "cancelled"
    again = await api.post(f"/runs/{run_id}/rerun", json={"all": True})
    assert again.status_code == 200, again.text
    assert again.json()["reopened"] == ["extract", "load"]
    conflict = await api.post(f"/runs/{run_id}/rerun", json={"tasks": ["extract"]})
    assert conflict.status_code == 409
    assert conflict.headers["content-type"] == "application/problem+json"


async def test_a_new_run_is_made_of_an_old_one_once_for_each_key(api: Api, finished: int) -> None:
    async def again(key: str | None) -> int:
        headers = {} if key is None else {"Idempotency-Key": key}
        answer = await api.post(f"/runs/{finished}/rerun-latest", headers=headers)
        assert answer.status_code == 201, answer.text
        assert answer.json()["rerun_of"] == finished
        new: int = answer.json()["id"]
        return new

    plain, keyed = await again(None), await again("another")
    assert len({finished, plain, keyed}) == 3
    assert (await again(None), await again("another")) == (plain, keyed)


async def test_what_is_not_there_is_told_with_the_nearest_name(api: Api, finished: int) -> None:
    problem = (await api.get("/runs?dag=daily_sale")).json()
    assert (problem["status"], problem["code"]) == (404, "not_found")
    assert "daily_sales" in problem["hint"]
    assert (await api.get("/runs/999999999")).status_code == 404
    assert (await api.get(f"/runs/{finished}/tasks/extrac/attempts")).status_code == 404
    assert (await api.get(f"/dags/other/runs/{finished}")).status_code == 404
