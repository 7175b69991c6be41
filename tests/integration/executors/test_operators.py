"""Ready-made tasks in real hosts: programs that are started, and a server that is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mainspring import dag
from mainspring.domain.bindings import arguments_of
from mainspring.domain.outcomes import Cancelled, Failed, Outcome, Succeeded
from mainspring.executors.jobs import Job
from mainspring.operators import command, http, shell
from tests.integration.executors.trial import ATTEMPT, Trial


def start(
    trial: Trial,
    draw: Callable[..., Any],
    parameters: Mapping[str, Any] | None = None,
    snapshot: str = "",
) -> int:
    """Draw the one task, bind its arguments as a worker does, and run it."""

    def body(p: Any = None, q: Any = None) -> None:
        draw(p, q)

    (spec,) = dag(name="sample")(body).spec.tasks
    values = {"p": None, "q": None, **(parameters or {})}
    job = Job(
        task_id=trial.job("add").task_id,
        term=1,
        kind=spec.kind,
        snapshot=snapshot,
        entry=spec.entry,
        attempt=msgspec.structs.replace(ATTEMPT, task=spec.name, parameters=b"{}"),
        arguments=arguments_of(spec, values, lambda number: b"null"),
    )
    trial.hosts.submit([job])
    return job.task_id


async def outcome(trial: Trial, draw: Callable[..., Any], **parameters: Any) -> Outcome:
    return await trial.end_of(start(trial, draw, parameters))


async def result(trial: Trial, draw: Callable[..., Any], **parameters: Any) -> Any:
    ended = await outcome(trial, draw, **parameters)
    assert isinstance(ended, Succeeded), ended
    return msgspec.json.decode(ended.result)


async def failure(trial: Trial, draw: Callable[..., Any], **parameters: Any) -> Failed:
    ended = await outcome(trial, draw, **parameters)
    assert isinstance(ended, Failed), ended
    return ended


# --- commands ------------------------------------------------------------------------------

HOSTILE = "a b; echo $HOME `id` 'x' \"y\" \\ * --help\n2"


async def test_a_value_is_one_argument_whatever_it_holds(trial: Trial) -> None:
    def draw(p: Any, q: Any) -> None:
        command(["python3", "-c", "import sys; print(repr(sys.argv[1:]))", p, q, 7, 0.5, True])

    told = await result(trial, draw, p=HOSTILE, q=3)
    assert told == repr([HOSTILE, "3", "7", "0.5", "true"])


async def test_a_shell_sees_values_as_arguments_and_variables(trial: Trial) -> None:
    def draw(p: Any, q: Any) -> None:
        shell('printf "%s|%s|%s" "$#" "$1" "$WORD" | tr "\\n" " "', arguments=[p], env={"WORD": q})

    told = await result(trial, draw, p=HOSTILE, q=HOSTILE)
    flat = HOSTILE.replace("\n", " ")
    assert told == f"1|{flat}|{flat}"


async def test_variables_are_added_and_those_of_the_attempt_stay(trial: Trial) -> None:
    def draw(p: Any, q: Any) -> None:
        shell('echo "$PATH" | grep -q / && echo "$A $MAINSPRING_DAG"',
              env={"A": "1", "MAINSPRING_DAG": "forged"})  # fmt: skip

    assert await result(trial, draw) == "1 trial"


async def test_a_relative_folder_is_one_of_the_snapshot(trial: Trial, tmp_path: Path) -> None:
    script = tmp_path / "jobs" / "hello.sh"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\necho "hello from $(basename "$PWD")"\n')
    script.chmod(0o755)
    number = start(trial, lambda p, q: command(["./hello.sh"], cwd="jobs"), snapshot=str(tmp_path))
    assert await trial.end_of(number) == Succeeded(b'"hello from jobs"')


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "argument 1: expected text or a number, got nothing"),
        (["a", "b"], "argument 1: expected text or a number, got `list`"),
        ({"a": 1}, "argument 1: expected text or a number, got `dict`"),
    ],
)
async def test_a_value_that_is_no_single_argument_fails_for_good(
    trial: Trial, value: Any, message: str
) -> None:
    failed = await failure(trial, lambda p, q: command(["echo", p]), p=value)
    assert not failed.retry
    assert failed.error.message.startswith(message)


async def test_a_command_that_cannot_be_started_says_why(trial: Trial) -> None:
    failed = await failure(trial, lambda p, q: command(["no-such-program"]))
    assert "cannot start `no-such-program`" in failed.error.message
    failed = await failure(trial, lambda p, q: command(["true"], cwd="/no/such/folder"))
    assert "/no/such/folder" in failed.error.message
    failed = await failure(trial, lambda p, q: command(["true"], env={"A": p}), p="a\x00b")
    assert "cannot hold the variable `A`" in failed.error.message


# --- http ----------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """Answers as the path says, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.waiting = threading.Event()
        self.let_go = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.command, self.path, headers, body))
        kind, _, rest = self.path.lstrip("/").partition("?")[0].partition("/")
        if kind == "never":
            self.server.waiting.set()
            self.server.let_go.wait()
            return
        if kind == "hang-up":
            self.close_connection = True
            self.connection.close()
            return
        status, more, content = ANSWERS.get(kind, (200, {}, b"fine"))
        self.send_response(int(rest) if kind == "status" else status)
        for name, value in more.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


