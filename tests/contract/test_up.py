"""`mainspring up` starts a server too, and prints a link that opens it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import msgspec
import pytest

from mainspring.api.server import bind
from mainspring.cli.login import take_port
from mainspring.config import Config, Listening
from mainspring.domain.errors import UnavailableError


async def test_up_prints_a_link_that_opens_the_server(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    environment = {
        **os.environ,
        "MAINSPRING_DATABASE_URL": database_url,
        "MAINSPRING_HOME": str(tmp_path / "home"),
    }
    environment.pop("MAINSPRING_PORT", None)
    # Whether the usual port is free or taken by somebody else's, ours is told by the link.
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mainspring", "up", "--plain"),
        *("--dags", str(tmp_path / "dags")),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    assert child.stdout is not None
    lines: list[str] = []
    link = None
    listens = False
    try:
        while link is None or not listens:
            line = (await child.stdout.readline()).decode()
            assert line, lines
            lines.append(line)
            found = re.search(r"http://127\.0\.0\.1:\d+/login\?code=\S+", line)
            link = found[0] if found else link
            listens |= "the server listens" in line
        async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
            opened = await http.get(link)
            assert opened.status_code == 303, opened.text
            base = link.partition("/login")[0]
            assert (await http.get(f"{base}/api/v1/runs")).json() == {"items": [], "next": None}
            # Whatever happens to the server, the port stays ours: who calls then, waits.
            [server] = await asyncio.to_thread(_servers, child.pid)
            os.kill(server, signal.SIGKILL)
            while server in await asyncio.to_thread(_servers, child.pid):
                pass
        async with httpx2.AsyncClient(trust_env=False, timeout=60, cookies=http.cookies) as http:
            assert (await http.get(f"{base}/api/v1/runs")).status_code == 200
            http.cookies.clear()
            assert (await http.get(f"{base}/api/v1/runs")).status_code == 401
    finally:
        child.send_signal(signal.SIGINT)
        told, _ = await child.communicate()
    assert child.returncode == 0, "".join(lines) + told.decode()


def test_up_does_not_take_a_port_that_somebody_has_and_keeps_its_own(tmp_path: Path) -> None:
    config = Config(home=tmp_path)
    with socket.socket() as usual:
        usual.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            usual.bind(("127.0.0.1", Listening().port))
            usual.listen()
        except OSError:
            pass  # Somebody else has it, which serves as well.
        found, listener = take_port(config)
        with listener:
            assert found.listening.port != Listening().port
            with pytest.raises(UnavailableError):
                bind(found.listening)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        asked = msgspec.structs.replace(config, listening=Listening(port=taken.getsockname()[1]))
        with pytest.raises(UnavailableError):
            take_port(asked)


def _servers(supervisor: int) -> list[int]:
    """The servers among its children."""
    told = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    lines = [line.split() for line in told.stdout.splitlines()]
    ours = [words for words in lines if words[1] == str(supervisor) and words[-1] == "server"]
    return [int(words[0]) for words in ours]
