"""Runs made in the application's own transaction, by every kind of connection."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import asyncpg
import psycopg
import pytest
import sqlalchemy
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from mainspring import Client, ConflictError, InputError, SyncClient
from mainspring.store.connection import Connection, fetch
from mainspring.store.wakeups import READY
from tests.integration.client.asked import count, parameters, runs, someone_waits, until
from tests.integration.client.bakery import bake, day
from tests.integration.client.callers import Caller, sqlalchemy_url


async def test_a_run_exists_if_and_only_if_the_order_does(
    caller: Caller, connection: Connection
) -> None:
    await connection.execute("create table orders (id int)")
    await caller.execute("insert into orders values (1)")
    await caller.enqueue(bake, loaves=1)
    await caller.rollback()
    assert await runs(connection) == []
    assert await count(connection, "task") == await count(connection, "ready") == 0


async def test_a_commit_makes_both(caller: Caller, connection: Connection) -> None:
    await connection.execute("create table orders (id int)")
    await caller.execute("insert into orders values (1)")
    run_id = await caller.enqueue(bake, loaves=2, kind="ünï")
    assert await runs(connection) == []
    await caller.commit()
    assert await runs(connection) == [run_id]
    assert await parameters(connection, run_id) == {"loaves": 2, "kind": "ünï"}
    assert await connection.fetchval("select count(*) from orders") == 1
    assert await count(connection, "ready") == 1


async def test_everything_that_can_be_given_arrives(caller: Caller, connection: Connection) -> None:
    at = datetime(2099, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    large = "x" * 300_000
    run_id = await caller.enqueue(
        bake, run_at=at, idempotency_key="100 %s $1", parameters={"loaves": 1, "kind": large}
    )
    graph = await caller.enqueue(day, loaves=7)
    await caller.commit()
    assert await parameters(connection, run_id) == {"loaves": 1, "kind": large}
    rows = await fetch(connection, "select due_at from mainspring.run where id = $1", run_id)
    assert rows[0]["due_at"] == at
    assert (await fetch(connection, "select key from mainspring.idempotency"))[0][
        "key"
    ] == "100 %s $1"
    tasks = await fetch(connection, "select id from mainspring.task where run_id = $1", graph)
    assert sorted(row["id"] for row in tasks) == [graph, graph + 1]


async def test_many_in_one_transaction(caller: Caller, connection: Connection) -> None:
    items = [{"loaves": number} for number in range(2500)]
    ids = await caller.enqueue_many(bake, items)
    assert await caller.enqueue_many(bake, []) == []
    await caller.commit()
    assert await runs(connection) == sorted(ids)
    assert len(set(ids)) == 2500
    assert await parameters(connection, ids[2499]) == {"loaves": 2499, "kind": "rye"}


async def test_a_key_known_before_gives_the_first_run(
    caller: Caller, client: Client, connection: Connection
) -> None:
    first = await client.enqueue(bake, loaves=1, idempotency_key="k")
    assert await caller.enqueue(bake, loaves=1, idempotency_key="k") == first
    with pytest.raises(ConflictError):
        await caller.enqueue(bake, loaves=2, idempotency_key="k")
    other = await caller.enqueue(bake, loaves=2, idempotency_key="l")
    assert await caller.enqueue(bake, loaves=2, idempotency_key="l") == other
    await caller.commit()
    assert await runs(connection) == sorted([first, other])


async def test_a_conflict_among_many_undoes_them_and_leaves_the_rest(
    caller: Caller, client: Client, connection: Connection
) -> None:
    await client.enqueue(bake, loaves=1, idempotency_key="taken")
    before = await caller.enqueue(bake, loaves=5)
    with pytest.raises(ConflictError):
        await caller.enqueue_many(
            bake, [{"loaves": 2}, {"loaves": 3}], idempotency_keys=["free", "taken"]
        )
    ids = await caller.enqueue_many(
        bake, [{"loaves": 1}, {"loaves": 3}], idempotency_keys=["taken", "free"]
    )
    await caller.commit()
    assert await runs(connection) == sorted([*ids, before])


async def test_one_waits_for_the_transaction_that_holds_its_key(
    caller: Caller, client: Client, connection: Connection
) -> None:
    first = await caller.enqueue(bake, loaves=1, idempotency_key="k")
    waiting = asyncio.create_task(client.enqueue(bake, loaves=1, idempotency_key="k"))
    # Others do not wait for it, with keys or without.
    await client.enqueue(bake, loaves=2, idempotency_key="another")
    await client.enqueue(bake, loaves=3)
    assert not waiting.done()
    await caller.commit()
    assert await waiting == first


async def test_after_a_rollback_the_one_that_waited_makes_the_run(
    caller: Caller, client: Client, connection: Connection
) -> None:
    first = await caller.enqueue(bake, loaves=1, idempotency_key="k")
    waiting = asyncio.create_task(client.enqueue(bake, loaves=1, idempotency_key="k"))
    await until(lambda: someone_waits(connection))
    await caller.rollback()
    assert await waiting != first
    assert await runs(connection) == [await waiting]


async def test_our_caller_waits_for_another_transaction_with_its_key(
    caller: Caller, client: Client, connection: Connection, database_url: str
) -> None:
    other: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(database_url)
    transaction = other.transaction()
    await transaction.start()
    first = await client.enqueue(bake, loaves=1, idempotency_key="k", connection=other)
    waiting = asyncio.create_task(caller.enqueue(bake, loaves=1, idempotency_key="k"))
    await until(lambda: someone_waits(connection))
    await transaction.commit()
    assert await waiting == first
    await caller.commit()
    assert await runs(connection) == [first]
    await other.close()


async def test_mistakes_leave_the_transaction_as_it_was(
    caller: Caller, connection: Connection
) -> None:
    with pytest.raises(InputError):
        await caller.enqueue(bake, loaves="many")
    with pytest.raises(InputError):
        await caller.enqueue_many(bake, [{"loaves": 1}, {"loaves": 2, "knead": True}])
    run_id = await caller.enqueue(bake, loaves=1)
    await caller.commit()
    assert await runs(connection) == [run_id]


async def test_nobody_is_told_before_wake(
    caller: Caller, connection: Connection, database_url: str
) -> None:
    heard: asyncio.Queue[object] = asyncio.Queue()
    ear: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(database_url)
    await ear.add_listener(READY, lambda _c, _p, _ch, payload: heard.put_nowait(payload))
    await caller.enqueue(bake, loaves=1)
    await caller.commit()
    await fetch(connection, "select pg_notify($1, 'first')", READY)
    assert await heard.get() == "first"
    await caller.wake()
    [row] = await fetch(connection, "select lane from mainspring.task")
    assert await heard.get() == str(row["lane"])
    await ear.close()


async def test_settings_of_the_callers_session_are_left_alone(database_url: str) -> None:
    """Also with a search path in which nothing of ours, and nothing of theirs, is found."""
    connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(
        database_url, server_settings={"search_path": "elsewhere", "statement_timeout": "70s"}
    )
    settings = "select name, setting from pg_settings order by name"
    async with Client(database_url) as client:
        before = await connection.fetch(settings)
        async with connection.transaction():
            await client.enqueue(bake, loaves=1, connection=connection)
        assert await connection.fetch(settings) == before
    await connection.close()


async def test_cursors_and_row_factories_of_the_caller_are_left_alone(database_url: str) -> None:
    with (
        SyncClient(database_url) as client,
        psycopg.connect(database_url) as connection,
        connection.cursor(row_factory=dict_row) as cursor,
    ):
        cursor.execute("select 1 as one")
        client.enqueue(bake, loaves=1, connection=cursor)
        assert cursor.fetchall() == [{"one": 1}]


async def test_a_lone_run_needs_no_transaction_and_many_do(
    database_url: str, connection: Connection
) -> None:
    bare: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(database_url)
    async with Client(database_url) as client:
        run_id = await client.enqueue(bake, loaves=1, connection=bare)
        with pytest.raises(InputError, match="in no transaction"):
            await client.enqueue_many(bake, [{"loaves": 1}] * 2, connection=bare)
    with (
        SyncClient(database_url) as sync,
        psycopg.connect(database_url, autocommit=True) as automatic,
    ):
        other = sync.enqueue(bake, loaves=1, connection=automatic)
        with pytest.raises(InputError, match="in no transaction"):
            sync.enqueue_many(bake, [{"loaves": 1}] * 2, connection=automatic)
        with automatic.transaction():
            ids = sync.enqueue_many(bake, [{"loaves": 1}] * 2, connection=automatic)
    assert await runs(connection) == sorted([run_id, other, *ids])
    await bare.close()


async def test_synchronous_code_inside_of_an_async_session(
    database_url: str, connection: Connection
) -> None:
    engine = create_async_engine(sqlalchemy_url(database_url, "asyncpg"))
    with SyncClient(database_url) as client:

        def handler(session: Session) -> int:
            return client.enqueue(bake, loaves=1, connection=session)

        async with AsyncSession(engine) as session, session.begin():
            run_id = await session.run_sync(handler)
    assert await runs(connection) == [run_id]
    await engine.dispose()


async def test_what_is_no_connection_is_refused_with_words(database_url: str) -> None:
    engine = sqlalchemy.create_engine(sqlalchemy_url(database_url, "psycopg"))
    lite = sqlalchemy.create_engine("sqlite://").connect()
    pool = asyncpg.create_pool(database_url, min_size=0)
    sync_connection = psycopg.connect(database_url)
    own: Any = await asyncpg.connect(database_url)
    async with Client(database_url) as client:
        for wrong, words in [
            ("postgresql://", "`builtins.str`"),
            (engine, "cannot be used"),
            (pool, "cannot be used"),
            (sync_connection, "use `SyncClient`|synchronous"),
            (engine.connect(), "synchronous"),
            (Session(engine), "synchronous"),
        ]:
            with pytest.raises(InputError, match=words):
                await client.enqueue(bake, loaves=1, connection=wrong)
    with SyncClient(database_url) as sync:
        with pytest.raises(InputError, match="asynchronous"):
            sync.enqueue(bake, loaves=1, connection=own)
        with pytest.raises(InputError, match=r"sqlite\+pysqlite"):
            sync.enqueue(bake, loaves=1, connection=lite)
    await own.close()
    sync_connection.close()
    engine.dispose()


async def test_a_connection_to_another_database_is_noticed(
    database_url: str, connection: Connection
) -> None:
    """It would make nothing, and the application would believe that it had."""
    async with Client(database_url) as client:
        await client.enqueue(bake, loaves=1)
        known = client.enqueuer._registry._known
        for digest, version in known.items():
            known[digest] = type(version)(version.definition, 10_000, version.snapshot_id)
        async with connection.transaction():
            with pytest.raises(InputError, match="another database"):
                await client.enqueue(bake, loaves=1, connection=connection)


async def test_a_moment_in_any_zone_is_the_same_moment(
    caller: Caller, connection: Connection
) -> None:
    at = datetime(2099, 6, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    run_id = await caller.enqueue(bake, loaves=1, run_at=at)
    await caller.commit()
    [row] = await fetch(connection, "select due_at from mainspring.run where id = $1", run_id)
    assert row["due_at"] == at
