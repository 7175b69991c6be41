"""What the command line says of servers, and that it says the same through one."""

from __future__ import annotations

import asyncio
import re
import socket
from pathlib import Path

import pytest

from mainspring.cli import run_command
from mainspring.store.connection import Connection
from tests.integration.cli.conftest import Command
from tests.support.factory import BareWorker, dag_of, failure, start_dag

SOON = ("--from", "2027-01-01T00:00Z")
CHAIN = dag_of([(0, 1)], tasks=2, name="orders")
_TIMES = re.compile(r"(\d+(\.\d+)? m?s\b|less than a second)( ago)?|just now")
_JSON_TIMES = re.compile(r'"(duration|oldest)_seconds": [\d.]+')


@pytest.fixture(params=["remote"])
def road(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_a_command_prints_the_same_through_a_server_as_beside_the_database(
    connection: Connection, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    await worker.end((await worker.claim())[0], failure("refused \x1b[31m"))
    await start_dag(connection, CHAIN)
    for words in (
        ("run", "list"),
        ("run", "list", "--dag", "orders", "--state", "failed"),
        ("run", "list", "--dag", "ordres"),
        ("run", "show", failed),
        ("run", "show", "last"),
        ("run", "show", "nobody"),
        ("run", "watch", failed),
        ("run", "cancel", failed),
        ("run", "rerun", failed, "--from", "t9"),
        ("run", "why", failed),
        ("run", "why", failed, "t9"),
        ("run", "compare", failed, "last"),
        ("run", "mark", failed, "t9", "skipped", "--note", "x"),
        ("run", "priority", failed, 9),
        ("run", "logs", failed),
        ("run", "logs", failed, "t9"),
        ("dag", "list"),
        ("dag", "list", "--owner", "nobody"),
        ("dag", "show", "orders"),
        ("dag", "trigger", "orders", "-p", "x=1"),
        ("dag", "versions", "orders"),
        ("dag", "versions", "ordres"),
        ("dag", "diff", "orders", 1, 1),
        ("dag", "diff", "orders", 1, 9),
        ("dag", "rollback", "orders", 9),
        ("dag", "refresh"),
        ("job", "list"),
        ("job", "show", "nobody"),
        ("schedule", "list"),
        ("schedule", "show", "nobody"),
        ("schedule", "preview", "nobody"),
        ("schedule", "diff", "new", "--dag", "orders", "--cron", "0 2 * * *", *SOON),
        ("backfill", "list", "--dag", "orders"),
        ("backfill", "show", 9),
        ("simulate", *SOON),
        ("calendar", "list"),
        ("calendar", "show", "nobody"),
        ("dlq", "list"),
        ("dlq", "list", "--discarded"),
        ("dlq", "list", "--dag", "ordres"),
        ("dlq", "show", failed),
        ("dlq", "show", "e-00000000"),
        ("dlq", "retry", failed, "t9"),
        ("queue", "list"),
        ("queue", "show", "default"),
        ("queue", "show", "defualt"),
        ("worker", "list"),
        ("token", "list"),
        ("token", "revoke", "nobody"),
    ):
        for form in ((), ("--json",)):
            remote = await command(*words, *form)
            with monkeypatch.context() as beside:
                beside.delenv("MAINSPRING_URL")
                local = await command(*words, *form)
            assert remote.code == local.code, words
            assert _timeless(remote.out) == _timeless(local.out), words
            assert _timeless(remote.err) == _timeless(local.err), words


def _timeless(text: str) -> str:
    text = re.sub(r"\d\d:\d\d:\d\d", "", text)
    return re.sub(r" +", " ", _TIMES.sub("", _JSON_TIMES.sub("", text)))


async def test_nobody_at_the_address_is_told_with_what_to_check(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("MAINSPRING_URL", url)
        answer = await command("run", "list")
    assert answer.code == 1
    assert f"the server at {url} cannot be reached" in answer.err
    assert "check that it runs and that MAINSPRING_URL is right" in answer.err


async def test_a_wrong_token_is_told_with_the_variable_to_set(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_TOKEN", "msp_wrong")
    answer = await command("run", "list")
    assert answer.code == 1
    assert "this token is not known" in answer.err
    assert "MAINSPRING_TOKEN" in answer.err


async def test_an_address_that_is_none_is_told(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_URL", "mainspring.example")
    answer = await command("run", "list")
    assert answer.code == 2
    assert "`mainspring.example` is no address of a server" in answer.err


async def test_a_command_that_asks_the_database_itself_says_so(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAINSPRING_DATABASE_URL")
    for words in (("migrate",), ("migrate", "--check"), ("engine",), ("server",)):
        answer = await command(*words)
        assert answer.code == 2, words
        assert "MAINSPRING_URL names a server" in answer.err


async def test_a_server_looks_and_prunes_where_no_database_is_named(
    connection: Connection, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    await start_dag(connection, CHAIN)
    monkeypatch.delenv("MAINSPRING_DATABASE_URL")
    looked = await command("doctor", "--json")
    assert looked.json["checks"][0]["found"] == "answers (the server's)"
    told = await command("doctor")
    assert told.code == looked.code
    assert "answers (the server's)" in told.out
    pruned = await command("prune", "--keep", "0s", "--json")
    assert (pruned.code, pruned.json["runs"]) == (0, 0)
    assert "none was pruned" in (await command("prune", "--dry-run")).out


async def test_a_home_that_is_given_means_the_database_there(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MAINSPRING_DATABASE_URL")
    answer = await command("run", "list", "--home", tmp_path)
    assert answer.code == 1
    assert f"nothing is running in {tmp_path}" in answer.err


async def test_who_asks_beside_the_database_is_known_by_name(
    connection: Connection, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    await start_dag(connection, CHAIN)
    assert (await command("dag", "trigger", "orders", "--json")).json["created_by"] == "remote"
    monkeypatch.delenv("MAINSPRING_URL")
    made = (await command("dag", "trigger", "orders", "--json")).json
    assert "@" in made["created_by"]


async def test_an_application_error_inside_is_shown_as_it_is(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the database there is no server whose log could say more."""
    from mainspring.store import reading

    async def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.delenv("MAINSPRING_URL")
    monkeypatch.setattr(reading, "list_workers", broken)
    capsys.readouterr()
    assert await asyncio.to_thread(run_command, ["worker", "list"]) == 1
    assert "unexpected ZeroDivisionError: by zero" in capsys.readouterr().err