JSON = {"Content-Type": "application/json; charset=utf-8"}
ANSWERS: dict[str, tuple[int, dict[str, str], bytes]] = {
    "json": (200, {**JSON, "ETag": '"1"', "X-Other": "no"}, b'{"id": 7}'),
    "not-json": (200, JSON, b"<html>"),
    "latin": (200, {"Content-Type": "text/plain; charset=latin-1"}, "é".encode("latin-1")),
    "binary": (200, {"Content-Type": "image/png"}, b"\x89PNG\xff"),
    "large": (200, {}, b"x" * (256 * 1024 + 1)),
    "fits": (200, {}, b"x" * (256 * 1024)),
    "busy": (503, {"Retry-After": "17"}, b"come back"),
    "until": (
        429,
        {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)},
        b"",
    ),
    "odd": (503, {"Retry-After": "soon"}, b""),
    "moved": (302, {"Location": "http://u:p@other.example/x?token=1"}, b""),
    "gone": (404, {}, b"no such order " + b"z" * 5000),
}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.let_go.set()
        server.shutdown()
        thread.join()


async def test_the_answer_is_the_result(trial: Trial, server: Server) -> None:
    got = await result(trial, lambda p, q: http("GET", f"{server.url}/json"))
    assert got == {
        "status": 200,
        "headers": {"content-type": "application/json; charset=utf-8", "etag": '"1"'},
        "body": {"id": 7},
    }
    for kind, body in (("not-json", "<html>"), ("latin", "é"), ("binary", None)):
        got = await result(trial, lambda p, q, kind=kind: http("GET", f"{server.url}/{kind}"))
        assert got["body"] == body
    got = await result(trial, lambda p, q: http("GET", f"{server.url}/fits"))
    assert len(got["body"]) == 256 * 1024


async def test_values_reach_the_server_encoded(trial: Trial, server: Server) -> None:
    def draw(p: Any, q: Any) -> None:
        http(
            "post",
            f"{server.url}/items/{{item}}/é?fixed=1#part",
            path={"item": p},
            query={"a": q, "list": [1, "x y"], "none": None},
            headers={"X-Word": q},
            json={"item": p, "deep": [q]},
            name="refund",
        )

    await result(trial, draw, p="../a/b?c#d", q="ü&=")
    [(method, path, headers, body)] = server.asked
    assert method == "POST"
    assert path == ("/items/..%2Fa%2Fb%3Fc%23d/%C3%A9?fixed=1&a=%C3%BC%26%3D&list=1&list=x+y")
    assert headers["content-type"] == "application/json"
    assert headers["idempotency-key"] == "1/refund/1"
    assert msgspec.json.decode(body) == {"item": "../a/b?c#d", "deep": ["ü&="]}


async def test_only_requests_that_may_change_something_carry_the_key(
    trial: Trial, server: Server
) -> None:
    await result(trial, lambda p, q: http("GET", server.url))
    await result(trial, lambda p, q: http("DELETE", server.url, headers={"idempotency-key": "my"}))
    await result(trial, lambda p, q: http("PUT", server.url, body=p), p="text")
    first, second, third = (headers for _, _, headers, _ in server.asked)
    assert "idempotency-key" not in first
    assert second["idempotency-key"] == "my"
    assert third["idempotency-key"] == "1/http/1"
    assert server.asked[2][3] == b"text"


