"""Where the benchmark works: a throw-away PostgreSQL, or a given database.

The throw-away home lies beside the ordinary one and not among temporary files, which are often
kept in memory: a disk that is never waited for would flatter the figures.

A given database is treated with care. Without a Mainspring schema it gets one, which is dropped at
the end. A schema that was there stays, with the benchmark's runs in it; one that holds runs is
refused unless the caller insists.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import asyncpg

from mainspring.bench.settings import Settings
from mainspring.client.link import reached
from mainspring.domain.errors import InputError, UnavailableError
from mainspring.embedded import EmbeddedPostgres, default_home, destroy
from mainspring.store.connection import Connection
from mainspring.store.migrate import migrate


class Place:
    def __init__(self, url: str, folder: Path, *, embedded: bool, owns_schema: bool) -> None:
        self.url = url
        self.folder = folder
        """For dags, code and logs; gone at the end."""
        self.embedded = embedded
        self.owns_schema = owns_schema

    async def prepare(self) -> None:
        """A schema that is fresh, if it is ours."""
        async with reached(self.url, name="bench prepare") as connection:
            if self.owns_schema:
                await _drop_schema(connection)
            await migrate(connection)


@asynccontextmanager
async def opened_place(settings: Settings) -> AsyncIterator[Place]:
    if settings.database_url is None:
        with _embedded() as place:
            yield place
    else:
        async with _given(settings.database_url, settings.accept_runs) as place:
            yield place


@contextmanager
def undisturbed() -> Iterator[None]:
    """Signals wait: what tidies up is not to be cut short by an impatient Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


async def patient_connection(url: str, name: str) -> Connection:
    """One without a time limit, and with plans for reading much."""
    connection: Connection = await asyncpg.connect(
        url, server_settings={"application_name": f"mainspring {name}"}
    )
    return connection


# --- a throw-away one ---------------------------------------------------------------------


@contextmanager
def _embedded() -> Iterator[Place]:
    folder = default_home().parent / f"mainspring-bench-{secrets.token_hex(4)}"
    # As for a home: the server's account has to pass through when root calls.
    folder.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True)
    home = folder / "home"
    postgres = EmbeddedPostgres(home)
    try:
        yield Place(postgres.start(), folder, embedded=True, owns_schema=True)
    finally:
        with undisturbed():
            postgres.stop()
            destroy(home)
            shutil.rmtree(folder)


# --- a given one --------------------------------------------------------------------------


@asynccontextmanager
async def _given(url: str, accept_runs: bool) -> AsyncIterator[Place]:
    async with reached(url, name="bench look") as connection:
        owns_schema = await _is_free(connection, accept_runs)
    folder = Path(tempfile.mkdtemp(prefix="mainspring-bench-"))
    try:
        yield Place(url, folder, embedded=False, owns_schema=owns_schema)
    finally:
        with undisturbed():
            shutil.rmtree(folder)
            if owns_schema:
                async with reached(url, name="bench tidy") as connection:
                    await _drop_schema(connection)


async def _is_free(connection: Connection, accept_runs: bool) -> bool:
    """Whether there is no schema yet, so that the one to come is ours."""
    if await connection.fetchval("select to_regnamespace('mainspring')") is None:
        return True
    if await connection.fetchval("select to_regclass('mainspring.run_view')") is None:
        return False
    has_runs = await connection.fetchval("select exists (select 1 from mainspring.run_view)")
    if has_runs and not accept_runs:
        raise InputError(
            "the database holds runs, and the benchmark would add millions to them",
            hint="give an empty database, or add `--yes` if that is what you want",
        )
    return False


async def _drop_schema(connection: Connection) -> None:
    try:
        await connection.execute(
            "set client_min_messages = warning; set lock_timeout = '30s';"
            " drop schema if exists mainspring cascade"
        )
    except asyncpg.PostgresError as error:
        raise UnavailableError(
            f"the benchmark's schema cannot be dropped: {error}",
            hint="drop it by hand: `drop schema mainspring cascade`",
        ) from error
