"""A line to a server: one HTTP connection with one request in flight, made again when it breaks.

What a `Line` is for SQL. When the server goes away it connects again, for ever, with a growing
pause, and asks the same again: whatever a worker asks may be asked twice. A server that is busy or
broken (429 and 5xx) is asked again too. What it refuses is an error, and a lease that is gone is
`Reaped`.
"""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec
import structlog

from mainspring import worker_protocol as protocol
from mainspring.domain.errors import InputError, MainspringError, NotFoundError
from mainspring.domain.names import shown
from mainspring.store.attempts import Reaped
from mainspring.worker.depot import Unwelcome

_T = TypeVar("_T")

log = structlog.get_logger(__name__)

PATIENCE_SECONDS = 60.0
_HEADER_BYTES_MAX = 64 * 1024
_BUSY = (429, 502, 503, 504)

_encode = msgspec.msgpack.Encoder().encode


class _Broken(Exception):
    """The server, or the way to it, is gone."""


class Server(msgspec.Struct, frozen=True):
    """Where a server is, and how it knows us."""

    host: str
    port: int
    tls: bool
    path: str
    token: str

    @classmethod
    def at(cls, url: str, token: str) -> Server:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise InputError(
                f"{shown(url)} is no address of a server", hint="such as `https://host:8080`"
            )
        if not token.isascii() or any(character.isspace() for character in token):
            raise InputError("the token holds what a token cannot hold")
        tls = parts.scheme == "https"
        return cls(parts.hostname, port or (443 if tls else 80), tls, parts.path.rstrip("/"), token)

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


class HttpLine:
    def __init__(
        self, server: Server, *, name: str, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._server = server
        self._name = name
        self._patience_seconds = patience_seconds
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._lock = asyncio.Lock()

    async def call(
        self,
        method: str,
        path: str,
        question: Callable[[], object] | object | None,
        answer: type[_T],
        *,
        wait_seconds: float = 0.0,
    ) -> _T:
        """Ask until the server has answered; a question that can be called is made at each try."""
        body = await self.fetch(method, path, question, wait_seconds=wait_seconds)
        return msgspec.msgpack.decode(body, type=answer)

    async def tell(self, method: str, path: str, said: object | None = None) -> None:
        """Say something until the server has taken it."""
        await self.fetch(method, path, said)

    async def fetch(
        self,
        method: str,
        path: str,
        question: Callable[[], object] | object | None = None,
        *,
        wait_seconds: float = 0.0,
    ) -> bytes:
        async with self._lock:
            failures = 0
            while True:
                kept = self._streams is not None
                asked = question() if callable(question) else question
                body = b"" if asked is None else _encode(asked)
                try:
                    async with asyncio.timeout(self._patience_seconds + wait_seconds):
                        status, content = await self._ask(method, path, body)
                    if status not in _BUSY and status != 500:
                        return _content(status, content)
                    problem = f"status {status}"
                except (OSError, TimeoutError, EOFError, _Broken) as error:
                    self._drop()
                    if kept and failures == 0 and not isinstance(error, TimeoutError):
                        continue  # Servers close what was idle for long; a new one will do.
                    problem = repr(error)
                except BaseException:
                    # The answer may be on its way still; it must not reach the next question.
                    self._drop()
                    raise
                if failures == 0:
                    log.warning("server out of reach", line=self._name, error=problem)
                failures += 1
                await asyncio.sleep(min(0.05 * 2**failures, 2.0) * random.uniform(0.5, 1.0))

    async def close(self) -> None:
        self._drop()

    async def _ask(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        reader, writer = await self._connected()
        server = self._server
        head = (
            f"{method} {server.path}{path} HTTP/1.1\r\n"
            f"host: {server.authority}\r\n"
            f"authorization: Bearer {server.token}\r\n"
            f"accept: {protocol.MSGPACK}\r\n"
            f"content-type: {protocol.MSGPACK}\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode("ascii") + body)
        await writer.drain()
        status, headers = await _read_head(reader)
        content = await _read_content(reader, headers)
        if headers.get("connection", "").lower() == "close":
            self._drop()
        return status, content

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None or _is_over(*self._streams):
            self._drop()
            context = ssl.create_default_context() if self._server.tls else None
            self._streams = await asyncio.open_connection(
                self._server.host, self._server.port, ssl=context, limit=_HEADER_BYTES_MAX
            )
        return self._streams

    def _drop(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


def _is_over(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether it ended while nothing was asked: with a word, or without one."""
    return reader.at_eof() or writer.is_closing()


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.LimitOverrunError as error:
        raise _Broken("the answer's head is too long") from error
    first, *lines = head.split("\r\n")
    version, _, rest = first.partition(" ")
    status = rest[:3]
    if not version.startswith("HTTP/1.") or not status.isdigit():
        raise _Broken("what answers does not speak HTTP")
    headers: dict[str, str] = {}
    for line in lines:
        key, colon, value = line.partition(":")
        if colon:
            headers[key.strip().lower()] = value.strip()
    if version == "HTTP/1.0":
        headers.setdefault("connection", "close")
    return int(status), headers


async def _read_content(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        content = bytearray()
        while True:
            size = await reader.readuntil(b"\r\n")
            try:
                count = int(size.split(b";")[0], 16)
            except ValueError:
                raise _Broken("the answer's chunks cannot be understood") from None
            piece = await reader.readexactly(count + 2)
            if count == 0:
                return bytes(content)
            content += piece[:-2]
    length = headers.get("content-length", "0")
    if not length.isdigit():
        raise _Broken("the answer's length cannot be understood")
    return await reader.readexactly(int(length))


def _content(status: int, content: bytes) -> bytes:
    if status < 300:
        return content
    try:
        problem = msgspec.json.decode(content, type=protocol.Problem)
    except msgspec.DecodeError:
        problem = protocol.Problem(status=status, code="unknown", detail=f"status {status}")
    if status == 410 and problem.code == protocol.REAPED:
        raise Reaped
    raise _error(status)(f"the server refuses: {problem.detail}", hint=problem.hint)


def _error(status: int) -> type[MainspringError]:
    match status:
        case 401 | 403:
            return Unwelcome
        case 404:
            return NotFoundError
        case _:
            return InputError
