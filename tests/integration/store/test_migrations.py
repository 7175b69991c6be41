"""Migrations: forward, once, one at a time, whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from mainspring.domain.errors import UnavailableError
from mainspring.store import migrate as module
from mainspring.store.connection import Connection, connect, fetch
from mainspring.store.migrate import (
    CODE_LEVEL,
    Migration,
    check_schema,
    migrate,
    migrations,
    pending,
)
from tests.conftest import Server
from tests.support.factory import dag_of, run_state, start_dag

BEFORE = [str(migration) for migration in migrations()]
EVERYTHING = [*BEFORE, "views", "guards"]


@pytest.fixture
async def empty_url(server: Server) -> AsyncIterator[str]:
    """A database without a schema of ours."""
    name = f"empty_{uuid4().hex}"
    admin = await connect(server.url("mainspring"), name="test")
    await admin.execute(f"create database {name}")
    yield server.url(name)
    await admin.execute(f"drop database {name}")
    await admin.close()


@pytest.fixture
async def empty(empty_url: str) -> AsyncIterator[Connection]:
    connection = await connect(empty_url, name="test")
    yield connection
    await connection.close()


def extra(
    text: str, *, number: int = CODE_LEVEL + 1, half: module.Half = "before", min_code: int = 0
) -> Migration:
    return Migration(number, half, "extra", text, min_code)


def add(monkeypatch: pytest.MonkeyPatch, *more: Migration) -> None:
    known = [*migrations(), *more]
    monkeypatch.setattr(module, "migrations", lambda: known)


async def tables(connection: Connection) -> list[str]:
    rows = await fetch(
        connection, "select tablename from pg_tables where schemaname = 'mainspring' order by 1"
    )
    return [row["tablename"] for row in rows]


async def test_an_empty_database_gets_everything_in_order(empty: Connection) -> None:
    assert await pending(empty) == BEFORE
    assert await migrate(empty) == EVERYTHING
    assert await pending(empty) == []
    await check_schema(empty)


async def test_applying_again_does_nothing(empty: Connection) -> None:
    await migrate(empty)
    at = await fetch(empty, "select * from mainspring.migration")
    assert await migrate(empty) == []
    assert await fetch(empty, "select * from mainspring.migration") == at


async def test_two_at_once_apply_each_migration_once(empty_url: str) -> None:
    connections = [await connect(empty_url, name="test") for _ in range(4)]
    applied = await asyncio.gather(*(migrate(connection) for connection in connections))
    assert sorted(name for names in applied for name in names) == sorted(EVERYTHING)
    for connection in connections:
        await check_schema(connection)
        await connection.close()


async def test_a_migration_waits_for_the_one_under_way(empty_url: str) -> None:
    first, second = [await connect(empty_url, name="test") for _ in range(2)]
    transaction = first.transaction()
    await transaction.start()
    await migrate(first)
    waiting = asyncio.create_task(migrate(second))
    await _until_waiting(first)
    assert not waiting.done()
    await transaction.commit()
    assert await waiting == []
    for connection in (first, second):
        await connection.close()


async def _until_waiting(connection: Connection) -> None:
    """Until somebody in this database waits for an advisory lock."""
    while not await fetch(
        connection, "select 1 from pg_locks where locktype = 'advisory' and not granted"
    ):
        pass


async def test_a_file_changed_after_it_was_applied_is_refused(
    empty: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(empty)
    first, *others = migrations()
    changed = first._replace(text=first.text + "\n-- an afterthought\n")
    monkeypatch.setattr(module, "migrations", lambda: [changed, *others])
    for refused in (migrate(empty), pending(empty)):
        with pytest.raises(UnavailableError, match=f"migration {first} was changed") as told:
            await refused
        assert "new number" in told.value.hint


async def test_a_new_migration_is_pending_until_it_is_applied(
    empty: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(empty)
    more = extra("create table mainspring.more (id int)")
    add(monkeypatch, more)
    assert await pending(empty) == [str(more)]
    assert await migrate(empty) == [str(more)]
    assert await pending(empty) == []
    assert "more" in await tables(empty)


async def test_the_second_half_is_kept_back_until_it_is_asked_for(
    empty: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = extra("create table mainspring.more (id int)")
    after = extra("create table mainspring.most (id int)", half="after")
    add(monkeypatch, before, after)
    assert str(after) not in await migrate(empty, after=False)
    assert await pending(empty) == [str(after)]
    # Code of this level works with or without the second half.
    await check_schema(empty)
    assert await migrate(empty) == [str(after)]
    assert {"more", "most"} <= set(await tables(empty))


async def test_a_migration_that_fails_leaves_nothing_and_can_be_tried_again(
    empty: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(empty)
    was = await tables(empty)
    broken = extra("create table mainspring.half (id int); select 1 / 0")
    with monkeypatch.context() as patch:
        add(patch, broken)
        with pytest.raises(asyncpg.DivisionByZeroError):
            await migrate(empty)
        assert await pending(empty) == [str(broken)]
    assert await tables(empty) == was
    add(monkeypatch, extra("create table mainspring.half (id int)"))
    await migrate(empty)
    assert "half" in await tables(empty)


async def test_a_migration_whose_connection_is_cut_leaves_nothing(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut, watching = [await connect(empty_url, name="test") for _ in range(2)]
    await migrate(cut)
    was = await tables(watching)
    cutting = "create table mainspring.half (id int); select pg_terminate_backend(pg_backend_pid())"
    with monkeypatch.context() as patch:
        add(patch, extra(cutting))
        with pytest.raises((asyncpg.AdminShutdownError, asyncpg.InterfaceError)):
            await migrate(cut)
    assert await tables(watching) == was
    assert await migrate(watching) == []
    await watching.close()


async def test_code_refuses_an_empty_database(empty: Connection) -> None:
    with pytest.raises(UnavailableError, match="no Mainspring schema") as told:
        await check_schema(empty)
    assert told.value.hint == "run `mainspring migrate`"


async def test_code_refuses_a_schema_that_is_too_old(
    empty: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(empty)
    add(monkeypatch, extra("select 1"))
    with pytest.raises(UnavailableError, match=f"lacks migration {CODE_LEVEL + 1:04}") as told:
        await check_schema(empty)
    assert told.value.hint == "run `mainspring migrate`"


async def test_code_works_on_a_newer_schema_that_allows_it(
    empty: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        add(patch, extra("create table mainspring.more (id int)"))
        await migrate(empty)
    await check_schema(empty)
    assert await pending(empty) == []


async def test_code_refuses_a_newer_schema_that_demands_newer_code(
    empty: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        add(patch, extra("select 1", min_code=CODE_LEVEL + 1))
        await migrate(empty)
    with pytest.raises(UnavailableError, match=f"needs code of level {CODE_LEVEL + 1}") as told:
        await check_schema(empty)
    assert "upgrade" in told.value.hint


async def test_the_role_that_migrates_is_no_superuser(empty: Connection) -> None:
    [role] = await fetch(empty, "select * from pg_roles where rolname = current_user")
    powers = {"rolsuper", "rolcreaterole", "rolreplication", "rolbypassrls"}
    assert {power for power in powers if role[power]} == set()
    assert await migrate(empty) == EVERYTHING


@pytest.mark.parametrize("path", ["''", "pg_catalog", "nowhere", "decoy, public"])
async def test_the_search_path_of_the_database_does_not_matter(empty_url: str, path: str) -> None:
    connection = await connect(empty_url, name="test")
    name = await connection.fetchval("select current_database()")
    # Tables of the same names stand in the way of whoever forgets to say whose he means.
    await connection.execute("create schema decoy; create table decoy.run (id int, state text)")
    await connection.execute("create table decoy.task (id int, state text)")
    await connection.execute(f"alter database {name} set search_path = {path}")
    await connection.close()

    connection = await connect(empty_url, name="test")
    assert await migrate(connection) == EVERYTHING
    await check_schema(connection)
    run_id = await start_dag(connection, dag_of([(0, 1)], tasks=2))
    assert await run_state(connection, run_id) == "queued"
    await connection.close()
