from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from mainspring import Client
from tests.integration.client.callers import CALLERS, Caller


@pytest.fixture
async def client(database_url: str) -> AsyncIterator[Client]:
    async with Client(database_url) as client:
        yield client


@pytest.fixture(params=CALLERS)
async def caller(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[Caller]:
    """A transaction of the application's own, by each kind of connection."""
    async with CALLERS[request.param](database_url) as caller:
        yield caller
