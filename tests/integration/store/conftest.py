"""Connections beside the first one, for those who meet each other in the database."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from mainspring.store.connection import Connection, connect


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[Connection]:
    connection = await connect(database_url, name="other", stable_plans=True)
    yield connection
    await connection.close()


@pytest.fixture
async def observer(database_url: str) -> AsyncIterator[Connection]:
    connection = await connect(database_url, name="observer")
    yield connection
    await connection.close()