async def test_credentials_in_the_address_are_sent_and_never_told(
    trial: Trial, server: Server
) -> None:
    url = server.url.replace("//", "//ana:s%20cret@") + "/gone?token=hidden"
    failed = await failure(trial, lambda p, q: http("GET", p), p=url)
    assert server.asked[0][2]["authorization"] == "Basic YW5hOnMgY3JldA=="
    message = failed.error.message
    assert message.startswith(f"GET {server.url}/gone?… answered 404 Not Found: no such order zzz")
    assert len(message) < 700
    assert "cret" not in message + failed.error.trace
    assert "hidden" not in message + failed.error.trace


async def test_the_status_decides(trial: Trial, server: Server) -> None:
    assert not (await failure(trial, lambda p, q: http("GET", f"{server.url}/status/500"))).retry
    assert (await failure(trial, lambda p, q: http("GET", f"{server.url}/status/502"))).retry
    got = await result(trial, lambda p, q: http("GET", f"{server.url}/status/404", expect={404}))
    assert got["status"] == 404
    again = await failure(
        trial, lambda p, q: http("GET", f"{server.url}/status/500", retry_on=range(500, 600))
    )
    assert again.retry
    refused = await failure(
        trial, lambda p, q: http("GET", f"{server.url}/status/200", expect=[201])
    )
    assert not refused.retry


async def test_retry_after_is_honoured(trial: Trial, server: Server) -> None:
    busy = await failure(trial, lambda p, q: http("GET", f"{server.url}/busy"))
    assert (busy.retry, busy.delay_seconds) == (True, 17.0)
    assert busy.error.message.endswith("/busy answered 503 Service Unavailable: come back")
    until = await failure(trial, lambda p, q: http("GET", f"{server.url}/until"))
    assert until.delay_seconds is not None
    assert 0 < until.delay_seconds <= 3600
    odd = await failure(trial, lambda p, q: http("GET", f"{server.url}/odd"))
    assert (odd.retry, odd.delay_seconds) == (True, None)


async def test_redirects_are_told_and_not_followed(trial: Trial, server: Server) -> None:
    failed = await failure(trial, lambda p, q: http("GET", f"{server.url}/moved"))
    assert failed.error.message.endswith(
        "which leads to http://other.example/x?…; redirects are not followed"
    )
    assert len(server.asked) == 1


async def test_an_answer_that_is_too_large_fails_for_good(trial: Trial, server: Server) -> None:
    failed = await failure(trial, lambda p, q: http("GET", f"{server.url}/large"))
    assert not failed.retry
    assert "more than 256 kB" in failed.error.message


async def test_no_answer_is_an_error_that_is_tried_again(trial: Trial, server: Server) -> None:
    hung_up = await failure(trial, lambda p, q: http("GET", f"{server.url}/hang-up"))
    assert (hung_up.retry, hung_up.error.type) == (True, "ConnectionError")
    assert hung_up.error.message.startswith(f"GET {server.url}/hang-up got no answer: ")
    late = await failure(trial, lambda p, q: http("GET", f"{server.url}/never", timeout="100ms"))
    assert (late.retry, late.error.type) == (True, "TimeoutError")
    assert late.error.message == f"GET {server.url}/never was not answered within 100 ms"


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda p, q: http("GET", "http://127.0.0.1:1/"), "got no answer"),
        (lambda p, q: http("GET", p), "does not begin with `https://`"),
        (lambda p, q: http("GET", "http://127.0.0.1:1/{x}", path={"x": p}), "another address"),
        (lambda p, q: http("GET", "http://127.0.0.1:1/", headers={"x": q}), "cannot be sent"),
    ],
)
async def test_what_cannot_be_sent_fails_clearly(
    trial: Trial, draw: Callable[..., Any], message: str
) -> None:
    failed = await failure(trial, draw, p="..", q="a\r\nEvil: yes")
    assert message in failed.error.message


async def test_a_request_that_waits_is_stopped_at_once_and_costs_nobody_else(
    trial: Trial, server: Server
) -> None:
    number = start(trial, lambda p, q: http("GET", f"{server.url}/never", timeout="1h"))
    await trial.start_of(number)
    server.waiting.wait()
    trial.hosts.stop(number, 1, Cancelled("enough"))
    assert await trial.end_of(number) == Cancelled("enough")
    assert await result(trial, lambda p, q: http("GET", f"{server.url}/json"))
    assert len(trial.hosts.processes()) == 1
