"""Two servers behind a load balancer are as one: no caller has to stay with either."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
from collections.abc import AsyncIterator
from itertools import cycle
from pathlib import Path

import httpx2
import pytest

from mainspring.domain.roles import Role
from mainspring.store.connection import Connection
from mainspring.store.tokens import LINK_SECONDS, create_token, new_secret
from tests.support.team import Process, Team

_CALLERS = 6


class Balancer:
    """A TCP proxy that gives each connection to the next server that says it is ready."""

    def __init__(self, ports: list[int]) -> None:
        self._turns = cycle(ports)
        self.open = dict.fromkeys(ports, 0)
        """Connections at present, by port."""
        self.given = dict.fromkeys(ports, 0)
        self._tasks: set[asyncio.Task[None]] = set()
        self.base = ""

    async def __aenter__(self) -> Balancer:
        self._listener = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.base = f"http://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        port = await self._ready()
        self.open[port] += 1
        self.given[port] += 1
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(_pump(reader, inner_writer), _pump(inner_reader, writer))
        finally:
            self.open[port] -= 1
            self._tasks.discard(task)

    async def _ready(self) -> int:
        while True:
            port = next(self._turns)
            with contextlib.suppress(OSError):
                if await _is_ready(port):
                    return port


async def _is_ready(port: int) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    told = await reader.read()
    writer.close()
    return told.startswith(b"HTTP/1.1 200 ")


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


class Pair:
    def __init__(self, team: Team, processes: list[Process], ports: list[int]) -> None:
        self.team = team
        self.processes = processes
        self.ports = ports
        self.bases = [f"http://127.0.0.1:{port}" for port in ports]


@pytest.fixture
async def pair(database_url: str, tmp_path: Path) -> AsyncIterator[Pair]:
    async with Team(database_url, tmp_path) as team:
        processes, ports = [], []
        for number in range(2):
            # Longer than any test: what ends the wait is the second signal.
            processes.append(team.start_server(MAINSPRING_LINGER_SECONDS="3600"))
            ports.append(await team.until(lambda number=number: _port(team, number)))  # type: ignore[misc]
        yield Pair(team, processes, ports)


async def _port(team: Team, number: int) -> int | None:
    found = re.findall(r"http://127\.0\.0\.1:(\d+)", team.log())
    return int(found[number]) if len(found) > number else None


async def _token(connection: Connection, role: Role) -> dict[str, str]:
    secret = new_secret()
    await create_token(connection, secret, name=f"the-{role}", role=role)
    return {"Authorization": f"Bearer {secret}"}


async def test_keys_tokens_and_sessions_are_the_same_on_both(
    pair: Pair, connection: Connection
) -> None:
    admin, operator = await _token(connection, Role.ADMIN), await _token(connection, Role.OPERATOR)
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:

        async def make(base: str, key: str) -> httpx2.Response:
            headers = {**operator, "Idempotency-Key": key}
            return await http.post(
                f"{base}/api/v1/jobs", json={"command": ["true"]}, headers=headers
            )

        for number in range(5):
            made = await asyncio.gather(*(make(base, f"{number}") for base in pair.bases * 3))
            assert {answer.status_code for answer in made} == {201}
            assert len({answer.json()["jobId"] for answer in made}) == 1
        assert await connection.fetchval("select count(*) from mainspring.job") == 5

        link = new_secret()
        await create_token(
            connection, link, name="link", role=Role.ADMIN, kind="link", seconds=LINK_SECONDS
        )
        first, second = pair.bases
        assert (await http.get(f"{first}/login?code={link}")).status_code == 303
        assert (await http.get(f"{second}/login?code={link}")).status_code == 401
        for base in pair.bases:
            assert (await http.get(f"{base}/api/v1/runs")).status_code == 200
        http.cookies.clear()

        tokens = (await http.get(f"{first}/api/v1/tokens", headers=admin)).json()["items"]
        [number] = [token["id"] for token in tokens if token["name"] == "the-operator"]
        gone = await http.delete(f"{first}/api/v1/tokens/{number}", headers=admin)
        assert gone.is_success, gone.text
        for base in pair.bases:
            while (await http.get(f"{base}/api/v1/runs", headers=operator)).status_code != 401:
                pass


async def test_a_server_is_stopped_under_load_and_no_request_is_lost(
    pair: Pair, connection: Connection
) -> None:
    operator = await _token(connection, Role.OPERATOR)
    answers: list[int] = []
    enough = asyncio.Event()

    async def call(base: str, caller: int) -> None:
        """Each request once; whatever breaks breaks the test."""
        async with httpx2.AsyncClient(timeout=60, trust_env=False, headers=operator) as http:
            while not enough.is_set():
                body = {"command": ["true", str(caller)]}
                answers.append((await http.post(f"{base}/api/v1/jobs", json=body)).status_code)
                answers.append((await http.get(f"{base}/api/v1/jobs?limit=3")).status_code)

    async with Balancer(pair.ports) as balancer:
        callers = [asyncio.create_task(call(balancer.base, number)) for number in range(_CALLERS)]

        async def calls(more: int) -> None:
            wanted = len(answers) + more
            while len(answers) < wanted:
                for caller in callers:
                    assert not caller.done(), caller.result()
                await asyncio.sleep(0.01)

        await calls(60)
        assert all(balancer.open.values())
        leaving, staying = pair.ports
        process = pair.processes[0]
        process.send_signal(signal.SIGTERM)
        while balancer.open[leaving]:
            await calls(1)
        assert await _is_ready(staying)
        assert not await _is_ready(leaving)
        given = balancer.given[leaving]
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait) == 0
        await calls(60)
        assert balancer.given[leaving] == given
        enough.set()
        await asyncio.gather(*callers)
    assert set(answers) == {200, 201}
    made = await connection.fetchval("select count(*) from mainspring.job")
    assert made == answers.count(201)
