"""What handlers work with: connections for reading, connections for writing, the client.

Lists and documents are read over a few connections that cannot write. Changes go through the same
`Client` that applications and the command line use. That makes at most eleven connections, one of
them for all who listen to the stream, however many callers there are: who finds none free waits for
one. The gateway has seven of its own, once there is a remote worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from mainspring.api.watching import Watcher
from mainspring.client.link import Address, Link
from mainspring.domain.errors import UnavailableError
from mainspring.logs.places import Places
from mainspring.logs.read import LogReader
from mainspring.store.changes import void_tokens
from mainspring.store.connection import Connection
from mainspring.store.logs import find_grown_logs
from mainspring.store.reading import find_ended_runs

if TYPE_CHECKING:
    from mainspring.api.gateway.gateway import Gateway
    from mainspring.api.metrics import Metrics
    from mainspring.api.stream.hub import Hub
    from mainspring.api.whole import WholeText
    from mainspring.client import Client

_P = ParamSpec("_P")
_T = TypeVar("_T")

READERS = 4
WRITERS = 2
PATIENCE_SECONDS = 5.0
"""How long a caller waits for a database that is away, or for a connection that is free."""
_COMMAND_PATIENCE_SECONDS = 30.0
# To plan a list of runs takes five times as long as to read it, and the plan is always the same.
_READ_ONLY = """
set default_transaction_read_only = on; set statement_timeout = '10s'; set jit = off;
set plan_cache_mode = force_generic_plan; set enable_seqscan = off;
"""
_BOUNDED = "set statement_timeout = '10s'"


class Links:
    """A few connections, each made when it is needed; the one used last is used first."""

    def __init__(self, address: Address, count: int, *, name: str, settings: str) -> None:
        self._free: asyncio.LifoQueue[Link] = asyncio.LifoQueue()
        self._all = [
            Link(address, name=name, patience_seconds=PATIENCE_SECONDS, settings=settings)
            for _ in range(count)
        ]
        for link in self._all:
            self._free.put_nowait(link)

    async def ask(
        self,
        function: Callable[Concatenate[Connection, _P], Awaitable[_T]],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """`function(connection, …)`, which has to be repeatable."""
        if self._free.empty():
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    link = await self._free.get()
            except TimeoutError:
                raise UnavailableError(
                    "the server has too much to do", hint="try again in a while"
                ) from None
        else:
            link = self._free.get_nowait()
        try:
            return await link.ask(function, *args, **kwargs)
        finally:
            self._free.put_nowait(link)

    async def close(self) -> None:
        for link in self._all:
            await link.close()


class Services:
    """For one event loop."""

    def __init__(self, url: str, *, home: Path, secure: bool = False) -> None:
        self.secure = secure
        """Whether callers come over TLS, here or at the proxy."""
        address = Address(url)
        self._readers = Links(address, READERS, name="server reader", settings=_READ_ONLY)
        self._writers = Links(address, WRITERS, name="server writer", settings=_BOUNDED)
        self.read = self._readers.ask
        """For what only looks."""
        self.write = self._writers.ask
        """For short changes that no method of the client makes."""
        self._url, self._home = url, home
        self.places = Places(home)
        """Where objects are."""
        self.unpacking = asyncio.Semaphore(1)
        """Held by who has a whole snapshot in memory."""
        self.logs = LogReader(self.read, self.places)
        self.ends = Watcher(lambda runs: self.read(find_ended_runs, runs))
        """Of runs."""
        self.grown = Watcher(lambda places: self.read(find_grown_logs, places))
        """Logs, by task, term and byte."""
        self.stopping = False
        """Whether nobody should send new callers here."""

    # What follows is made when it is first needed: a command beside its database needs none of it.

    @cached_property
    def client(self) -> Client:
        from mainspring.client import Client

        return Client(self._url, name="server", patience_seconds=PATIENCE_SECONDS)

    @cached_property
    def gateway(self) -> Gateway:
        """For remote workers."""
        from mainspring.api.gateway.gateway import Gateway

        return Gateway(self._url, self.places)

    @cached_property
    def hub(self) -> Hub:
        """For those who listen."""
        from mainspring.api.stream.hub import Hub

        return Hub(
            self._url,
            home=self._home,
            metrics=lambda: self.metrics,
            void_tokens=self._void_tokens,
        )

    @cached_property
    def metrics(self) -> Metrics:
        from mainspring.api.metrics import Metrics

        return Metrics()

    @cached_property
    def whole(self) -> WholeText:
        from mainspring.api.whole import WholeText, read_whole

        return WholeText(lambda: self.read(read_whole))

    async def open(self) -> None:
        await self.client.__aenter__()

    def release(self) -> None:
        """Let nobody wait or listen any more: the server is stopping."""
        self.stopping = True
        self.ends.release()
        self.grown.release()
        if "hub" in vars(self):
            self.hub.stop()

    async def _void_tokens(self, ids: Sequence[int]) -> Sequence[int]:
        return await self.read(void_tokens, ids)

    async def close(self) -> None:
        await self.ends.close()
        await self.grown.close()
        if "hub" in vars(self):
            await self.hub.close()
        await self.client.__aexit__(None, None, None)
        await self._readers.close()
        await self._writers.close()


class LocalServices(Services):
    """For one command beside its database: one connection, without the limits of a server."""

    def __init__(self, url: str, *, home: Path) -> None:
        super().__init__(url, home=home)
        self._link = Link(Address(url), name="command", patience_seconds=_COMMAND_PATIENCE_SECONDS)
        self.read = self._link.ask
        self.write = self._link.ask
        self.logs = LogReader(self.read, self.places)

    @cached_property
    def client(self) -> Client:
        from mainspring.client.client import client_over

        return client_over(self._link)

    async def open(self) -> None:
        try:
            await self._link.open()
        except BaseException:
            await self._link.close()
            raise

    async def close(self) -> None:
        await self.ends.close()
        await self.grown.close()
        if "client" in vars(self):
            await self.client.__aexit__(None, None, None)
        await self._link.close()
