"""Fixtures: one embedded PostgreSQL and one launcher per test process, one database per test."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from mainspring.embedded import EmbeddedPostgres, destroy
from mainspring.observe.log_lines import PassedOn
from mainspring.store.connection import Connection, connect
from mainspring.store.migrate import migrate
from tests.support.folders import quick_folder
from tests.support.hangs import Hangs
from tests.support.invariants import violations
from tests.support.launcher import Launcher

settings.register_profile(
    "mainspring", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("mainspring")

TEMPLATE = "mainspring_template"


def pytest_configure(config: pytest.Config) -> None:
    seconds = float(config.getini("faulthandler_timeout"))
    if seconds:
        config.pluginmanager.register(Hangs(seconds), "hangs")


@pytest.hookimpl(tryfirst=True)  # Folders that know better have the last word.
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the tests, long ones come first: then all end together."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)


class Server:
    """The test process's PostgreSQL, with a migrated template to copy databases from."""

    def __init__(self, postgres: EmbeddedPostgres, url: str) -> None:
        self.postgres = postgres
        self._url = url
        self._made = 0
        self._connection: psycopg.Connection | None = None

    def url(self, database: str) -> str:
        return self._url.replace("/mainspring?", f"/{database}?")

    async def prepare(self) -> None:
        await self._admin(f"create database {TEMPLATE}")
        connection = await connect(self.url(TEMPLATE), name="template")
        await migrate(connection)
        await connection.close()

    async def create(self, template: str = TEMPLATE) -> str:
        self._made += 1
        name = f"test_{self._made}"
        await self._admin(f"create database {name} template {template} strategy wal_log")
        return name

    async def drop(self, name: str) -> None:
        """Also when a test that failed has left connections open: nobody would ever close them."""
        await self._admin(f"drop database if exists {name} with (force)")

    async def _admin(self, sql: str) -> None:
        """On one connection for all tests, which belongs to no event loop."""
        try:
            self._connected().execute(sql.encode())
        except psycopg.OperationalError:  # Some tests end the server, and start it again.
            self._connected().execute(sql.encode())

    def _connected(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self._url, autocommit=True)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with quick_folder() as folder:
        home = folder / "home"
        # Tests do not ask whether the disk keeps its promises; PostgreSQL's own tests do. And
        # tables are analyzed when a test says so: a plan must not depend on who came by meanwhile.
        # The log of changes is kept short, since it may lie in memory.
        settings = {
            "fsync": "off",
            "shared_buffers": "128MB",
            "autovacuum": "off",
            "min_wal_size": "64MB",
            "max_wal_size": "256MB",
        }
        postgres = EmbeddedPostgres(home, createdb=True, settings=settings)
        server = Server(postgres, postgres.start())
        asyncio.run(server.prepare())
        yield server
        server.close()
        postgres.stop()
        destroy(home)


@pytest.fixture
async def database_url(server: Server) -> AsyncIterator[str]:
    """A fresh database with the schema. After the test every promise must still hold."""
    name = await server.create()
    yield server.url(name)
    connection = await connect(server.url(name), name="invariants")
    broken = await violations(connection)
    await connection.close()
    await server.drop(name)
    assert not broken, broken


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[Connection]:
    connection = await connect(database_url, name="test", stable_plans=True)
    yield connection
    await connection.close()


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    launcher = Launcher()
    yield launcher
    launcher.close()


@pytest.fixture(autouse=True)
def own_log_lines() -> Iterator[None]:
    """A command that a test gives in this process sets up its log; the next test has its own."""
    yield
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, PassedOn)]:
        root.removeHandler(handler)
