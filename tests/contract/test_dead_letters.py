"""Dead letters over HTTP: by error, in pages, retried and discarded."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mainspring.cli import run_command
from mainspring.store.dags import register_dag
from mainspring.store.reading import read_run
from tests.contract.conftest import DAILY_SALES, Api, fail_run


@pytest.fixture(autouse=True)
async def dag(api: Api) -> None:
    await register_dag(api.connection, DAILY_SALES, "snapshot")


async def groups(api: Api, query: str = "") -> list[dict[str, Any]]:
    answer = await api.get(f"/dead-letters?{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


async def test_dead_letters_are_told_as_the_command_line_tells_them(
    api: Api,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", database_url)

    async def told(*words: str) -> Any:
        await asyncio.to_thread(run_command, ["dlq", *words, "--json"])
        return json.loads(capsys.readouterr().out)

    for message in ("refused", "order 17 is gone", "order 18 is gone"):
        await fail_run(api.connection, "load", message)
    listed = await groups(api)
    assert listed == await told("list")
    assert [group["count"] for group in listed] == [2, 1]
    assert await groups(api, "error=order") == await told("list", "--error", "order")
    assert await groups(api, "task=extract") == []
    for group in listed:
        shown = await told("show", group["id"])
        assert (await api.get(f"/dead-letters/{group['id']}")).json()["items"] == shown["letters"]
    retried = (await api.post(f"/dead-letters/{listed[0]['id']}/retry")).json()
    assert retried == {"retried": 2, "left": [], "ended": None, "next": None}
    assert await told("retry", "--all") == {"retried": 1, "left": [], "ended": None}


async def test_pages_together_hold_every_group_and_every_letter_once(api: Api) -> None:
    alike = [await fail_run(api.connection, "load", f"order {n} is gone") for n in range(5)]
    for word in ("ape", "bear", "cat", "dog"):
        await fail_run(api.connection, "extract", word)

    async def paged(path: str) -> list[dict[str, Any]]:
        seen: list[dict[str, Any]] = []
        cursor = ""
        while True:
            answer = await api.get(f"{path}?limit=2{cursor}")
            assert answer.status_code == 200, answer.text
            seen += answer.json()["items"]
            if answer.json()["next"] is None:
                return seen
            cursor = f"&cursor={answer.json()['next']}"

    found = await paged("/dead-letters")
    assert found == await groups(api)
    assert [group["message"] for group in found][:4] == ["dog", "cat", "bear", "ape"]
    letters = await paged(f"/dead-letters/{found[4]['id']}")
    assert [letter["run"] for letter in letters] == alike
    for wrong in ("x", found[0]["id"], "Z3JvdXA6MQ"):
        assert (await api.get(f"/dead-letters?cursor={wrong}")).status_code == 422


async def test_what_is_retried_or_discarded_is_off_the_list_and_nothing_else_is(api: Api) -> None:
    first, second, third = [
        await fail_run(api.connection, "extract", word) for word in ("ape", "bear", "cat")
    ]
    cat, bear, ape = [group["id"] for group in await groups(api)]
    order = {"letters": [{"run": first, "task": "extract"}], "groups": [bear], "note": "why"}
    done = await api.post("/dead-letters/discard", json=order)
    assert done.json() == {"discarded": 2, "left": [], "ended": None, "next": None}
    assert [group["id"] for group in await groups(api)] == [cat]
    done = await api.post("/dead-letters/retry", json={"letters": [{"run": third}]})
    assert done.json() == {"retried": 1, "left": [], "ended": None, "next": None}
    assert await groups(api) == []
    states = [(await read_run(api.connection, run)).closed for run in (first, second, third)]
    assert states == [True, True, False]
    remark = (await api.get(f"/runs/{first}")).json()["tasks"][0]["by_hand"][0]
    assert (remark["deed"], remark["who"], remark["note"]) == ("discarded", "the-admin", "why")
    assert (await api.post(f"/dead-letters/{ape}/retry")).status_code == 404


async def test_if_one_of_many_is_not_there_nothing_is_done(api: Api) -> None:
    run_id = await fail_run(api.connection, "extract", "ape")
    before = await groups(api)
    for body, status in (
        ({}, 422),
        ({"groups": ["e-xyz"]}, 422),
        ({"groups": [before[0]["id"], "e-ffffffff"]}, 404),
        ({"groups": [before[0]["id"]], "letters": [{"run": 999_999_999}]}, 404),
        ({"letters": [{"run": run_id}, {"run": run_id, "task": "load"}]}, 404),
        ({"groups": [before[0]["id"]], "note": "\x00"}, 422),
    ):
        for verb in ("retry", "discard"):
            answer = await api.post(f"/dead-letters/{verb}", json=body)
            assert answer.status_code == status, answer.text
    assert await groups(api) == before


async def test_a_request_is_bounded_and_asked_again_it_goes_on(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.api.resources.redriving.BATCH", 2)
    for number in range(7):
        await fail_run(api.connection, "load", f"order {number} is gone")
    [group] = await groups(api)
    order = {"groups": [group["id"]], "limit": 4}
    first = (await api.post("/dead-letters/retry", json=order)).json()
    assert (first["retried"], bool(first["ended"])) == (4, True)
    last = (await api.post("/dead-letters/retry", json=order)).json()
    assert (last["retried"], last["ended"]) == (3, None)


async def test_with_its_cursor_a_request_goes_on_with_what_was_meant_at_first(api: Api) -> None:
    words = ("ape", "bear", "cat", "dog", "eel")
    for word in words:
        await fail_run(api.connection, "load", word)
    body: dict[str, Any] = {"filter": {"dag": "daily_sales"}, "limit": 2}
    done = []
    while True:
        told = (await api.post("/dead-letters/discard", json=body)).json()
        done.append(told["discarded"])
        if told["next"] is None:
            break
        if len(done) == 1:
            # What fails meanwhile waits for another look.
            await fail_run(api.connection, "load", "fox")
        body["cursor"] = told["next"]
    assert done == [2, 2, 1]
    assert [group["message"] for group in await groups(api)] == ["fox"]
    gone: list[str] = []
    query = "error=e&limit=2"
    while query:
        page = (await api.get(f"/dead-letters/discarded?{query}")).json()
        gone += [letter["error"]["message"] for letter in page["items"]]
        query = page["next"] and f"error=e&limit=2&cursor={page['next']}"
    assert sorted(gone) == sorted(words)
    for cursor in ("x", "cmVkcml2ZTp4", "cmVkcml2ZTogIA"):
        answer = await api.post("/dead-letters/retry", json={**body, "cursor": cursor})
        assert answer.status_code == 422, answer.text
    both = {"filter": {}, "groups": ["e-00000000"]}
    assert (await api.post("/dead-letters/retry", json=both)).status_code == 422
