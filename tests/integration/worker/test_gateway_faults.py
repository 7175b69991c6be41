"""A server dies, with answers on their way; its workers and their tasks do not."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from mainspring.client import Client
from tests.support.team import Team

COUNTING = """
@task
async def count(number: int):
    effect("began", number)
    await asyncio.sleep(0.05)
    return number

@task
async def follow(number: int):
    effect("followed", number)

@dag
def counting(number: int):
    follow(count(number))
"""

pytestmark = [
    pytest.mark.fault,
    pytest.mark.parametrize("team", ["through a server"], indirect=True),
]


@pytest.mark.parametrize("statement", ["claim_together", "complete_attempts", "renew_together"])
async def test_an_answer_that_died_with_its_server_is_asked_for_again(
    team: Team, statement: str
) -> None:
    runs = 60
    # A server that is away for longer costs its workers their leases, as it should.
    team.lease_seconds = 60
    team.write("counting.py", COUNTING)
    team.start_engine()
    server = team.serve_workers(fault=f"die after {statement} 2")
    team.start_worker("--slots", "async=8")
    await team.known("counting")
    async with Client(team.url) as client:
        for number in range(runs):
            await client.trigger("counting", {"number": number})
    assert await asyncio.to_thread(server.wait) == -signal.SIGKILL
    team.serve_workers()
    await team.until(lambda: _all_ended(team))
    states = await team.rows("select state, count(*) from mainspring.run_view group by 1")
    assert states == [{"state": "succeeded", "count": runs}]
    for word in ("began", "followed"):
        assert sorted(map(int, team.effects_of(word))) == list(range(runs))
    assert await team.rows("select * from mainspring.attempt") == []


async def _all_ended(team: Team) -> bool:
    [row] = await team.rows(
        "select count(*) as open from mainspring.task where finished_at is null"
    )
    return bool(row["open"] == 0)


@pytest.mark.parametrize(
    ("token", "code", "says"),
    [("", 2, "MAINSPRING_TOKEN"), ("msp_" + "x" * 43, 1, "this token is not known")],
)
async def test_a_worker_whose_token_is_refused_ends_with_a_word(
    team: Team, token: str, code: int, says: str
) -> None:
    team.serve_workers()
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "mainspring", "worker", "--url", team.server_url],
        env={**os.environ, "MAINSPRING_TOKEN": token},
        capture_output=True,
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == code
    assert says in ended.stderr
    assert "hint: " in ended.stderr
    assert "Traceback" not in ended.stderr
