"""Wake-ups: LISTEN and NOTIFY, which only shorten latency.

Nothing is decided by a notification, and none is sent inside a transaction that changes state:
a notifying commit holds a lock on the whole database. Each process collects what it wants to
tell and sends it after its commits, at most once per 5 ms. Whoever misses one finds the work by
polling.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Any

from mainspring.store.connection import GONE, Connection, Line, connect, fetch

READY = "mainspring_ready"
"""Payload: numbers of lanes that got ready tasks, with commas."""
STOP = "mainspring_stop"
"""Some claimed task has a stop note: renew now."""
DAGS = "mainspring_dags"
"""Somebody wants the dags to be read now, from wherever they come."""

_PAUSE_SECONDS = 0.005
_LANES_MAX = 200
"""A payload holds 8000 bytes; beyond this many lanes the rest is left to polling."""


async def notify_ready(connection: Connection, lanes: Iterable[int]) -> None:
    payload = ",".join(map(str, sorted(lanes)[:_LANES_MAX]))
    await fetch(connection, "select pg_notify($1, $2)", READY, payload)


async def notify_stop(connection: Connection) -> None:
    await fetch(connection, "select pg_notify($1, '')", STOP)


async def notify_dags(connection: Connection) -> None:
    await fetch(connection, "select pg_notify($1, '')", DAGS)


class Bell:
    """Wakes workers: sends what this process wants them to know, coalesced."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._lanes: set[int] = set()
        self._stop = False
        self._wanted = asyncio.Event()

    def ready(self, lanes: Iterable[int]) -> None:
        self._lanes.update(lanes)
        if self._lanes:
            self._wanted.set()

    def stop(self) -> None:
        self._stop = True
        self._wanted.set()

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            lanes, self._lanes = self._lanes, set()
            stop, self._stop = self._stop, False
            if lanes:
                await self._line.call(notify_ready, lanes)
            if stop:
                await self._line.call(notify_stop)
            await asyncio.sleep(_PAUSE_SECONDS)


async def listen(
    url: str, *, ready: Callable[[set[int]], None], stop: Callable[[], None], name: str
) -> None:
    """Call back at each notification, for ever; connects again when the connection breaks."""

    def heard(_connection: Any, _pid: int, channel: str, payload: object) -> None:
        if channel == READY:
            with contextlib.suppress(ValueError):
                ready({int(lane) for lane in str(payload).split(",") if lane})
        else:
            stop()

    await _listen(url, (READY, STOP), heard, name)


async def listen_for_dags(url: str, *, asked: Callable[[], None], name: str) -> None:
    """Call back whenever somebody wants the dags to be read, for ever."""
    await _listen(url, (DAGS,), lambda *_: asked(), name)


async def _listen(
    url: str, channels: Iterable[str], heard: Callable[[Any, int, str, object], None], name: str
) -> None:
    while True:
        with contextlib.suppress(*GONE):
            connection = await connect(url, name=f"{name} listener")
            try:
                for channel in channels:
                    await connection.add_listener(channel, heard)
                while not connection.is_closed():
                    # Also finds a connection that died without a word.
                    await asyncio.sleep(5)
                    await fetch(connection, "select 1")
            finally:
                connection.terminate()
        await asyncio.sleep(1)
