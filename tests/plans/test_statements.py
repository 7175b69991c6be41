"""Every statement fits the schema, and every file of SQL is known."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from importlib.resources import files

import pytest

from mainspring.store.connection import Connection
from mainspring.store.statements import STATEMENTS, statements_of
from tests.conftest import Server
from tests.plans.conftest import undone

SCRIPTS = {"views", "guards"}
IDS = re.compile(
    r"\$(\d+) (?:run|task|first|until|above this run)(?: id)?(s?)(?=  |$)", re.MULTILINE
)
"""Parameters that the comment calls ids of runs or tasks."""
SOME_ID = re.compile(r"\$(\d+) (?:(?:above|below) this )?(?:run|task)s?\b")
"""Those that it may call so, beside other words."""


@pytest.fixture
async def connection(server: Server, filled: str) -> AsyncIterator[Connection]:
    async with undone(server.url(filled), stable_plans=True) as connection:
        yield connection


@pytest.mark.parametrize("name", STATEMENTS)
async def test_a_statement_prepares_and_takes_ids_as_long_as_they_are(
    connection: Connection, name: str
) -> None:
    """Without a cast, `$1 + node` is an `int4`, and ids are longer after a few failovers."""
    prepared = await connection.prepare(STATEMENTS[name])
    types = [kind.name for kind in prepared.get_parameters()]
    for number, plural in IDS.findall(STATEMENTS[name]):
        assert types[int(number) - 1] == ("int8[]" if plural else "int8"), number
    for number in SOME_ID.findall(STATEMENTS[name]):
        assert types[int(number) - 1] not in ("int4", "int4[]"), number


def test_every_file_holds_named_statements_or_is_a_script() -> None:
    folder = files("mainspring.store").joinpath("sql")
    found = {file.name.removesuffix(".sql") for file in folder.iterdir()}
    named = {name for file in found - SCRIPTS for name in statements_of(file)}
    assert found >= SCRIPTS
    assert named == STATEMENTS.keys()
