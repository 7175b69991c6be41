"""The server is killed or stands still, its connections are cut, the database is restarted, while
callers make jobs and ask again.

A caller that does not know whether its request arrived repeats it with the same Idempotency-Key, as
the guide says. However often that is, there is one job for each key, and no answer is a 500.
"""

from __future__ import annotations

import asyncio
import re
import signal
from pathlib import Path

import httpx2

from mainspring.domain.roles import Role
from mainspring.embedded import EmbeddedPostgres, destroy
from mainspring.store.connection import Connection, Line
from mainspring.store.migrate import migrate
from mainspring.store.tokens import create_token, new_secret
from tests.support.folders import quick_folder
from tests.support.invariants import violations
from tests.support.team import Team

_CALLERS = 6
_JOBS_EACH = 25
_CUT = (
    "select count(pg_terminate_backend(pid)) from pg_stat_activity"
    " where application_name like 'mainspring server%' and datname = current_database()"
)


class Callers:
    """They make jobs until each of theirs is accepted, wherever the server is at the moment."""

    def __init__(self, team: Team, secret: str) -> None:
        self._team = team
        self._secret = secret
        self.accepted: dict[str, set[int]] = {}
        """The numbers of jobs that were told, by key."""
        self.statuses: set[int] = set()
        self._calling: asyncio.Future[list[None]] | None = None
        self._asked: set[asyncio.Task[httpx2.Response]] = set()

    def give_up(self) -> int:
        """Wait for no answer any more, and ask again; how many were waited for."""
        waiting = [task for task in self._asked if not task.done()]
        for task in waiting:
            task.cancel()
        return len(waiting)

    def start(self) -> None:
        self._calling = asyncio.gather(*(self._call(number) for number in range(_CALLERS)))

    async def finish(self) -> None:
        assert self._calling is not None
        await self._calling

    async def _call(self, caller: int) -> None:
        async with httpx2.AsyncClient(timeout=60) as http:
            for number in range(_JOBS_EACH):
                await self._make(http, f"{caller}-{number}")
                if number % 5 == 0:
                    # Somebody who has the answer and asks all the same.
                    await self._make(http, f"{caller}-{number}")

    async def _make(self, http: httpx2.AsyncClient, key: str) -> None:
        headers = {"Authorization": f"Bearer {self._secret}", "Idempotency-Key": key}
        # Without a name, which could not be taken twice anyhow.
        body = {"command": ["true", key]}
        while True:
            url = f"{self._address()}/api/v1/jobs"
            asked = asyncio.create_task(http.post(url, json=body, headers=headers))
            self._asked.add(asked)
            await asyncio.wait([asked])
            self._asked.discard(asked)
            if asked.cancelled() or isinstance(asked.exception(), httpx2.TransportError):
                await asyncio.sleep(0.01)
                continue
            answer = asked.result()
            self.statuses.add(answer.status_code)
            if answer.status_code == 201:
                self.accepted.setdefault(key, set()).add(answer.json()["jobId"])
                return

    def _address(self) -> str:
        return _addresses(self._team)[-1]

    async def until_accepted(self, share: float) -> None:
        wanted = share * _CALLERS * _JOBS_EACH
        while len(self.accepted) < wanted:
            if self._calling is not None and self._calling.done():
                self._calling.result()
            await asyncio.sleep(0.002)


async def test_jobs_are_made_once_however_often_the_server_is_killed(
    database_url: str, connection: Connection, tmp_path: Path
) -> None:
    secret = new_secret()
    await create_token(connection, secret, name="x", role=Role.OPERATOR)
    async with Team(database_url, tmp_path) as team:
        server = team.start_server()
        await team.until(lambda: _listens(team, 1))
        callers = Callers(team, secret)
        callers.start()
        for times, share in enumerate((0.2, 0.4), start=2):
            await callers.until_accepted(share)
            server.kill()
            await asyncio.to_thread(server.wait)
            server = team.start_server()
            await team.until(lambda times=times: _listens(team, times))  # type: ignore[misc]
        await callers.until_accepted(0.6)
        assert await connection.fetchval(_CUT) > 0
        await callers.until_accepted(0.8)
        assert await connection.fetchval(_CUT) > 0
        await callers.finish()
    await _check(connection, callers)


async def test_a_server_that_stood_still_does_nothing_twice_when_it_wakes(
    database_url: str, connection: Connection, tmp_path: Path
) -> None:
    """Callers turn to another one meanwhile; then the first does what it had been asked, too."""
    secret = new_secret()
    await create_token(connection, secret, name="x", role=Role.OPERATOR)
    async with Team(database_url, tmp_path) as team:
        server = team.start_server()
        await team.until(lambda: _listens(team, 1))
        callers = Callers(team, secret)
        callers.start()
        await callers.until_accepted(0.3)
        server.send_signal(signal.SIGSTOP)
        team.start_server()
        await team.until(lambda: _listens(team, 2))
        assert callers.give_up() > 0
        await callers.until_accepted(0.6)
        server.send_signal(signal.SIGCONT)
        await callers.finish()
        # Whatever it still had to do, it has done before it ends.
        server.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(server.wait) == 0
    await _check(connection, callers)


async def test_jobs_are_made_once_while_the_database_is_restarted_and_killed(
    tmp_path: Path,
) -> None:
    with quick_folder() as folder:
        home = folder / "home"
        postgres = EmbeddedPostgres(home, settings={"shared_buffers": "64MB"})
        url = await asyncio.to_thread(postgres.start)
        try:
            await _restart_under_callers(postgres, url, tmp_path)
        finally:
            await asyncio.to_thread(postgres.stop)
            destroy(home)


async def _restart_under_callers(postgres: EmbeddedPostgres, url: str, folder: Path) -> None:
    secret = new_secret()
    line = Line(url, name="test")
    await line.call(migrate)
    await line.call(create_token, secret, name="x", role=Role.OPERATOR)
    async with Team(url, folder) as team:
        team.start_server()
        await team.until(lambda: _listens(team, 1))
        callers = Callers(team, secret)
        callers.start()
        await callers.until_accepted(0.3)
        await asyncio.to_thread(postgres.stop)
        assert await asyncio.to_thread(postgres.start) == url
        await callers.until_accepted(0.6)
        await asyncio.to_thread(postgres.kill)
        assert await asyncio.to_thread(postgres.start) == url
        await callers.finish()
    await line.call(_check, callers)
    await line.close()


async def _check(connection: Connection, callers: Callers) -> None:
    """One job and one run for each key, and no caller was told anything else."""
    made = {row["id"] for row in await connection.fetch("select id from mainspring.job")}
    assert len(made) == len(callers.accepted) == _CALLERS * _JOBS_EACH
    assert all(len(numbers) == 1 for numbers in callers.accepted.values())
    assert made == set.union(*callers.accepted.values())
    assert await connection.fetchval(_COUNT) == len(made)
    assert callers.statuses <= {201, 503}
    assert await violations(connection) == {}


_COUNT = "select count(*) from mainspring.run_view where job_id is not null"


async def _listens(team: Team, times: int) -> bool:
    return len(_addresses(team)) >= times


def _addresses(team: Team) -> list[str]:
    """Where servers have listened, the latest last."""
    found: list[str] = re.findall(r"http://127\.0\.0\.1:\d+", team.log())
    return found
