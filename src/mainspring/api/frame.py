"""Around every request: its id, whether it is meant for us, and an end, whatever happens inside.

A caller gets an answer or a problem, never a traceback. What was not expected is logged with the
request's id.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import time
from collections.abc import Collection

import asyncpg
import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mainspring.api.answers import Answer, encode, send_answer
from mainspring.api.decoding import Disconnected
from mainspring.api.problems import (
    CONTENT_TYPE,
    Problem,
    Refusal,
    headers_of,
    problem_of,
    status_of,
    unexpected,
)
from mainspring.api.services import Services
from mainspring.domain.errors import MainspringError, UnavailableError
from mainspring.store.attempts import Reaped
from mainspring.store.connection import GONE
from mainspring.worker_protocol import REAPED

log = structlog.get_logger(__name__)

_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:@/\s]+))(?::[0-9]{1,5})?")
_SLOW_SECONDS = 1.0


class Frame:
    def __init__(self, inner: ASGIApp, services: Services, names: Collection[str]) -> None:
        self._inner = inner
        self._services = services
        self._metrics = services.metrics
        self._names = {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # No websockets here; uvicorn is told that there is no lifespan.
            await send({"type": "websocket.close", "code": 1000})
            return
        began = time.perf_counter()
        headers = Headers(scope=scope)
        request_id = _request_id(headers.get("x-request-id"))
        scope["mainspring.request"] = request_id
        status, answered_at = 0, 0.0

        async def send_with_id(message: Message) -> None:
            nonlocal status, answered_at
            if message["type"] == "http.response.start":
                status, answered_at = message["status"], time.perf_counter()
                message["headers"].append((b"x-request-id", request_id.encode()))
                if self._services.stopping:
                    # The caller's next request goes to somebody who stays.
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        self._metrics.running.inc()
        try:
            try:
                check_host(headers, self._names)
                await self._inner(scope, receive, send_with_id)
            except Disconnected:
                status = 499
            except Exception as error:
                if status:
                    # Half an answer is out: all that is left is to break it off.
                    raise
                await _send_problem(send_with_id, error, scope, headers, request_id)
        finally:
            self._metrics.running.dec()
            # Of an answer that goes on, what counts is how long it took to begin.
            goes_on = "mainspring.goes_on" in scope
            seconds = (answered_at if goes_on else time.perf_counter()) - began
            route = scope.get("mainspring.route", "none")
            self._metrics.answered(scope["method"], route, status, seconds)
            # What a path or a query holds is nobody's business but the caller's.
            log.debug(
                "a request",
                request=request_id,
                method=scope["method"],
                route=route,
                status=status,
                ms=round(seconds * 1000, 2),
                caller=scope.get("mainspring.caller"),
            )
            if seconds > _SLOW_SECONDS and not scope.get("mainspring.slow"):
                log.warning("a slow request", route=route, seconds=seconds, request=request_id)


async def _send_problem(
    send: Send, error: Exception, scope: Scope, headers: Headers, request_id: str
) -> None:
    problem, more = _told(error, request_id)
    if problem.status == 500:
        log.error("a request failed", request=request_id, path=scope["path"], exc_info=error)
    answer = Answer(
        encode(problem),
        status=problem.status,
        content_type=CONTENT_TYPE.encode(),
        headers=[(b"cache-control", b"no-store"), *more],
    )
    await send_answer(send, answer, scope["method"], headers)


def _told(error: Exception, request_id: str) -> tuple[Problem, list[tuple[bytes, bytes]]]:
    if isinstance(error, asyncpg.QueryCanceledError):
        error = UnavailableError("the question took too long", hint="ask for less, or later")
    elif isinstance(error, GONE):
        error = UnavailableError("the database is away", hint="try again in a while")
    elif isinstance(error, Reaped):
        error = Refusal(410, REAPED, "this worker has no lease", hint="join under a new id")
    if isinstance(error, MainspringError) and status_of(error) != 500:
        return problem_of(error, request_id), headers_of(error)
    return unexpected(request_id), []


def check_host(headers: Headers, names: Collection[str]) -> None:
    """A name that is not ours is refused: who points a name at this address must not get in.

    Addresses are taken as they are, since nobody can point an address elsewhere.
    """
    given = headers.getlist("host")
    if len(given) > 1:
        raise Refusal(400, "host", f"the request has {len(given)} Host headers", hint="send one")
    name = host_name(given[0]) if given else ""
    if name.lower() in names or _is_address(name):
        return
    raise Refusal(
        421,
        "host",
        f"this server is not called `{name[:100]}`",
        hint="name it in MAINSPRING_SERVER_NAMES",
    )


def host_name(given: str) -> str:
    """The name in a Host header, without its port; what is none is left as it is."""
    found = _HOST.fullmatch(given)
    return given if found is None else found[1] or found[2]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _request_id(given: str | None) -> str:
    """The caller's own, if it is one that a log can hold."""
    if given is not None and _ID.fullmatch(given):
        return given
    return secrets.token_hex(8)
