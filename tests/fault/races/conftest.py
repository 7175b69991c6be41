"""One arena per module of races, and a count of what each test played in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest_asyncio
from structlog.testing import capture_logs

from tests.conftest import Server
from tests.fault.races.arena import Arena, Counts
from tests.fault.races.summary import COUNTED


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena_of_module(server: Server) -> AsyncIterator[Arena]:
    name = await server.create()
    # A reaped worker is worth a line in the log of an engine, and no news here.
    with capture_logs():
        async with Arena.open(server.url(name)) as arena:
            yield arena
    await server.drop(name)


@pytest_asyncio.fixture(loop_scope="module")
async def arena(
    arena_of_module: Arena, record_property: Callable[[str, object], None]
) -> AsyncIterator[Arena]:
    """The module's arena. What a test plays in it is counted, and asked in the end."""
    arena_of_module.counts = Counts()
    yield arena_of_module
    await arena_of_module.check()
    for name, count in vars(arena_of_module.counts).items():
        record_property(COUNTED + name, count)
