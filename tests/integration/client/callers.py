"""Applications' own transactions, by every kind of connection, behind one shape."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import psycopg
import sqlalchemy
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from mainspring import Client, SyncClient


class Caller:
    """A transaction of the application's: what is done with `connection` happens in it."""

    def __init__(
        self,
        client: Client | SyncClient,
        connection: Any,
        execute: Callable[[str], Any],
        commit: Callable[[], Any],
        rollback: Callable[[], Any],
    ) -> None:
        self.client = client
        self.connection = connection
        self._execute = execute
        self._commit = commit
        self._rollback = rollback

    async def enqueue(self, *args: Any, **options: Any) -> int:
        made: int = await self._do(
            self.client.enqueue, *args, connection=self.connection, **options
        )
        return made

    async def enqueue_many(self, *args: Any, **options: Any) -> list[int]:
        made: list[int] = await self._do(
            self.client.enqueue_many, *args, connection=self.connection, **options
        )
        return made

    async def wake(self) -> None:
        await self._do(self.client.wake)

    async def execute(self, sql: str) -> None:
        await self._do(self._execute, sql)

    async def commit(self) -> None:
        await self._do(self._commit)

    async def rollback(self) -> None:
        await self._do(self._rollback)

    async def _do(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if isinstance(self.client, SyncClient):
            return await asyncio.to_thread(function, *args, **options)
        answer = function(*args, **options)
        return await answer if isinstance(answer, Awaitable) else answer


Opener = Callable[[str], Any]


@asynccontextmanager
async def by_asyncpg(url: str) -> AsyncIterator[Caller]:
    async with Client(url) as client:
        connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(url)
        transaction = connection.transaction()
        await transaction.start()
        yield Caller(
            client, connection, connection.execute, transaction.commit, transaction.rollback
        )
        await connection.close()


@asynccontextmanager
async def by_asyncpg_pool(url: str) -> AsyncIterator[Caller]:
    async with (
        Client(url) as client,
        asyncpg.create_pool(url, min_size=1, max_size=1) as pool,
        pool.acquire() as connection,
    ):
        transaction = connection.transaction()
        await transaction.start()
        yield Caller(
            client, connection, connection.execute, transaction.commit, transaction.rollback
        )


@asynccontextmanager
async def by_psycopg_async(url: str) -> AsyncIterator[Caller]:
    async with Client(url) as client:
        # A row factory of the application's own must not confuse us.
        connection: Any = await psycopg.AsyncConnection.connect(url, row_factory=dict_row)
        yield Caller(client, connection, connection.execute, connection.commit, connection.rollback)
        await connection.close()


@asynccontextmanager
async def by_psycopg_async_cursor(url: str) -> AsyncIterator[Caller]:
    async with Client(url) as client:
        connection: Any = await psycopg.AsyncConnection.connect(url)
        cursor = connection.cursor()
        yield Caller(client, cursor, cursor.execute, connection.commit, connection.rollback)
        await connection.close()


@asynccontextmanager
async def by_psycopg(url: str) -> AsyncIterator[Caller]:
    with SyncClient(url) as client:
        connection: Any = await asyncio.to_thread(psycopg.connect, url, row_factory=dict_row)
        yield Caller(client, connection, connection.execute, connection.commit, connection.rollback)
        connection.close()


@asynccontextmanager
async def by_psycopg_cursor(url: str) -> AsyncIterator[Caller]:
    with SyncClient(url) as client:
        connection: Any = await asyncio.to_thread(psycopg.connect, url, row_factory=dict_row)
        cursor = connection.cursor()
        yield Caller(client, cursor, cursor.execute, connection.commit, connection.rollback)
        connection.close()


def sqlalchemy_url(url: str, driver: str) -> str:
    return url.replace("postgresql://", f"postgresql+{driver}://", 1)


def _async_connection(driver: str) -> Opener:
    @asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Caller]:
        engine = create_async_engine(sqlalchemy_url(url, driver))
        async with Client(url) as client, engine.connect() as connection:

            async def execute(sql: str) -> None:
                await connection.execute(sqlalchemy.text(sql))

            yield Caller(client, connection, execute, connection.commit, connection.rollback)
        await engine.dispose()

    return opened


def _async_session(driver: str) -> Opener:
    @asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Caller]:
        engine = create_async_engine(sqlalchemy_url(url, driver))
        async with Client(url) as client, AsyncSession(engine) as session:

            async def execute(sql: str) -> None:
                await session.execute(sqlalchemy.text(sql))

            yield Caller(client, session, execute, session.commit, session.rollback)
        await engine.dispose()

    return opened


@asynccontextmanager
async def by_sqlalchemy_connection(url: str) -> AsyncIterator[Caller]:
    engine = sqlalchemy.create_engine(sqlalchemy_url(url, "psycopg"))
    with SyncClient(url) as client, engine.connect() as connection:
        yield Caller(
            client,
            connection,
            lambda sql: connection.execute(sqlalchemy.text(sql)),
            connection.commit,
            connection.rollback,
        )
    engine.dispose()


@asynccontextmanager
async def by_sqlalchemy_session(url: str) -> AsyncIterator[Caller]:
    engine = sqlalchemy.create_engine(sqlalchemy_url(url, "psycopg"))
    with SyncClient(url) as client, Session(engine) as session:
        yield Caller(
            client,
            session,
            lambda sql: session.execute(sqlalchemy.text(sql)),
            session.commit,
            session.rollback,
        )
    engine.dispose()


CALLERS: dict[str, Opener] = {
    "asyncpg": by_asyncpg,
    "asyncpg pool": by_asyncpg_pool,
    "psycopg async": by_psycopg_async,
    "psycopg async cursor": by_psycopg_async_cursor,
    "psycopg": by_psycopg,
    "psycopg cursor": by_psycopg_cursor,
    "SQLAlchemy async connection, asyncpg": _async_connection("asyncpg"),
    "SQLAlchemy async connection, psycopg": _async_connection("psycopg"),
    "SQLAlchemy async session, asyncpg": _async_session("asyncpg"),
    "SQLAlchemy async session, psycopg": _async_session("psycopg"),
    "SQLAlchemy connection": by_sqlalchemy_connection,
    "SQLAlchemy session": by_sqlalchemy_session,
}
