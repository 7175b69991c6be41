from __future__ import annotations

import pytest

from mainspring.store.connection import Connection
from tests.support.factory import dag_of, start_dag


@pytest.fixture
async def database_with_a_run(database_url: str, connection: Connection) -> str:
    await start_dag(connection, dag_of())
    return database_url
