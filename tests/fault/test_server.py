"""The server is killed, and its connections are cut, while callers make jobs and ask again.

A caller that does not know whether its request arrived repeats it with the same Idempotency-Key, as
the guide says. However often that is, there is one job for each key, and no answer is a 500.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx2

from mainspring.domain.roles import Role
from mainspring.store.connection import Connection
from mainspring.store.tokens import create_token, new_secret
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
            try:
                url = f"{self._address()}/api/v1/jobs"
                answer = await http.post(url, json=body, headers=headers)
            except httpx2.TransportError:
                await asyncio.sleep(0.01)
                continue
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
