"""The small door through which Prometheus reads an engine or a worker: `GET /metrics`, no more.

It takes no token and changes nothing; what it tells are numbers. So it listens on this machine
alone, unless an address is given. One request for each connection, with bounds on its head and on
the time that it takes: whoever plays with it disturbs nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import structlog

from mainspring.config import MetricsDoor
from mainspring.domain.errors import UnavailableError
from mainspring.observe.measures import Measures

_HEAD_BYTES = 8192
_PATIENCE_SECONDS = 5.0
_CALLERS_MAX = 16
_TEXT = "text/plain; version=0.0.4; charset=utf-8"

log = structlog.get_logger(__name__)


@contextlib.asynccontextmanager
async def told(measures: Measures, door: MetricsDoor | None) -> AsyncIterator[None]:
    """While this is entered, `measures` can be read at the door, if there is to be one."""
    if door is None:
        yield
        return
    try:
        listener = await asyncio.start_server(
            _Answering(measures).answer, door.host, door.port, limit=_HEAD_BYTES
        )
    except OSError as error:
        raise UnavailableError(
            f"metrics cannot be told at {door.host}:{door.port}: {error.strerror}",
            hint="give another port with `--metrics-port`, or another MAINSPRING_METRICS_HOST",
        ) from None
    async with listener:
        host, port = listener.sockets[0].getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        log.info("metrics are told", at=f"http://{shown}:{port}/metrics")
        yield


class _Answering:
    def __init__(self, measures: Measures) -> None:
        self._measures = measures
        self._callers = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._callers += 1
        try:
            if self._callers <= _CALLERS_MAX:
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(self._answer(head))
                    await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # Whoever it was does not speak HTTP, or is gone.
            pass
        finally:
            self._callers -= 1
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b"\r\n")[0].partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return _response("405 Method Not Allowed", b"only GET\n", "Allow: GET, HEAD\r\n")
        if path != b"/metrics":
            return _response("404 Not Found", b"there is /metrics, and nothing else\n")
        return _response("200 OK", self._measures.text(), without_body=method == b"HEAD")


def _response(status: str, body: bytes, more: str = "", *, without_body: bool = False) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {_TEXT}\r\nContent-Length: {len(body)}\r\n"
        f"{more}Connection: close\r\n\r\n"
    )
    return head.encode() + (b"" if without_body else body)
