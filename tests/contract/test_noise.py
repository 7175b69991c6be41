"""Noise: whatever comes in at any route, the server answers with what its document allows."""

from __future__ import annotations

import json
import random
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import msgspec

from mainspring.api.catalogue import RESOURCES, ROUTES
from mainspring.api.openapi import document
from mainspring.api.problems import CONTENT_TYPE, Problem
from mainspring.api.routes import Route
from mainspring.domain.roles import Role
from tests.contract.conftest import Api, as_here, far_worker

TEXTS = (
    *(
        "",
        "0",
        "1",
        "-1",
        "4097",
        "1e9",
        "99999999999999999999",
        "9223372036854775807",
        "2147483648",
    ),
    *(
        "daily_sales",
        "extract",
        "default",
        "succeeded",
        "manual",
        "id,state",
        "null",
        "true",
        "NaN",
    ),
    *("%", "a/b", "..", "\x00", "\x7f", "é", "😀", "'; drop table run; --", "{run}", "x" * 300),
    *("2026-11-15T01:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "cnVuOjE"),
    *("tidy", "command", "every 1h", "* * * * *", "plug-in:x", "RRULE:FREQ=DAILY"),
    *("294277-01-01T00:00:00Z", "2026-11-15T01:00:00+23:59", "1d", "0s", "1000000d"),
)
VALUES: tuple[Any, ...] = (
    *TEXTS,
    *(None, True, False, 0, -1, 2**63, 2**64, 1.5, 1e308, [], {}, [[]], {"": None}, ["extract"]),
    {"region": "eu"},
    *({"when": ["@daily"]}, {"when": ["every 1h", {"type": "once"}]}, {"url": "http://a.example"}),
    *(["true"], ["every 1h"], ["a\x00b"], {"arguments": ["true"], "cwd": "\x00"}),
)


def request_of(
    route: Route, chance: random.Random, things: dict[str, str]
) -> tuple[str, bytes | None]:
    path = route.path
    for name, value in route.example.path.items():
        real = things.get(name, value)
        text = real if chance.random() < 0.7 else chance.choice(TEXTS)
        path = path.replace(f"{{{name}}}", quote(text, safe="") or "%20")
    if chance.random() < 0.7:
        names = [*(route.query.__struct_fields__ if route.query else ()), "other"]
        pairs = [
            f"{chance.choice(names)}={quote(chance.choice(TEXTS), safe='')}"
            for _ in range(chance.randrange(4))
        ]
        path += "?" + "&".join(pairs)
    if route.method not in ("POST", "PUT", "PATCH"):
        return path, None
    if chance.random() < 0.2:
        return path, bytes(chance.randrange(256) for _ in range(chance.randrange(20)))
    fields = [*(route.body.__struct_fields__ if route.body else ()), "other"]
    body: Any = {**(as_here(route.example.body, things) or {})}
    for _ in range(chance.randrange(3)):
        body[chance.choice(fields)] = chance.choice(VALUES)
    return path, json.dumps(chance.choice([body, body, body, chance.choice(VALUES)])).encode()


async def test_no_noise_makes_the_server_fail_or_say_what_its_document_does_not(
    api: Api, things: dict[str, str]
) -> None:
    chance = random.Random(20261115)
    told = msgspec.json.decode(msgspec.json.encode(document(RESOURCES)))
    things = {**things, **await far_worker(api.connection)}
    for number in range(600):
        route = chance.choice(ROUTES)
        path, content = request_of(route, chance, things)
        headers = {"Range": chance.choice(["bytes=0-5", "bytes=5-", "x"])} if number % 3 else {}
        if chance.random() < 0.3:
            headers["If-Match"] = chance.choice(['"1"', '"2"', "*", "x", 'W/"1.5f"'])
        if chance.random() < 0.3:
            headers["Idempotency-Key"] = chance.choice(["a", "b", "x" * 255])
        role = Role.WORKER if route.needs is Role.WORKER else Role.ADMIN
        answer = await api.ask(route.method, path, role=role, headers=headers, content=content)
        what = f"{route.method} {path} {content!r}: {answer.status_code} {answer.text[:500]}"
        known = told["paths"][route.path][route.method.lower()]["responses"]
        allowed = {int(status) for status in known}
        # What leads elsewhere, as `..` and `a%2Fb` do, is another path.
        assert answer.status_code in allowed | {404, 405}, what
        assert answer.status_code not in (500, 503), what
        if answer.status_code == 410:
            things["worker"] = str(uuid4())
            join = {"name": "far", "queues": ["default"], "slots": {"async": 2}}
            await api.ask("PUT", f"/workers/{things['worker']}", role=Role.WORKER, json=join)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == CONTENT_TYPE, what
            problem = msgspec.json.decode(answer.content, type=Problem)
            assert (problem.status, bool(problem.detail)) == (answer.status_code, True), what
        elif route.answer is not None and "fields=" not in path and "/.." not in path:
            msgspec.json.decode(answer.content, type=route.answer)
