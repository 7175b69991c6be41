"""Hostile and broken requests: each gets a problem, none gets in, none makes the server fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
import msgspec
import pytest

from mainspring.api.catalogue import ROUTES
from mainspring.api.decoding import DEPTH_MAX
from mainspring.api.pages import cursor_of
from mainspring.api.routes import BODY_BYTES_MAX
from mainspring.domain.roles import Role
from tests.contract.conftest import Api, as_here, far_worker
from tests.contract.test_routes import filled, named

PROBLEM = "application/problem+json"


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("limit=0", "query/limit"),
        ("limit=501", "query/limit"),
        ("limit=ten", "query/limit"),
        ("limit=1&limit=2", "query/limit"),
        ("state=lost", "query/state"),
        ("since=yesterday", "query/since"),
        ("since=2026-11-15T01:00:00", "query/since"),
        ("cursor=!!", "query/cursor"),
        ("cursor=cnVuOi0x", "query/cursor"),
        ("cursor=%F0%9F", None),
        ("colour=blue", "query/colour"),
        ("dag=%00", "query/dag"),
        ("trigger=none", "query/trigger"),
        ("colour=blue&colour=red", "query/colour"),
        ("since=0001-01-01T00:00:00%2B23:59", "query/since"),
        ("until=9999-12-31T23:59:59-23:59", "query/until"),
    ],
)
async def test_a_wrong_query_is_refused_and_the_field_named(
    api: Api, query: str, pointer: str | None
) -> None:
    answer = await api.get(f"/runs?{query}")
    assert answer.headers["content-type"] == PROBLEM
    problem = answer.json()
    if pointer is None:
        assert answer.status_code == 400
    else:
        assert answer.status_code == 422, problem
        assert [each["pointer"] for each in problem["errors"]] == [pointer]
    assert problem["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"nonsense", 400),
        (b'{"parameters": {"a": "\\ud800"}}', 400),
        (b"\xff\xfe", 400),
        (b"[]", 422),
        (b'{"parameters": []}', 422),
        (b'{"parametres": {}}', 422),
        (b'{"run_at": "2026-11-15T01:00:00"}', 422),
        (b'{"run_at": "0001-01-01T00:00:00+23:59"}', 422),
        (b'{"run_at": "\\u0039999-12-31T23:59:59-23:59"}', 422),
        (b'{"parameters": {"region": 7}}', 422),
        (b'{"parameters": {"nowhere": 7}}', 422),
        (b'{"parameters":' + b"[" * (DEPTH_MAX + 1) + b"]" * (DEPTH_MAX + 1) + b"}", 400),
        (b"[" * 100_000, 400),
        (b'{"parameters": {"region": "' + b"[" * 1000 + b'"}}', 201),
        (b'{"parameters": {"region": "\\u0000"}}', 201),
        (b"", 201),
    ],
)
async def test_a_wrong_body_is_refused(api: Api, finished: int, body: bytes, status: int) -> None:
    answer = await api.post("/dags/daily_sales/runs", content=body)
    assert answer.status_code == status, answer.text


async def test_an_unknown_field_is_named(api: Api, finished: int) -> None:
    answer = await api.post("/dags/daily_sales/runs", json={"parameter": {}})
    assert answer.json()["detail"] == "object contains unknown field `parameter`"


async def test_a_body_that_is_too_large_is_refused_before_it_is_read(api: Api) -> None:
    large = await api.post("/runs/1/cancel", content=b" " * (BODY_BYTES_MAX + 1))
    assert large.status_code == 413

    host, port = urlsplit(api.base).hostname, urlsplit(api.base).port
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(
        b"POST /api/v1/runs/1/cancel HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
        + f"Authorization: Bearer {api.tokens[Role.OPERATOR]}\r\n\r\n".encode()
    )
    # Not a byte more than it takes: what is not read when a server closes may cost the answer.
    for _ in range(BODY_BYTES_MAX // 65536):
        writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
    writer.write(b"1\r\n \r\n")
    assert b" 413 " in await reader.readline()
    writer.close()


NUL = "a\x00b"


def _with_nul(value: Any) -> Iterator[Any]:
    """The same with NUL in one of its texts, for each of them."""
    if isinstance(value, str):
        yield NUL
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from ({**value, name: other} for other in _with_nul(inner))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in _with_nul(inner))


async def test_nul_in_any_text_of_a_request_is_refused_or_held_but_never_fails(
    api: Api, things: dict[str, str]
) -> None:
    wrong: list[str] = []

    async def ask(route: Any, path: str, body: Any) -> None:
        answer = await api.ask(route.method, path, json=body, role=route.needs)
        if answer.status_code >= 500:
            wrong.append(f"{named(route)} {path} {json.dumps(body)}: {answer.text}")

    # Workers first: what is paused or removed below has nothing in hand for them.
    for route in sorted(ROUTES, key=lambda each: each.needs is not Role.WORKER):
        path, _ = await filled(api, route, things)
        for query in () if route.query is None else msgspec.structs.fields(route.query):
            await ask(route, f"{path}?{query.encode_name}={quote(NUL)}", None)
        body = as_here(route.example.body, things)
        if route.body is not None:
            texts = [each for each in msgspec.structs.fields(route.body) if each.default is None]
            body = {**{each.encode_name: "" for each in texts if "str" in str(each.type)}, **body}
        for each in _with_nul(body):
            await ask(route, path, each)
    assert not wrong, wrong


async def test_a_worker_tells_of_an_error_whatever_it_holds(api: Api) -> None:
    worker = (await far_worker(api.connection))["worker"]
    [held] = await api.connection.fetch("select task_ids, terms from mainspring.claim")
    error = {"type": f"Value{NUL}Error", "message": f"{NUL} in the message"}
    outcome = {"type": "Failed", "error": error, "retry": False}
    end = {"task": held["task_ids"][0], "term": held["terms"][0], "outcome": outcome}
    answer = await api.post(f"/workers/{worker}/ends", role=Role.WORKER, json={"ends": [end]})
    assert (answer.status_code, answer.json()["refused"]) == (200, []), answer.text
    letters = await api.get("/dead-letters")
    assert [each["message"] for each in letters.json()["items"]] == [error["message"]]


@pytest.mark.parametrize(
    ("path", "kind", "place"),
    [
        ("/runs", "run", "9" * 19),
        ("/runs", "job", "1"),
        ("/backfills", "backfill", "2147483648"),
        ("/jobs/tidy/runs", "job run", f"{'9' * 18}.1"),
        ("/dead-letters", "group", f"2026-01-01T00:00:00+00:00 {2**128}"),
        ("/dead-letters", "group", "0001-01-01T00:00:00+23:59 1"),
        ("/dead-letters/{group}", "letter", f"2026-01-01T00:00:00+00:00 {2**63}"),
        ("/dead-letters/{group}", "letter", "9999-12-31T23:59:59-23:59 1"),
    ],
)
async def test_a_cursor_that_was_tampered_with_is_refused(
    api: Api, things: dict[str, str], path: str, kind: str, place: str
) -> None:
    answer = await api.get(f"{path.format(**things)}?cursor={cursor_of(kind, place)}")
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"].startswith("query/cursor: ")


@pytest.mark.parametrize("given", ["bytes=-0", "bytes=" + "9" * 5000 + "-", "bytes=0-1,2-3"])
async def test_a_range_that_is_none_is_refused(api: Api, finished: int, given: str) -> None:
    path = f"/runs/{finished}/tasks/extract/attempts/1/logs"
    answer = await api.get(path, headers={"Range": given})
    assert answer.status_code == 416, answer.text


@pytest.mark.parametrize("sign", ["%25", "%5C", "%25sales", "daily-sales"])
async def test_no_character_of_a_text_stands_for_another(
    api: Api, finished: int, sign: str
) -> None:
    """`_` would, if names were asked for with LIKE."""
    found = await api.get(f"/runs?text={sign}")
    assert (found.status_code, found.json()["items"]) == (200, [])
    assert len((await api.get("/runs?text=DAILY_")).json()["items"]) == 1


async def test_a_body_that_is_packed_is_refused(api: Api) -> None:
    answer = await api.post("/runs/1/cancel", content=b"{}", headers={"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["hint"]) == (415, "send it as it is")


async def test_an_origin_that_is_none_is_a_foreign_one(api: Api) -> None:
    headers = {"Cookie": "mainspring_session=msp_x", "Origin": "http://[::1"}
    answer = await api.ask("POST", "/runs/1/cancel", role=None, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")


async def test_a_key_that_is_none_is_told_with_the_place_of_its_object(api: Api) -> None:
    answer: httpx2.Response = await api.ask(
        "PUT",
        "/workers/6f1e8a52-0b6c-4f0e-9d2b-3d1f0a6a7c11",
        role=Role.WORKER,
        json={"name": "far", "queues": ["default"], "slots": {"fast": 1}},
    )
    assert [each["pointer"] for each in answer.json()["errors"]] == ["/slots"]


async def test_a_body_has_to_say_that_it_is_json(api: Api) -> None:
    answer = await api.post(
        "/runs/1/cancel", content=b"at_once=true", headers={"Content-Type": "text/plain"}
    )
    assert answer.status_code == 415


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/none.js", 404),
        ("POST", "/none", 404),
        ("GET", "/runs/", 404),
        ("DELETE", "/runs", 405),
        ("OPTIONS", "/runs", 405),
        ("GET", "/runs/x", 422),
        ("GET", "/runs/-1", 422),
        ("GET", "/runs/99999999999999999999", 422),
        ("GET", "/runs/1.5", 422),
        ("GET", "/dags/%00", 422),
        ("GET", "/dags/" + "x" * 201, 422),
        ("GET", "/dags/..%2f..%2fetc", 404),
        ("GET", "/runs?" + "a" * 9000, 400),
    ],
)
async def test_a_path_that_leads_nowhere_is_refused(
    api: Api, method: str, path: str, status: int
) -> None:
    answer = await api.ask(method, path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    if status == 405:
        assert "GET" in answer.headers["allow"]


async def test_a_request_that_breaks_off_stops_nothing(api: Api) -> None:
    host, port = urlsplit(api.base).hostname, urlsplit(api.base).port
    for start in (b"GET", b"POST /api/v1/runs/1/cancel HTTP/1.1\r\nHost: a", b"\x00\x01\r\n\r\n"):
        _, writer = await asyncio.open_connection(host, port)
        writer.write(start)
        await writer.drain()
        writer.close()
    assert (await api.get("/readyz", role=None)).status_code == 200


async def test_what_was_not_expected_is_logged_and_nothing_of_the_inside_gets_out(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    await api.connection.execute("alter table mainspring.token rename created_by to made_by")
    answer = await api.get("/tokens")
    await api.connection.execute("alter table mainspring.token rename made_by to created_by")
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (500, "unexpected")
    assert "created_by" not in answer.text
    logged = capsys.readouterr()
    told = logged.out + logged.err
    assert problem["request_id"] in told
    assert "created_by" in told
    assert (await api.get("/tokens")).status_code == 200


async def test_the_same_answer_is_not_sent_twice(api: Api, finished: int) -> None:
    first = await api.get(f"/runs/{finished}")
    tag = first.headers["etag"]
    second = await api.get(f"/runs/{finished}", headers={"If-None-Match": tag})
    assert (second.status_code, second.content) == (304, b"")
    other = await api.get(f"/runs/{finished}", headers={"If-None-Match": 'W/"other"'})
    assert other.status_code == 200


async def test_long_answers_are_packed_for_those_who_take_it(api: Api, finished: int) -> None:
    packed = await api.get(f"/runs/{finished}", headers={"Accept-Encoding": "br, gzip"})
    plain = await api.get(f"/runs/{finished}", headers={"Accept-Encoding": "gzip;q=0"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    assert packed.headers["etag"] == plain.headers["etag"]
    head = await api.ask("HEAD", f"/runs/{finished}")
    assert (head.status_code, head.content) == (200, b"")


async def test_a_request_keeps_the_id_that_it_came_with(api: Api) -> None:
    given = await api.get("/healthz", role=None, headers={"X-Request-Id": "abc-123"})
    assert given.headers["x-request-id"] == "abc-123"
    made = await api.get("/healthz", role=None, headers={"X-Request-Id": "a b\tc"})
    assert made.headers["x-request-id"] not in ("", "a b\tc")
