"""Users' own connections: one statement of ours in their transaction.

    asyncpg      Connection, and those that a pool lends
    psycopg 3    Connection, AsyncConnection, and their cursors
    SQLAlchemy   Connection, Session, AsyncConnection, AsyncSession; over psycopg or asyncpg

A `Door` puts a question to such a connection. Which one fits is seen by the object's class, so
that none of these libraries is imported unless the application did. A door opens cursors of its
own: neither row factories nor open results of the caller's are touched. It neither commits nor
changes a setting.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from mainspring.domain.errors import InputError
from mainspring.store.runs import Created, Creating, Question

if TYPE_CHECKING:
    import asyncpg
    import psycopg
    import sqlalchemy
    import sqlalchemy.ext.asyncio

Rows = Sequence[Iterable[Any]]

_LIBRARIES = ("asyncpg", "psycopg", "sqlalchemy")
_DRIVERS = ("psycopg", "asyncpg")


class AsyncDoor(Protocol):
    async def ask(self, question: Question) -> Rows: ...

    @property
    def in_transaction(self) -> bool: ...


class SyncDoor(Protocol):
    def ask(self, question: Question) -> Rows: ...

    @property
    def in_transaction(self) -> bool: ...


async def carry_out(door: AsyncDoor, steps: Creating) -> Created:
    try:
        question = next(steps)
        while True:
            question = steps.send(await door.ask(question))
    except StopIteration as end:
        return cast(Created, end.value)
    finally:
        steps.close()


def carry_out_sync(door: SyncDoor, steps: Creating) -> Created:
    try:
        question = next(steps)
        while True:
            question = steps.send(door.ask(question))
    except StopIteration as end:
        return cast(Created, end.value)
    finally:
        steps.close()


def async_door(connection: object) -> AsyncDoor:
    match _library(connection):
        case "asyncpg" if hasattr(connection, "is_in_transaction"):
            return _Asyncpg(cast(Any, connection))
        case "psycopg":
            return _PsycopgAsync(_psycopg_connection(connection, asynchronous=True))
        case "sqlalchemy":
            return _SQLAlchemyAsync(_sqlalchemy_connection(connection, asynchronous=True))
    raise _unknown(connection)


def sync_door(connection: object) -> SyncDoor:
    match _library(connection):
        case "asyncpg":
            raise _wrong_color(connection, asynchronous=False)
        case "psycopg":
            return _Psycopg(_psycopg_connection(connection, asynchronous=False))
        case "sqlalchemy":
            return _SQLAlchemy(_sqlalchemy_connection(connection, asynchronous=False))
    raise _unknown(connection)


def check_transaction(door: AsyncDoor | SyncDoor) -> None:
    """For what takes more than one statement."""
    if not door.in_transaction:
        raise InputError(
            "the given connection is in no transaction: of several runs only some might be made",
            hint="begin one, or leave `connection` away",
        )


def _library(connection: object) -> str | None:
    for kind in type(connection).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in _LIBRARIES:
            return library
    return None


def _unknown(connection: object) -> InputError:
    kind = type(connection)
    return InputError(
        f"`connection` is a `{kind.__module__}.{kind.__qualname__}`, which cannot be used",
        hint="give a connection of asyncpg, psycopg 3 or SQLAlchemy, or a session of SQLAlchemy;"
        " no pool and no engine",
    )


def _wrong_color(connection: object, *, asynchronous: bool) -> InputError:
    kind = type(connection)
    name = f"`{kind.__module__.partition('.')[0]}.{kind.__qualname__}`"
    if asynchronous:
        return InputError(
            f"{name} is a synchronous connection, which would stop the event loop",
            hint="use `SyncClient`, or an asynchronous connection",
        )
    return InputError(f"{name} is an asynchronous connection", hint="use `Client`, and await it")


# --- asyncpg -------------------------------------------------------------------------------------


class _Asyncpg:
    def __init__(self, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        self._connection = connection

    @property
    def in_transaction(self) -> bool:
        return self._connection.is_in_transaction()

    async def ask(self, question: Question) -> Rows:
        rows: Rows = await self._connection.fetch(question.sql, *question.arguments)
        return rows


# --- psycopg -------------------------------------------------------------------------------------


def _psycopg_connection(given: Any, *, asynchronous: bool) -> Any:
    import psycopg

    connection = (
        given.connection if isinstance(given, (psycopg.Cursor, psycopg.AsyncCursor)) else given
    )
    is_async = isinstance(connection, psycopg.AsyncConnection)
    if not is_async and not isinstance(connection, psycopg.Connection):
        raise _unknown(given)
    if is_async != asynchronous:
        raise _wrong_color(given, asynchronous=asynchronous)
    return connection


def _psycopg_in_transaction(connection: Any) -> bool:
    from psycopg.pq import TransactionStatus

    # Without autocommit the first statement begins one.
    return not connection.autocommit or connection.info.transaction_status != TransactionStatus.IDLE


class _Psycopg:
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    @property
    def in_transaction(self) -> bool:
        return _psycopg_in_transaction(self._connection)

    def ask(self, question: Question) -> Rows:
        from psycopg import Cursor
        from psycopg.rows import tuple_row

        with Cursor(self._connection, row_factory=tuple_row) as cursor:
            cursor.execute(_pyformat(question.sql).encode(), _by_name(question))
            return cursor.fetchall() if cursor.description else []


class _PsycopgAsync:
    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    @property
    def in_transaction(self) -> bool:
        return _psycopg_in_transaction(self._connection)

    async def ask(self, question: Question) -> Rows:
        from psycopg import AsyncCursor
        from psycopg.rows import tuple_row

        async with AsyncCursor(self._connection, row_factory=tuple_row) as cursor:
            await cursor.execute(_pyformat(question.sql).encode(), _by_name(question))
            return await cursor.fetchall() if cursor.description else []


# --- SQLAlchemy ----------------------------------------------------------------------------------


def _sqlalchemy_connection(given: Any, *, asynchronous: bool) -> Any:
    """A session or a connection, of the right kind and over a driver that we know."""
    if not hasattr(given, "exec_driver_sql") and not callable(getattr(given, "connection", None)):
        raise _unknown(given)
    is_async = any(
        kind.__module__.startswith("sqlalchemy.ext.asyncio") for kind in type(given).__mro__
    )
    if is_async != asynchronous:
        raise _wrong_color(given, asynchronous=asynchronous)
    return given


class _SQLAlchemy:
    # SQLAlchemy begins a transaction by itself.
    in_transaction = True

    def __init__(self, given: sqlalchemy.Connection | sqlalchemy.orm.Session) -> None:
        self._given: Any = given

    def ask(self, question: Question) -> Rows:
        given = self._given
        connection = given if hasattr(given, "exec_driver_sql") else given.connection()
        result = connection.exec_driver_sql(*_for_driver(connection.dialect, question))
        return result.all() if result.returns_rows else []


class _SQLAlchemyAsync:
    in_transaction = True

    def __init__(
        self, given: sqlalchemy.ext.asyncio.AsyncConnection | sqlalchemy.ext.asyncio.AsyncSession
    ) -> None:
        self._given: Any = given

    async def ask(self, question: Question) -> Rows:
        given = self._given
        connection = given if hasattr(given, "exec_driver_sql") else await given.connection()
        result = await connection.exec_driver_sql(*_for_driver(connection.dialect, question))
        return result.all() if result.returns_rows else []


def _for_driver(dialect: sqlalchemy.Dialect, question: Question) -> tuple[str, Any]:
    if dialect.driver not in _DRIVERS:
        raise InputError(
            f"SQLAlchemy uses the driver `{dialect.name}+{dialect.driver}` here, which cannot be"
            " used",
            hint="use `postgresql+psycopg` or `postgresql+asyncpg`",
        )
    if dialect.driver == "asyncpg":
        return question.sql, question.arguments
    return _pyformat(question.sql), _by_name(question)


# --- the other way of writing parameters ---------------------------------------------------------

_COMMENT = re.compile(r"\s*--[^\n]*")
_NUMBERED = re.compile(r"\$(\d+)")


@functools.lru_cache(maxsize=64)
def _pyformat(sql: str) -> str:
    """`$1` as `%(p1)s`. Comments go first: they name parameters, too."""
    return _NUMBERED.sub(r"%(p\1)s", _COMMENT.sub("", sql).replace("%", "%%"))


def _by_name(question: Question) -> dict[str, Any]:
    return {f"p{number}": value for number, value in enumerate(question.arguments, 1)}
