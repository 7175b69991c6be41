"""Who asks the server: connections that are kept, each with one request under way.

The generator shares the machine with what it measures, so it is cheap: requests are bytes that were
made before, and of an answer only the status and the end are looked for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import httptools
import msgspec

from mainspring.bench.numbers import percentile
from mainspring.domain.errors import UnavailableError

_WORDS_MAX = 500

Next = Callable[[], bytes | None]
"""The request to send next; None: no more."""


class Asked(msgspec.Struct, frozen=True):
    """What asking came to."""

    seconds: float
    """From the first request to the last answer."""
    times_ms: list[float]
    """How long each answer took."""

    @property
    def per_s(self) -> float:
        return len(self.times_ms) / self.seconds

    def p_ms(self, share: float) -> float:
        return percentile(self.times_ms, share)


def request(method: str, path: str, *, token: str, body: bytes | None = None) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}"]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


async def ask_one(port: int, content: bytes) -> bytes:
    """The body of one answer."""
    asking = _Asking(iter([content]).__next__)
    await _connect(port, [asking])
    return asking.body


async def ask_for(port: int, connections: int, seconds: float, next_request: Next) -> Asked:
    """Ask over so many connections for so long; every answer has to be a success."""
    deadline = time.perf_counter() + seconds

    def until_then() -> bytes | None:
        return next_request() if time.perf_counter() < deadline else None

    asking = [_Asking(until_then) for _ in range(connections)]
    began = time.perf_counter()
    await _connect(port, asking)
    ended = time.perf_counter()
    return Asked(ended - began, [took for each in asking for took in each.times_ms])


async def _connect(port: int, asking: Sequence[_Asking]) -> None:
    loop = asyncio.get_running_loop()
    try:
        for each in asking:
            await loop.create_connection(partial(_itself, each), "127.0.0.1", port)
        await asyncio.gather(*(each.ended for each in asking))
    finally:
        for each in asking:
            each.close()


def _itself(asking: _Asking) -> _Asking:
    return asking


class _Asking(asyncio.Protocol):
    """One connection. The parser calls the methods that begin with `on_`."""

    def __init__(self, next_request: Next) -> None:
        self.times_ms: list[float] = []
        self.body = b""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._next_request = next_request
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._sent_at = 0.0
        self._body: list[bytes] = []

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        self.ended.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # That of uvloop is one by its methods alone.
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("the server has closed a connection in the middle of the benchmark")

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        self.times_ms.append(1000 * (time.perf_counter() - self._sent_at))
        status = self._parser.get_status_code()
        if status >= 300:
            words = b"".join(self._body).decode("utf-8", "replace")[:_WORDS_MAX]
            self._fail(f"the server answered {status}: {words}")
            return
        # A parser that is told to go on before it has ended would mix two answers.
        asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        if self.ended.done():
            return
        try:
            content = self._next_request()
        except StopIteration:
            content = None
        if content is None:
            self.body = b"".join(self._body)
            self.ended.set_result(None)
            return
        self._body.clear()
        self._sent_at = time.perf_counter()
        assert self._transport is not None
        self._transport.write(content)

    def _fail(self, message: str) -> None:
        if not self.ended.done():
            self.ended.set_exception(UnavailableError(message))
