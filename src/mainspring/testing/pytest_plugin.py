"""For pytest: the fixture `mainspring`, with a database, an engine and a worker of its own.

pytest loads this module by itself wherever Mainspring is installed, so it imports nothing until a
test asks for the fixture.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from mainspring.testing.server import Server
    from mainspring.testing.stage import Mainspring

_T = TypeVar("_T")


@pytest.fixture(scope="session")
def mainspring_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An embedded PostgreSQL, started once."""
    from mainspring.testing.server import Server

    server = Server(tmp_path_factory.mktemp("mainspring") / "home")
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def mainspring(
    mainspring_server: Server,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Mainspring]:
    """A Mainspring on a fresh database, which clients without an address find by themselves."""
    from mainspring.testing.stage import Mainspring

    name = _apart(mainspring_server.create())
    stage = Mainspring(mainspring_server.url(name), tmp_path_factory.mktemp("mainspring"))
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", stage.url)
    try:
        yield stage
    finally:
        stage.close()
        _apart(mainspring_server.drop(name))


def _apart(work: Coroutine[Any, Any, _T]) -> _T:
    """In a thread: an asynchronous test has an event loop here, which may run."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
