"""`mainspring dag refresh`: a repository is asked when somebody says so."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring.bundles.git import Checkout
from mainspring.config import Config
from mainspring.domain.repositories import Repository
from mainspring.engine import read_dags
from mainspring.store.connection import Connection
from tests.integration.cli.conftest import Command

BOTH_ROADS = True

DAG = "from mainspring import dag, task\n\n@task\ndef work(): ...\n\n@dag\ndef {name}(): work()\n"


def commit(origin: Path, name: str) -> None:
    (origin / f"{name}.py").write_text(DAG.format(name=name))
    for words in ("init --quiet --initial-branch=main", "add --all", "commit --quiet -m more"):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words.split()]
        subprocess.run(command, cwd=origin, check=True)


@contextlib.asynccontextmanager
async def reading(config: Config, url: str) -> AsyncIterator[None]:
    """The part of an engine that follows the dags."""
    task = asyncio.create_task(read_dags.ReadDags(config, url).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_new_commit_is_read_when_somebody_asks(
    command: Command,
    connection: Connection,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    never = functools.partial(Checkout, poll_seconds=1_000_000)
    monkeypatch.setattr(read_dags, "Checkout", never)
    origin = tmp_path / "origin"
    origin.mkdir()
    commit(origin, "first")

    async def known(name: str) -> bool:
        return bool(await connection.fetch("select 1 from mainspring.dag where name = $1", name))

    repository = Repository(f"file://{origin}", "main", "")
    async with reading(Config(home=tmp_path / "home", repository=repository), database_url):
        while not await known("first"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        commit(origin, "second")
        # The engine may not listen yet, and who misses a wake-up finds the work by polling; this
        # one never polls.
        while not await known("second"):
            answer = await command("dag", "refresh")
            assert answer.code == 0, answer.err
            assert "at once" in answer.out
            await asyncio.sleep(0.1)
    assert (await command("dag", "refresh", "--json")).json == {"asked": True}
