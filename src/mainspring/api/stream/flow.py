"""The answer that goes on: from a listener's queue to its connection, until one of them ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from starlette.types import Receive, Scope, Send

from mainspring.api.answers import Flow
from mainspring.api.stream.hub import Hub
from mainspring.api.stream.listeners import Listener

BEAT_SECONDS = 15.0
"""Proxies give up connections on which nothing is said for a minute or so. It is an event and no
comment, so that browsers tell their page of it: it cannot see otherwise that it is cut off."""
STUCK_SECONDS = 0.5
"""So long after its end is a connection cut off on which nothing can be sent."""
BEAT = b"event: beat\ndata: {}\n\n"

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    # Proxies that would wait for more before they hand anything on.
    (b"x-accel-buffering", b"no"),
]


class EventFlow(Flow):
    def __init__(self, hub: Hub, listener: Listener, seconds: float) -> None:
        self._hub = hub
        self._listener = listener
        self._seconds = seconds

    async def go(self, scope: Scope, receive: Receive, send: Send) -> None:
        writing = asyncio.create_task(self._write(scope, send))
        leaving = asyncio.create_task(_until_gone(receive))
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not writing.done():
                # Nobody is there any more: what is being sent returns at once.
                self._listener.end(b"")
            await writing
        finally:
            self._hub.leave(self._listener)
            writing.cancel()
            leaving.cancel()
            await asyncio.gather(writing, leaving, return_exceptions=True)

    async def _write(self, scope: Scope, send: Send) -> None:
        until = time.monotonic() + self._seconds
        await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS]})
        if scope["method"] == "HEAD":
            self._listener.end(b"")
        cutting = asyncio.create_task(self._cut_when_stuck(scope.get("mainspring.abort")))
        try:
            while True:
                if time.monotonic() >= until:
                    self._hub.end(self._listener, "its time is over")
                if event := self._listener.take():
                    await send({"type": "http.response.body", "body": event, "more_body": True})
                elif self._listener.ended:
                    break
                else:
                    await self._wait(send, until)
            await send({"type": "http.response.body", "body": b""})
        finally:
            cutting.cancel()

    async def _wait(self, send: Send, until: float) -> None:
        left = max(until - time.monotonic(), 0.0)
        try:
            async with asyncio.timeout(min(BEAT_SECONDS, left)):
                await self._listener.woken.wait()
        except TimeoutError:
            if left > BEAT_SECONDS:
                await send({"type": "http.response.body", "body": BEAT, "more_body": True})

    async def _cut_when_stuck(self, abort: Callable[[], None] | None) -> None:
        """A connection that takes nothing must not outlive its token, nor hold up the server."""
        await self._listener.over.wait()
        await asyncio.sleep(STUCK_SECONDS)
        if abort is not None:
            abort()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
