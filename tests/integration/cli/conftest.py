"""A command against a fresh database, in this process: beside the database, and through a server.

Tests of a module that says `BOTH_ROADS = True` run twice, but those named in `LOCAL`. The server is
a real one with a real port; it has the event loop of the test, which is free while a command runs
in its thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import structlog

from mainspring.api.server import Server
from mainspring.cli import run_command
from mainspring.config import Config, Listening
from mainspring.domain.roles import Role
from mainspring.store.connection import Connection
from mainspring.store.tokens import create_token, new_secret


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


Command = Callable[..., Coroutine[Any, Any, Answer]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    both = getattr(metafunc.module, "BOTH_ROADS", False)
    both = both and metafunc.function.__name__ not in getattr(metafunc.module, "LOCAL", ())
    if "road" in metafunc.fixturenames and both:
        metafunc.parametrize("road", ["local", "remote"])


@pytest.fixture
def road() -> str:
    """How a command gets to the database: `local`, or `remote` through a server."""
    return "local"


@pytest.fixture
async def command(
    road: str,
    database_url: str,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> AsyncIterator[Command]:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", database_url)
    monkeypatch.delenv("COLUMNS", raising=False)

    async def run(*arguments: object) -> Answer:
        capsys.readouterr()
        # In a thread: a command has an event loop of its own.
        code = await asyncio.to_thread(run_command, [str(each) for each in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    if road == "local":
        yield run
        return
    # The server has this process, too, and its log must not mix with what a command prints.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    secret = new_secret()
    await create_token(connection, secret, name="remote", role=Role.ADMIN)
    server = Server(Config(home=tmp_path, listening=Listening(port=0)), database_url)
    running = asyncio.create_task(server.run())
    while not server.listens:
        assert not running.done(), running.result()
        await asyncio.sleep(0.005)
    monkeypatch.setenv("MAINSPRING_URL", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("MAINSPRING_TOKEN", secret)
    yield run
    server.stop()
    await running
    structlog.reset_defaults()
