"""One request and its answer, in a thread that ends with it."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

import msgspec

from mainspring.authoring.ends import Fail
from mainspring.operators.requests import Request, timed_out

P = ParamSpec("P")
T = TypeVar("T")


class Answer(msgspec.Struct, frozen=True):
    status: int
    reason: str
    headers: dict[str, str]
    """By name in small letters; of a repeated one, all values."""
    body: bytes
    cut: bool
    """Whether there was more of the body than was wanted."""


async def exchanged(request: Request, body_bytes_max: int) -> Answer:
    exchange = _Exchange(request, body_bytes_max)
    # By the loop's own door for threads: `run_dag` lets no time pass while one of these works.
    answered = asyncio.get_running_loop().run_in_executor(_ThreadEach(), exchange.run)
    try:
        async with asyncio.timeout(request.timeout_seconds):
            return await answered
    except TimeoutError:
        raise timed_out(request) from None
    except (OSError, http.client.HTTPException) as error:
        words = str(error) or type(error).__name__
        raise ConnectionError(f"{request.shown} got no answer: {words}") from error
    except ValueError as error:
        raise Fail(f"{request.shown} cannot be sent: {error}") from error
    finally:
        exchange.abandon()


class _ThreadEach(Executor):
    """A thread for each call, which holds up nobody's exit and waits for no other."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()

        def work() -> None:
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        threading.Thread(target=work, name="http", daemon=True).start()
        return future


class _Exchange:
    def __init__(self, request: Request, body_bytes_max: int) -> None:
        self._request = request
        self._body_bytes_max = body_bytes_max
        self._connection = _connection(request)

    def run(self) -> Answer:
        request, connection = self._request, self._connection
        parts = urlsplit(request.url)
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        try:
            headers = {**request.headers, "Connection": "close"}
            connection.request(request.method, target, request.body, headers)
            with connection.getresponse() as response:
                body = response.read(self._body_bytes_max + 1)
                names = {name.lower() for name in response.headers}
                return Answer(
                    response.status,
                    response.reason,
                    {name: ", ".join(response.headers.get_all(name, [])) for name in names},
                    body[: self._body_bytes_max],
                    len(body) > self._body_bytes_max,
                )
        finally:
            connection.close()

    def abandon(self) -> None:
        """Wake the thread if it still waits for the other side."""
        connected = self._connection.sock
        if connected is not None:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)


def _connection(request: Request) -> http.client.HTTPConnection:
    parts = urlsplit(request.url)
    assert parts.hostname is not None
    # Each step of the thread is bounded too, so that it ends even if nobody can wake it.
    limit = request.timeout_seconds
    if parts.scheme == "https":
        return http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=limit, context=ssl.create_default_context()
        )
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=limit)
