"""Idempotency-Key: one effect and one answer, however often and wherever it is asked."""

from __future__ import annotations

import asyncio

import pytest

from mainspring.domain.roles import Role
from mainspring.store.connection import fetch
from tests.contract.conftest import Api


async def test_a_run_is_made_once_however_many_ask_at_once(api: Api, finished: int) -> None:
    order = {"parameters": {"region": "us"}}
    answers = await asyncio.gather(
        *(
            api.post("/dags/daily_sales/runs", json=order, headers={"Idempotency-Key": "one"})
            for _ in range(20)
        )
    )
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    runs = (await api.get("/runs")).json()["items"]
    assert len(runs) == 2


async def test_a_key_with_another_body_is_refused(api: Api, finished: int) -> None:
    key = {"Idempotency-Key": "one"}
    first = await api.post("/dags/daily_sales/runs", json={}, headers=key)
    assert first.status_code == 201
    other = await api.post(
        "/dags/daily_sales/runs", json={"parameters": {"region": "us"}}, headers=key
    )
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key")
    paused = await api.post("/dags/daily_sales/pause", json={"note": "a"}, headers=key)
    assert paused.status_code == 200
    again = await api.post("/dags/daily_sales/pause", json={"note": "b"}, headers=key)
    assert (again.status_code, again.json()["code"]) == (422, "idempotency_key")
    elsewhere = await api.post("/queues/default/pause", json={"note": "a"}, headers=key)
    assert elsewhere.status_code == 422


async def test_a_repeated_request_gets_the_first_answer_whatever_has_happened_since(
    api: Api, finished: int
) -> None:
    key = {"Idempotency-Key": "pause"}
    first = await api.post("/dags/daily_sales/pause", json={"note": "why"}, headers=key)
    assert first.json()["changed"] is True
    await api.post("/dags/daily_sales/resume")
    again = await api.post("/dags/daily_sales/pause", json={"note": "why"}, headers=key)
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"
    assert (await api.get("/dags/daily_sales")).json()["pause"] is None


async def test_requests_at_once_with_one_key_have_one_effect(api: Api, finished: int) -> None:
    key = {"Idempotency-Key": "rerun"}
    answers = await asyncio.gather(
        *(api.post(f"/runs/{finished}/rerun", json={"all": True}, headers=key) for _ in range(10))
    )
    done = [answer for answer in answers if answer.status_code == 200]
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert len({answer.content for answer in done}) == 1
    rows = await fetch(
        api.connection,
        "select max(generation) as last from mainspring.task where run_id = $1",
        finished,
    )
    assert rows[0]["last"] == 2


async def test_a_request_that_failed_leaves_its_key_free(api: Api, finished: int) -> None:
    key = {"Idempotency-Key": "again"}
    refused = await api.post(f"/runs/{finished}/rerun", json={"tasks": ["none"]}, headers=key)
    assert refused.status_code in (404, 422)
    done = await api.post(f"/runs/{finished}/rerun", json={"all": True}, headers=key)
    assert done.status_code == 200, done.text


async def test_a_key_whose_server_died_is_free_after_a_while(api: Api, finished: int) -> None:
    key = {"Idempotency-Key": "orphan"}
    await api.post("/dags/daily_sales/pause", headers=key)
    await api.connection.execute("update mainspring.answer set status = null, content = null")
    held = await api.post("/dags/daily_sales/pause", headers=key)
    assert (held.status_code, held.json()["code"]) == (409, "in_progress")
    await api.connection.execute(
        "update mainspring.answer set begun_at = begun_at - interval '2 minutes'"
    )
    assert (await api.post("/dags/daily_sales/pause", headers=key)).status_code == 200


async def test_a_token_that_is_made_twice_with_one_key_has_one_secret(api: Api) -> None:
    key = {"Idempotency-Key": "bot"}
    order = {"name": "bot", "role": "worker", "queues": ["default"], "expires_in": "1d"}
    first = await api.post("/tokens", json=order, headers=key)
    again = await api.post("/tokens", json=order, headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    other = await api.post("/tokens", json={**order, "role": "admin", "queues": []}, headers=key)
    assert other.status_code == 422
    rows = await fetch(api.connection, "select a::text as row from mainspring.answer a")
    assert all(first.json()["token"] not in row["row"] for row in rows)


async def test_keys_of_two_callers_are_two_keys(api: Api, finished: int) -> None:
    key = {"Idempotency-Key": "mine"}
    first = await api.post("/dags/daily_sales/pause", json={"note": "a"}, headers=key)
    second = await api.post(
        "/dags/daily_sales/pause", json={"note": "b"}, headers=key, role=Role.OPERATOR
    )
    assert (first.status_code, second.status_code) == (200, 200)


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb"])
async def test_a_key_that_cannot_be_one_is_refused(api: Api, key: str) -> None:
    answer = await api.post("/queues/default/pause", headers={"Idempotency-Key": key})
    assert answer.status_code == 400
