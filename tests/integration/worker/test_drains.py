"""A worker that somebody asks to drain, beside the database or far from it."""

from __future__ import annotations

import asyncio
import os

from mainspring.client import Client
from mainspring.store.reading import list_workers
from tests.support.team import NEAR_AND_FAR, Team

pytestmark = NEAR_AND_FAR

DAGS = """
@task
async def wait():
    effect("began")
    while not os.path.exists(os.environ["EFFECTS"] + ".go"):
        await asyncio.sleep(0.02)

@dag
def slow():
    wait()

@task
async def hurry():
    pass

@dag
def quick():
    hurry()
"""


async def test_a_drained_worker_finishes_what_it_runs_and_leaves_the_rest_to_others(
    team: Team,
) -> None:
    # Nobody learns of anything by a beat that would have come anyway.
    team.lease_seconds = 60
    team.write("dags.py", DAGS)
    team.start_engine()
    team.start_worker("--name", "one", "--slots", "async=8")
    await team.known("quick")
    async with Client(team.url) as client:
        long = await client.trigger("slow")
        await team.until(lambda: _began(team))
        await client.drain_worker("one", note="new disk")
        await team.until(lambda: _draining(team, "one"))
        if team.server is not None:
            team.server.kill()
            team.server.wait()
            team.serve_workers()
        runs = [await client.trigger("quick") for _ in range(10)]
        two = team.start_worker("--name", "two", "--slots", "async=8")
        for run in runs:
            assert await team.ended(run) == "succeeded"
            assert await _ran_by(team, run) == "two"
        [one] = [line for line in await client.ask(list_workers) if line.name == "one"]
        assert (one.draining, sum(one.running.values())) == (True, 1)
        (team.effects.parent / (team.effects.name + ".go")).touch()
        assert await team.ended(long) == "succeeded"
        assert await _ran_by(team, long) == "one"
        assert await team.rows("select * from mainspring.attempt") == []
        await client.drain_worker("two", stop=True)
        assert await asyncio.to_thread(two.wait) == os.EX_OK
        run = await client.trigger("quick")
        await client.resume_worker("one")
        assert await team.ended(run) == "succeeded"
        assert await _ran_by(team, run) == "one"
        # The beats by which it heard of that have told how fast it was.
        await team.until(lambda: team.rows("select 1 from mainspring.lease where rates <> '{}'"))


async def _began(team: Team) -> bool:
    return bool(team.effects_of("began"))


async def _draining(team: Team, worker: str) -> bool:
    """Whether it says so itself."""
    return bool(
        await team.rows(
            "select 1 from mainspring.lease l join mainspring.worker w on w.id = l.worker_id"
            " where w.name = $1 and l.draining",
            worker,
        )
    )


async def _ran_by(team: Team, run_id: int) -> str:
    [row] = await team.rows(
        "select w.name from mainspring.task_view t join mainspring.worker w on w.id = t.worker_id"
        " where t.run_id = $1",
        run_id,
    )
    return str(row["name"])
