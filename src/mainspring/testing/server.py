"""PostgreSQL for a session of tests: one embedded server, and a fresh database for each test."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg

from mainspring.embedded import EmbeddedPostgres, destroy
from mainspring.store.connection import connect
from mainspring.store.migrate import migrate

_TEMPLATE = "mainspring_template"


class Server:
    """Databases are copies of a template that has the schema already."""

    def __init__(self, home: Path) -> None:
        self._home = home
        # Tests do not ask whether the disk keeps its promises; PostgreSQL's own tests do.
        self._postgres = EmbeddedPostgres(
            home, createdb=True, settings={"fsync": "off", "shared_buffers": "64MB"}
        )
        self._url = ""
        self._made = 0

    def start(self) -> None:
        self._url = self._postgres.start()
        asyncio.run(self._prepare())

    def stop(self) -> None:
        self._postgres.stop()
        destroy(self._home)

    def url(self, database: str) -> str:
        return self._url.replace("/mainspring?", f"/{database}?")

    async def create(self) -> str:
        """A database with the schema; its name."""
        self._made += 1
        name = f"test_{self._made}"
        await self._administer(f"create database {name} template {_TEMPLATE} strategy wal_log")
        return name

    async def drop(self, name: str) -> None:
        while True:
            try:
                # Connections that a test forgot are closed; an autovacuum worker is awaited.
                return await self._administer(f"drop database if exists {name} with (force)")
            except asyncpg.ObjectInUseError:
                await asyncio.sleep(0.05)

    async def _prepare(self) -> None:
        await self._administer(f"create database {_TEMPLATE}")
        connection = await connect(self.url(_TEMPLATE), name="template")
        await migrate(connection)
        await connection.close()

    async def _administer(self, sql: str) -> None:
        connection = await asyncpg.connect(self._url)
        await connection.execute(sql)
        await connection.close()
