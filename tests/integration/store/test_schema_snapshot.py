"""`docs/reference/schema.sql` shows the schema that the migrations make."""

from __future__ import annotations

import asyncio
import difflib

import pytest

from tests.conftest import TEMPLATE, Server
from tools.schema_snapshot import PATH, render


def test_the_snapshot_is_the_schema_of_a_fresh_database(server: Server) -> None:
    found = PATH.read_text(encoding="utf-8") if PATH.exists() else ""
    wanted = render(server.url(TEMPLATE))
    difference = difflib.unified_diff(
        found.splitlines(), wanted.splitlines(), "found", "wanted", lineterm=""
    )
    if lines := list(difference):
        pytest.fail("\n".join(["run `make gen` and commit the result", *lines[:40]]), pytrace=False)


async def test_the_snapshot_tells_nothing_of_where_it_was_made(database_url: str) -> None:
    text = await asyncio.to_thread(render, database_url)
    assert text == await asyncio.to_thread(render, database_url)
    for word in ("Dumped", "restrict", "\nSET ", "Owner", "test_"):
        assert word not in text
