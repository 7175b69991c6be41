"""Every statement fits the schema, and every file of SQL is known."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib.resources import files

import pytest

from mainspring.store.connection import Connection
from mainspring.store.statements import STATEMENTS, statements_of
from tests.conftest import Server
from tests.plans.conftest import undone

SCRIPTS = {"views", "guards"}


@pytest.fixture
async def connection(server: Server, filled: str) -> AsyncIterator[Connection]:
    async with undone(server.url(filled), stable_plans=True) as connection:
        yield connection


@pytest.mark.parametrize("name", STATEMENTS)
async def test_a_statement_prepares(connection: Connection, name: str) -> None:
    await connection.prepare(STATEMENTS[name])


def test_every_file_holds_named_statements_or_is_a_script() -> None:
    folder = files("mainspring.store").joinpath("sql")
    found = {file.name.removesuffix(".sql") for file in folder.iterdir()}
    named = {name for file in found - SCRIPTS for name in statements_of(file)}
    assert found >= SCRIPTS
    assert named == STATEMENTS.keys()
