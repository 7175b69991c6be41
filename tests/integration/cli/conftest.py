"""A command against a fresh database, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import msgspec
import pytest

from mainspring.cli import run_command


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


Command = Callable[..., Coroutine[Any, Any, Answer]]


@pytest.fixture
def command(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", database_url)
    monkeypatch.delenv("COLUMNS", raising=False)

    async def run(*arguments: object) -> Answer:
        capsys.readouterr()
        # In a thread: a command has an event loop of its own.
        code = await asyncio.to_thread(run_command, [str(each) for each in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run
