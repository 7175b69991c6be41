"""Connections that come back.

A `Line` is one connection with one statement in flight. When the server goes away it connects
again, for ever, with a growing pause, and repeats what was asked. That is safe because every
statement given to it is repeatable: ids and claims are made by the caller, and every change is
guarded by what it expects to find. So a COMMIT whose answer was lost is simply asked again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import asyncpg

from mainspring import faults
from mainspring.domain.errors import UnavailableError

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_P = ParamSpec("_P")
_T = TypeVar("_T")


GONE = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    # A statement that was sent just as the server's farewell came.
    asyncpg.InternalClientError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    # A standby: in a failover it may answer before it is promoted, and it may not be the one.
    asyncpg.ReadOnlySQLTransactionError,
    ConnectionError,
    TimeoutError,
    OSError,
)
"""The server, or the way to it, is gone: connect again."""

RACED = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError, asyncpg.LockNotAvailableError)
"""Lost a race that the server settled: ask again."""

PATIENCE_SECONDS = 60.0

# The queue tables look empty or huge at random, and a plan made at the wrong moment would stay.
# With these the hot statements keep the plans that tests/plans reads.
_STABLE_PLANS = """
set plan_cache_mode = force_generic_plan; set jit = off; set enable_seqscan = off;
set enable_hashjoin = off; set enable_mergejoin = off;
"""


async def connect(
    url: str, *, name: str, stable_plans: bool = False, patience_seconds: float = PATIENCE_SECONDS
) -> Connection:
    """One connection, or an error that says what to do."""
    try:
        connection: Connection = await asyncpg.connect(
            url,
            timeout=min(10.0, patience_seconds),
            command_timeout=patience_seconds,
            server_settings={"application_name": f"mainspring {name}"},
        )
    except (asyncpg.InvalidCatalogNameError, asyncpg.InvalidAuthorizationSpecificationError) as e:
        raise UnavailableError(
            f"the database refuses the connection: {e}",
            hint="check MAINSPRING_DATABASE_URL",
        ) from e
    except asyncpg.exceptions.ClientConfigurationError as e:
        raise UnavailableError(
            f"`MAINSPRING_DATABASE_URL` cannot be understood: {e}",
            hint="it looks like postgresql://user:password@host:5432/database",
        ) from e
    if stable_plans:
        await connection.execute(_STABLE_PLANS)
    return connection


class Line:
    """One connection, made again when it breaks.

    `greet` is asked on each new connection before any statement is given to it. A server whose
    history forked has broken all connections, so what it looks at cannot be missed. A connection
    on which no answer comes for `patience_seconds` is given up.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str,
        stable_plans: bool = False,
        greet: Callable[[Connection], Awaitable[object]] | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._url = url
        self._name = name
        self._stable_plans = stable_plans
        self._greet = greet
        self._patience_seconds = patience_seconds
        self._connection: Connection | None = None
        self._lock = asyncio.Lock()
        self.broken = 0
        """How often the connection was lost; who measures connected time watches it."""

    async def call(
        self,
        function: Callable[Concatenate[Connection, _P], Awaitable[_T]],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """`function(connection, …)`, repeated until the server has answered."""
        async with self._lock:
            failures, cancellations = 0, count_cancellations()
            while True:
                try:
                    connection = await self._connected()
                    return await function(connection, *args, **kwargs)
                except RACED:
                    failures += 1
                except GONE as error:
                    self._drop()
                    if count_cancellations() > cancellations:
                        raise asyncio.CancelledError from error
                    if failures == 0:
                        _log().warning("database out of reach", line=self._name, error=repr(error))
                    failures += 1
                except asyncio.CancelledError:
                    # The statement may be under way still; its answer must not reach the next.
                    self._drop()
                    raise
                await asyncio.sleep(min(0.05 * 2**failures, 2.0) * random.uniform(0.5, 1.0))

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            try:
                await connection.close(timeout=2)
            except GONE:
                connection.terminate()

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect()
        return self._connection

    async def _connect(self) -> Connection:
        connection = await connect(
            self._url,
            name=self._name,
            stable_plans=self._stable_plans,
            patience_seconds=self._patience_seconds,
        )
        if self._greet is not None:
            try:
                await self._greet(connection)
            except BaseException:
                connection.terminate()
                raise
        return connection

    def _drop(self) -> None:
        self.broken += 1
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


def count_cancellations() -> int:
    """How often the current task was asked to end.

    A transaction that is left because of that on a broken connection complains about the
    connection instead. Who repeats what broke compares this number, or would never end.
    """
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


async def fetch(connection: Connection, sql: str, *args: Any) -> list[asyncpg.Record]:
    rows: list[asyncpg.Record] = await connection.fetch(sql, *args)
    faults.after_statement(sql)
    return rows


def _log() -> Any:
    # Commands, which log nothing, are not kept waiting for it.
    import structlog

    return structlog.get_logger(__name__)
