"""The gateway over HTTP: what is wrong with a call is said to who made it, and to nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from mainspring import wire
from tests.support.gateway_server import TOKEN, application


class Caller:
    """Calls the application as a server would, without a network in between."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        token: str = TOKEN,
        kind: str = wire.JSON,
    ) -> tuple[int, Any]:
        sent: list[dict[str, Any]] = []
        came = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if came:
                return came.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Any) -> None:
            sent.append(message)

        path, _, query = path.partition("?")
        headers = [
            (b"authorization", f"Bearer {token}".encode()),
            (b"content-type", kind.encode()),
            (b"accept", kind.encode()),
        ]
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "scheme": "http",
            "server": ("test", 80),
        }
        await self._app(scope, receive, send)
        content = sent[1]["body"]
        packed = (b"content-type", wire.MSGPACK.encode()) in sent[0]["headers"]
        decode = msgspec.msgpack.decode if packed else msgspec.json.decode
        return sent[0]["status"], decode(content)


@pytest.fixture
async def call(database_url: str, tmp_path: Path) -> AsyncIterator[Caller]:
    app = application(database_url, tmp_path)
    async with app.router.lifespan_context(app):
        yield Caller(app)


def _path(rest: str = "") -> str:
    return f"/api/v1/workers/{uuid4()}{rest}"


JOIN = b'{"name": "far", "queues": ["default"], "slots": {"async": 2}}'


async def test_without_a_token_nothing_is_done(call: Caller) -> None:
    status, problem = await call("PUT", _path(), JOIN, token="wrong")
    assert status == 401
    assert problem["hint"] == "set MAINSPRING_TOKEN"


@pytest.mark.parametrize(
    ("method", "rest", "body", "status", "says"),
    [
        ("PUT", "", b"{", 422, "truncated"),
        ("PUT", "", b'{"name": "far", "queues": [], "slots": {}}', 422, "length >= 1"),
        ("PUT", "", JOIN.replace(b"default", b"a b"), 422, "queue `a b`"),
        ("PUT", "", JOIN.replace(b'"far"', b'"f\\u0000r"'), 422, "name"),
        ("PUT", "", JOIN.replace(b"async", b"fibre"), 422, "fibre"),
        ("POST", "/claims", b'{"claim": "no", "slots": {}}', 422, "UUID"),
        ("POST", "/ends", b'{"ends": [{"task": 0, "term": 1, "outcome": {}}]}', 422, "ends"),
        ("GET", "/notes?wait_seconds=1e9", b"", 422, "wait_seconds"),
        ("POST", "/beats", b"{}", 410, "no lease"),
        ("DELETE", "", b"", 410, "no lease"),
        ("POST", "/inputs", b"[" * 5000, 422, "cannot be understood"),
    ],
)
async def test_a_bad_call_is_told_what_is_wrong(
    call: Caller, method: str, rest: str, body: bytes, status: int, says: str
) -> None:
    got, problem = await call(method, _path(rest), body)
    assert got == status
    assert says in problem["detail"]
    assert problem["status"] == status


async def test_a_path_without_a_uuid_is_refused(call: Caller) -> None:
    status, problem = await call("POST", "/api/v1/workers/me/beats", b"{}")
    assert (status, problem["detail"]) == (422, "the worker in the path is no UUID")


@pytest.mark.parametrize("kind", [wire.JSON, wire.MSGPACK])
async def test_both_forms_of_messages_are_understood(call: Caller, kind: str) -> None:
    encode = msgspec.json.encode if kind == wire.JSON else msgspec.msgpack.encode
    path = _path()
    join = {"name": "far", "queues": ["default"], "slots": {"async": 2}, "lease_seconds": 9}
    status, joined = await call("PUT", path, encode(join), kind=kind)
    assert (status, joined["lease_seconds"], joined["renew_seconds"]) == (200, 9, 3)
    status, renewed = await call("POST", f"{path}/beats", encode({}), kind=kind)
    assert (status, renewed["stops"]) == (200, [])
    assert await call("DELETE", path, kind=kind) == (200, {})
    assert (await call("POST", f"{path}/beats", encode({}), kind=kind))[0] == 410
