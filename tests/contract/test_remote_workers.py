"""Remote workers over HTTP: what is wrong is said to who made the call, and tokens bind."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from mainspring.api.catalogue import ROUTES
from mainspring.domain.roles import Role
from mainspring.store.connection import fetch
from mainspring.store.dags import register_dag
from mainspring.store.tokens import create_token, new_secret, revoke_token
from mainspring.worker_protocol import JSON, MSGPACK
from tests.contract.conftest import Api, far_worker
from tests.support.factory import dag_of, start_run

JOIN = {"name": "far", "queues": ["default"], "slots": {"async": 2}}
OF_WORKERS = [route for route in ROUTES if route.needs is Role.WORKER]


def _path(rest: str = "") -> str:
    return f"/workers/{uuid4()}{rest}"


async def _token(api: Api, *queues: str) -> tuple[dict[str, str], int]:
    """The header of a new token for these queues, and its number."""
    made = await create_token(
        api.connection, new_secret(), name=str(uuid4()), role=Role.WORKER, queues=queues
    )
    return {"Authorization": f"Bearer {made.token}"}, made.id


BAD_CALLS: list[tuple[str, str, Any, int, str]] = [
    ("PUT", "", b"{", 400, "no JSON"),
    ("PUT", "", {"name": "far", "queues": [], "slots": {}}, 422, "length >= 1"),
    ("PUT", "", {**JOIN, "queues": ["a b"]}, 422, "queue `a b`"),
    ("PUT", "", {**JOIN, "queues": ["mail"]}, 403, "not for queue `mail`"),
    ("PUT", "", {**JOIN, "name": "f\0r"}, 422, "name"),
    ("PUT", "", {**JOIN, "slots": {"fibre": 1}}, 422, "fibre"),
    ("POST", "/claims", {"claim": "no", "slots": {}}, 422, "UUID"),
    ("POST", "/ends", {"ends": [{"task": 0, "term": 1, "outcome": {}}]}, 422, "ends"),
    ("GET", "/notes?wait_seconds=1e9", None, 422, "wait_seconds"),
    ("POST", "/beats", {}, 410, "no lease"),
    ("DELETE", "", None, 410, "no lease"),
    ("POST", "/inputs", b"[" * 5000, 400, "deeper"),
]


async def test_a_bad_call_is_told_what_is_wrong(api: Api) -> None:
    for method, rest, body, status, says in BAD_CALLS:
        raw = isinstance(body, bytes)
        answer = await api.ask(
            method,
            _path(rest),
            role=Role.WORKER,
            content=body if raw else None,
            json=None if raw else body,
        )
        assert answer.status_code == status, (method, rest, body, answer.text)
        assert answer.json()["status"] == status
        assert says in answer.json()["detail"], (method, rest, body, answer.text)


async def test_a_path_without_a_uuid_is_refused(api: Api) -> None:
    answer = await api.post("/workers/me/beats", role=Role.WORKER, json={})
    assert (answer.status_code, answer.json()["code"]) == (422, "input")
    assert answer.json()["errors"][0]["pointer"] == "path/worker"


@pytest.mark.parametrize("kind", [JSON, MSGPACK])
async def test_both_forms_of_messages_are_understood(api: Api, kind: str) -> None:
    form: Any = msgspec.json if kind == JSON else msgspec.msgpack
    headers = {"Content-Type": kind, "Accept": kind}
    path = _path()

    async def call(method: str, rest: str, said: Any) -> tuple[int, Any]:
        answer = await api.ask(
            method, path + rest, role=Role.WORKER, headers=headers, content=form.encode(said)
        )
        good = answer.status_code == 200
        return answer.status_code, form.decode(answer.content) if good else None

    status, joined = await call("PUT", "", {**JOIN, "lease_seconds": 9})
    assert (status, joined["lease_seconds"], joined["renew_seconds"]) == (200, 9, 3)
    status, renewed = await call("POST", "/beats", {})
    assert (status, renewed["stops"]) == (200, [])
    assert (await api.ask("DELETE", path, role=Role.WORKER)).status_code == 204
    assert await call("POST", "/beats", {}) == (410, None)


async def test_packed_noise_is_refused_as_any_other(api: Api) -> None:
    headers = {"Content-Type": MSGPACK}
    for content in (b"", b"\xc1", b"\x91" * 5000, msgspec.msgpack.encode({"claims": 1})):
        answer = await api.post(_path("/beats"), role=Role.WORKER, headers=headers, content=content)
        assert answer.status_code in (400, 422), (content[:9], answer.text)


async def test_who_has_ended_does_not_join_again(api: Api) -> None:
    path = _path()
    for _ in range(2):
        assert (await api.ask("PUT", path, role=Role.WORKER, json=JOIN)).status_code == 200
    assert (await api.ask("DELETE", path, role=Role.WORKER)).status_code == 204
    answer = await api.ask("PUT", path, role=Role.WORKER, json=JOIN)
    assert (answer.status_code, answer.json()["code"]) == (410, "reaped")


async def test_a_star_stands_for_what_the_token_is_for_and_for_no_more(api: Api) -> None:
    headers, _ = await _token(api, "mail", "print")
    star = {**JOIN, "queues": ["*"]}
    answer = await api.ask("PUT", _path(), role=None, headers=headers, json=star)
    assert answer.status_code == 200
    [row] = await fetch(api.connection, "select queues from mainspring.worker")
    assert row["queues"] == ["mail", "print"]


async def test_nobody_acts_for_a_worker_of_queues_that_its_token_is_not_for(api: Api) -> None:
    far = await far_worker(api.connection)
    before = await fetch(api.connection, "select * from mainspring.claim")
    headers, _ = await _token(api, "mail")
    for route in OF_WORKERS:
        path = route.path.replace("{worker}", far["worker"]).replace("{snapshot}", far["snapshot"])
        body = {**(route.example.body or {})}
        if "queues" in body:
            body["queues"] = ["mail"]
        json = body if route.method in ("POST", "PUT") else None
        answer = await api.ask(route.method, path, role=None, headers=headers, json=json)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), answer.text
    assert await fetch(api.connection, "select * from mainspring.claim") == before


async def test_who_waits_when_its_token_is_revoked_gets_nothing_and_is_refused(api: Api) -> None:
    headers, token = await _token(api, "default")
    path = _path()
    assert (await api.ask("PUT", path, role=None, headers=headers, json=JOIN)).status_code == 200
    wish = {"claim": str(uuid4()), "slots": {"async": 1}, "wait_seconds": 30}

    async def claim() -> Any:
        return await api.post(f"{path}/claims", role=None, headers=headers, json=wish)

    waiting = asyncio.create_task(claim())
    noting = asyncio.create_task(
        api.get(f"{path}/notes?wait_seconds=30", role=None, headers=headers)
    )
    await revoke_token(api.connection, token)
    assert (await waiting).json() == {"tasks": [], "work": []}
    assert (await noting).json() == {"renew": False}
    while (answer := await claim()).status_code == 200:
        # The guard may believe for another moment that the token is good.
        assert answer.json()["tasks"] == []
    assert answer.status_code == 401
    await start_run(api.connection, await register_dag(api.connection, dag_of(), "snapshot"))
    assert (await claim()).status_code == 401
    assert await fetch(api.connection, "select * from mainspring.claim") == []


async def test_a_server_that_stops_answers_those_who_wait(api: Api) -> None:
    path = _path()
    assert (await api.ask("PUT", path, role=Role.WORKER, json=JOIN)).status_code == 200
    wish = {"claim": str(uuid4()), "slots": {"async": 1}, "wait_seconds": 30}
    waiting = asyncio.create_task(api.post(f"{path}/claims", role=Role.WORKER, json=wish))
    while not api.server._services.gateway._waiting.tokens:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    api.server.stop()
    assert (await waiting).json() == {"tasks": [], "work": []}
