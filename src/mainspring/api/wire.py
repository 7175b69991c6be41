"""HTTP/1.1 as uvicorn speaks it, with bounds of the head that it has not, before any of our code.

A head that does not end, or comes for ever, would be kept in memory without a limit, and hold its
connection. What cannot be parsed is answered with a problem, as everything else is.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mainspring.api.answers import encode
from mainspring.api.problems import CONTENT_TYPE, Refusal, problem_of, status_of

HEAD_BYTES_MAX = 64 * 1024
HEAD_SECONDS_MAX = 30.0

_REASONS = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large"}


class Wire(HttpToolsProtocol):
    _asked = False
    _in_head = True
    _head_bytes = 0
    _hurry: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self._in_head
        super().data_received(data)
        # A head that began in the midst of this piece is counted from the next on.
        if before and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self._refuse(
                    Refusal(
                        431,
                        "too_large",
                        f"the head of the request has more than {HEAD_BYTES_MAX:,} bytes",
                    )
                )

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        if self._hurry is None:
            self._wait_for_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()
        self._asked = True
        # For answers that go on: a caller who takes nothing must not hold them up for ever.
        self.scope["mainspring.abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]

    def send_400_response(self, msg: str) -> None:
        self._refuse(Refusal(400, "malformed", "this is no HTTP request"))

    def _wait_for_head(self) -> None:
        self._hurry = self.loop.call_later(HEAD_SECONDS_MAX, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._hurry is not None:
            self._hurry.cancel()
            self._hurry = None

    def _too_slow(self) -> None:
        message = f"the head of the request did not arrive within {HEAD_SECONDS_MAX:g} s"
        self._refuse(Refusal(408, "slow", message))

    def _owes_an_answer(self) -> bool:
        """Whether a request that has come as a whole waits for its answer."""
        return self._asked and not self.cycle.response_complete and not self.cycle.more_body

    def _refuse(self, refusal: Refusal) -> None:
        if self.transport.is_closing():
            return
        if self._owes_an_answer():
            # The caller would take this for it. The connection ends after that answer instead.
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        status, content = status_of(refusal), encode(problem_of(refusal, ""))
        head = (
            b"HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            % (status, _REASONS[status], CONTENT_TYPE.encode(), len(content))
        )
        self.transport.write(head + content)
        self.transport.close()
