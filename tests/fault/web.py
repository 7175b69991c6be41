"""A bad network between servers and those who speak HTTP to them: workers from afar, and callers.

The same weather as between processes and the database, see `proxy.py`; and as any load balancer
would, it takes each new connection to one of the servers that listen. A request that is spoiled is
lost on its way there, or does its work and **its answer is thrown away**.

Requests are known by the last word of their path: `claims`, `ends`, `beats`, `jobs`, …
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from tests.fault.proxy import READ_BYTES, FaultLog, Link, Proxy, Spoil
from tests.fault.wire import Exchange

Addresses = Callable[[], Sequence[tuple[str, int]]]
"""Where servers listen at the moment."""


class WebProxy(Proxy):
    def __init__(self, servers: Addresses, log: FaultLog, *, name: str, random: Random) -> None:
        super().__init__(Path(), log, name=name, random=random)
        self._servers = servers

    def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Link:
        return WebLink(self, reader, writer)

    @property
    def web_url(self) -> str:
        host, port = self.address
        return f"http://{host}:{port}"

    def servers(self) -> list[tuple[str, int]]:
        """Another one first each time."""
        there = list(self._servers())
        self._random.shuffle(there)
        return there


class WebLink(Link):
    """One connection, with one request at a time on it."""

    def __init__(
        self, proxy: WebProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        super().__init__(proxy, Path(), reader, writer)
        self._web = proxy
        self._requests = Requests()
        self._lost: tuple[Spoil, Exchange] | None = None
        """The answer to this request is to be thrown away."""

    async def _introduce(self) -> asyncio.StreamReader | None:
        await self._web.flowing(self)
        for host, port in self._web.servers():
            try:
                from_server, self._to_server = await asyncio.open_connection(host, port)
            except OSError:
                continue
            return from_server
        raise ConnectionRefusedError("no server listens")

    async def _upward(self) -> None:
        assert self._to_server is not None
        while data := await self._from_client.read(READ_BYTES):
            for name in self._requests.feed(data):
                self.name = name
                exchange = Exchange(commits=True, wrote=(name,))
                spoil = self._web.spoil_for(self, exchange)
                if spoil is not None and spoil.trick == "lost_request":
                    self._web.spoiled(spoil, self, exchange)
                    self.reset()
                    return
                self._lost = None if spoil is None else (spoil, exchange)
            await self._web.flowing(self)
            await self._web.pace(self, len(data))
            self._to_server.write(data)
            await self._to_server.drain()

    async def _downward(self, from_server: asyncio.StreamReader) -> None:
        while data := await from_server.read(READ_BYTES):
            await self._web.flowing(self)
            await self._web.pace(self, len(data))
            if self._lost is not None:
                self._web.spoiled(*self._lost_of())
                self.reset()
                return
            self._to_client.write(data)
            await self._to_client.drain()

    def _lost_of(self) -> tuple[Spoil, Link, Exchange]:
        assert self._lost is not None
        spoil, exchange = self._lost
        return spoil, self, exchange


class Requests:
    """Finds where requests begin in what a client says."""

    def __init__(self) -> None:
        self._head = b""
        self._body_left = 0

    def feed(self, data: bytes) -> list[str]:
        """The names of the requests whose heads are complete with that."""
        found = []
        while data:
            if self._body_left:
                taken = min(self._body_left, len(data))
                self._body_left -= taken
                data = data[taken:]
                continue
            head, ended, data = (self._head + data).partition(b"\r\n\r\n")
            if not ended:
                self._head = head
                break
            self._head = b""
            first, *lines = head.decode("latin-1").split("\r\n")
            found.append(first.split(" ")[1].partition("?")[0].rpartition("/")[2])
            for line in lines:
                name, _, value = line.partition(":")
                if name.lower() == "content-length":
                    self._body_left = int(value)
        return found
