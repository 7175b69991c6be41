"""A connection that is made again, for as long as the caller has patience.

The processes of Mainspring wait for their database for ever (`store.connection.Line`). A caller
wants an answer: the first contact fails at once if there is nobody, a later break is bridged for
a while and then reported. Repeating is safe because everything asked here is repeatable: ids are
reserved before they are used, and every change is guarded by what it expects to find.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Concatenate, ParamSpec, TypeVar

import asyncpg

from mainspring.config import database_url, load_config
from mainspring.domain.errors import UnavailableError
from mainspring.store.connection import (
    GONE,
    RACED,
    Connection,
    connect,
    count_cancellations,
)
from mainspring.store.migrate import check_schema

_BROKEN = (*GONE, asyncpg.InternalClientError)
"""Beyond what says so itself: asked in the instant in which the server's goodbye arrives, asyncpg
complains about its own state."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Address:
    """Where the database is: as given, or looked up once, when it is first needed."""

    def __init__(self, url: str | None) -> None:
        self._url = url

    async def url(self) -> str:
        if self._url is None:
            self._url = await asyncio.to_thread(lambda: database_url(load_config()))
        return self._url


class Link:
    """One connection, one question at a time."""

    def __init__(
        self,
        address: Address,
        *,
        name: str,
        patience_seconds: float,
        stable_plans: bool = False,
        settings: str = "",
    ) -> None:
        self.address = address
        self._name = name
        self._patience_seconds = patience_seconds
        self._stable_plans = stable_plans
        self._settings = settings
        self._connection: Connection | None = None
        self._lock = asyncio.Lock()
        self._closed = False

    def sibling(self, purpose: str, *, stable_plans: bool = False, settings: str = "") -> Link:
        """Another connection to the same database, made when it is first asked something."""
        return Link(
            self.address,
            name=f"{self._name} {purpose}",
            patience_seconds=self._patience_seconds,
            stable_plans=stable_plans,
            settings=settings,
        )

    async def open(self) -> None:
        """Connect now; UnavailableError if nobody answers or the schema does not fit."""
        async with self._lock:
            self._closed = False
            self._connection = await reach(await self.address.url(), name=self._name)
            try:
                await check_schema(self._connection)
            except _BROKEN as error:
                raise _unreachable(error) from error

    async def ask(
        self,
        function: Callable[Concatenate[Connection, _P], Awaitable[_T]],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """`function(connection, …)`, repeated while the server is away and patience lasts."""
        async with self._lock:
            failures, since = 0, time.monotonic()
            cancellations = count_cancellations()
            while True:
                try:
                    return await function(await self._connected(), *args, **kwargs)
                except RACED:
                    pass
                except _BROKEN as error:
                    self._drop()
                    if count_cancellations() > cancellations:
                        raise asyncio.CancelledError from error
                    if time.monotonic() - since > self._patience_seconds:
                        raise UnavailableError(
                            f"the database went away: {_reason(error)}",
                            hint="try again when it is back",
                        ) from error
                except asyncio.CancelledError:
                    # The statement may be under way still; its answer must not reach the next.
                    self._drop()
                    raise
                failures += 1
                await asyncio.sleep(min(0.05 * 2**failures, 1.0) * random.uniform(0.5, 1.0))

    async def close(self) -> None:
        self._closed = True
        connection, self._connection = self._connection, None
        if connection is not None:
            await _close(connection)

    async def _connected(self) -> Connection:
        if self._closed:
            raise UnavailableError("the client is closed")
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(
                await self.address.url(), name=self._name, stable_plans=self._stable_plans
            )
            if self._settings:
                await self._connection.execute(self._settings)
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


async def reach(url: str, *, name: str) -> Connection:
    """One connection, or an error at once."""
    try:
        return await connect(url, name=name)
    except GONE as error:
        raise _unreachable(error) from error


@contextlib.asynccontextmanager
async def reached(url: str, *, name: str) -> AsyncIterator[Connection]:
    """A plain connection for what is not to be repeated, whatever the schema."""
    connection = await reach(url, name=name)
    try:
        yield connection
    except GONE as error:
        raise _unreachable(error) from error
    finally:
        await _close(connection)


async def _close(connection: Connection) -> None:
    try:
        await connection.close(timeout=2)
    except _BROKEN:
        connection.terminate()


def _unreachable(error: BaseException) -> UnavailableError:
    return UnavailableError(
        f"the database cannot be reached: {_reason(error)}",
        hint="check that it runs and that MAINSPRING_DATABASE_URL is right",
    )


def _reason(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text.strip().splitlines()[0]
