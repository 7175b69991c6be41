"""The server as a process: it listens where it is safe, is ready or not, and stops in order."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from mainspring.cli import run_command
from mainspring.domain.roles import Role
from mainspring.observe.catalogue import metrics_of
from mainspring.store.connection import Connection
from mainspring.store.tokens import create_token, new_secret
from tests.contract.conftest import Api
from tests.support.team import Team


async def test_a_server_answers_and_ends_at_a_signal(database_url: str, tmp_path: Path) -> None:
    async with Team(database_url, tmp_path) as team:
        process = team.start_server()
        base = await team.until(lambda: _address(team))
        async with httpx2.AsyncClient(base_url=base) as http:
            assert (await http.get("/readyz")).json() == {"status": "ready"}
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait) == 0


async def test_a_request_that_is_under_way_is_answered_before_the_end(
    database_url: str, tmp_path: Path, connection: Connection
) -> None:
    secret = new_secret()
    await create_token(connection, secret, name="x", role=Role.VIEWER)
    async with Team(database_url, tmp_path) as team:
        process = team.start_server()
        base = await team.until(lambda: _address(team))
        async with httpx2.AsyncClient(base_url=base, timeout=60) as http:
            async with connection.transaction():
                await connection.execute("lock table mainspring.dag in access exclusive mode")
                headers = {"Authorization": f"Bearer {secret}"}
                asked = asyncio.create_task(http.get("/api/v1/dags", headers=headers))
                await team.until(lambda: connection.fetchval(_WAITS))
                process.send_signal(signal.SIGTERM)
                await team.until(lambda: _refused(base))
                assert not asked.done()
            assert (await asked).status_code == 200
        assert await asyncio.to_thread(process.wait) == 0


_WAITS = "select count(*) from pg_locks where not granted and relation = 'mainspring.dag'::regclass"


async def _refused(base: str) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
    except ConnectionRefusedError:
        return True
    writer.close()
    return False


async def _address(team: Team) -> str | None:
    found = re.search(r"http://127\.0\.0\.1:\d+", team.log())
    return found[0] if found else None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "0.0.0.0"], "without TLS"),
        (["--host", "::"], "without TLS"),
        (["--tls-cert", "none.pem"], "a certificate and its key"),
        (["--tls-cert", "none.pem", "--tls-key", "none.pem"], "cannot be used"),
    ],
)
def test_what_would_be_unsafe_is_refused_with_the_reason(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run_command(["server", "--home", str(tmp_path), *arguments]) == 2
    assert told in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(tmp_path: Path, database_url: str) -> None:
    import os
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = subprocess.run(
            [sys.executable, "-m", "mainspring", "server", "--port", str(port)],
            env={**os.environ, "MAINSPRING_DATABASE_URL": database_url},
            capture_output=True,
            text=True,
            check=False,
        )
    assert told.returncode == 1
    assert "Address already in use" in told.stderr


async def test_metrics_are_those_of_the_catalogue(api: Api, finished: int) -> None:
    await api.get("/runs")
    text = (await api.get("/metrics")).text
    told = set(re.findall(r"^# HELP (\S+) ", text, re.MULTILINE))
    created = {name for name in told if name.endswith("_created")}
    assert told - created == metrics_of("server", "whole").keys()
    route = 'method="GET",route="/api/v1/runs",status="200"'
    assert f"mainspring_http_requests_total{{{route}}} 1.0" in text
    assert "mainspring_database_up 1.0" in text
    assert "mainspring_workers 1.0" in text


async def test_tokens_are_made_listed_and_revoked_on_the_command_line(
    api: Api, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", database_url)

    async def command(*arguments: str) -> tuple[int, str, str]:
        code = await asyncio.to_thread(run_command, ["token", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    code, secret, _ = await command("create", "--name", "ci", "--role", "viewer")
    assert code == 0
    headers = {"Authorization": f"Bearer {secret.strip()}"}
    assert (await api.get("/runs", role=None, headers=headers)).status_code == 200
    assert "ci" in (await command("list"))[1]
    twice = await command("create", "--name", "ci", "--role", "viewer")
    assert (twice[0], "already" in twice[2]) == (2, True)
    assert (await command("create", "--name", "w", "--role", "worker"))[0] == 2
    made = ("--name", "w", "--role", "worker", "--queue", "mail", "--expires", "30d")
    assert (await command("create", *made, "--json"))[0] == 0
    assert (await command("revoke", "ci"))[0] == 0
    assert (await command("revoke", "ci"))[0] == 2
    while (await api.get("/runs", role=None, headers=headers)).status_code == 200:
        pass


async def test_a_database_that_is_away_is_told_and_comes_back(api: Api, finished: int) -> None:
    secret = new_secret()
    await create_token(api.connection, secret, name="x", role=Role.VIEWER)
    killed = await api.connection.fetchval(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity"
        " where application_name like 'mainspring server%' and datname = current_database()"
    )
    assert killed >= 1
    # The connection is made again; no caller sees that it was gone.
    assert (await api.get("/runs")).status_code == 200
    assert (await api.post("/dags/daily_sales/runs", json={})).status_code == 201


async def test_a_log_is_json_line_by_line_with_each_request_if_that_is_wanted(
    database_url: str, tmp_path: Path, connection: Connection
) -> None:
    secret = new_secret()
    await create_token(connection, secret, name="ada", role=Role.VIEWER)
    async with Team(database_url, tmp_path) as team:
        process = team.start_server(MAINSPRING_LOG_FORMAT="json", MAINSPRING_LOG_LEVEL="debug")
        base = await team.until(lambda: _address(team))
        headers = {"Authorization": f"Bearer {secret}", "X-Request-Id": "the-one"}
        async with httpx2.AsyncClient(base_url=base, headers=headers, timeout=60) as http:
            assert (await http.get("/api/v1/runs?state=failed")).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait) == 0
        lines = [json.loads(line) for line in team.log().splitlines()]
    assert all({"event", "level", "timestamp"} <= line.keys() for line in lines)
    [told] = [line for line in lines if line.get("request") == "the-one"]
    assert told["ms"] >= 0
    assert told | {"ms": 0, "timestamp": ""} == {
        "event": "a request",
        "level": "debug",
        "timestamp": "",
        "request": "the-one",
        "method": "GET",
        "route": "/api/v1/runs",
        "status": 200,
        "ms": 0,
        "caller": "ada",
    }


@pytest.mark.parametrize("setting", ["MAINSPRING_LOG_FORMAT", "MAINSPRING_LOG_LEVEL"])
def test_a_log_that_cannot_be_is_refused(
    setting: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(setting, "loud")
    assert run_command(["engine"]) == 2
    assert setting in capsys.readouterr().err
