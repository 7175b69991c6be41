"""Progress as a whole: from a running task to the eyes of people, and away when it is over."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from mainspring.domain.specs import RetrySpec
from mainspring.store.attempts import forget_progress, record_progress
from mainspring.store.connection import Connection, fetch
from tests.support.factory import BareWorker, dag_of, failure, start_dag
from tests.support.team import Team

CODE = """
from mainspring import context

@task
def work(gate: str):
    context().progress(30, "a third")
    context().log.info("working")
    while not os.path.exists(gate):
        time.sleep(0.02)

@dag
def telling(gate: str):
    work(gate)
"""


async def start(team: Team, *arguments: str) -> asyncio.StreamReader:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "mainspring", *arguments),
        env={**os.environ, "MAINSPRING_DATABASE_URL": team.url},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    return process.stdout


async def command(team: Team, *arguments: str) -> str:
    return (await (await start(team, *arguments)).read()).decode()


async def test_people_see_how_far_a_task_is_while_it_runs(team: Team, tmp_path: Path) -> None:
    team.write("tellers.py", CODE)
    team.start_engine()
    team.start_worker()
    await team.known("telling")
    gate = tmp_path / "gate"
    run_id = await team.trigger("telling", {"gate": str(gate)})
    await team.until(lambda: team.rows("select 1 from mainspring.progress"))

    async def task() -> dict[str, Any]:
        [found] = msgspec.json.decode(await command(team, "run", "show", str(run_id), "--json"))[
            "tasks"
        ]
        return dict(found)

    told = (await task())["progress"]
    assert (told["percent"], told["text"]) == (30.0, "a third")
    assert "30 %, a third" in await command(team, "run", "show", str(run_id))
    watched = await start(team, "run", "watch", str(run_id))
    await watched.readuntil(b"30 %, a third\n")
    gate.touch()
    assert await team.ended(run_id) == "succeeded"
    assert b"succeeded" in await watched.read()
    assert (await task())["progress"] is None
    assert b"INFO mainspring.telling.work: working" in await team.log_of(run_id)
    # The engine sweeps up what the attempt has told.

    async def gone() -> bool:
        return not await team.rows("select 1 from mainspring.progress")

    await team.until(gone)
    # What it used has a row of its own, which comes a moment later.
    await team.until(lambda: team.rows("select 1 from mainspring.attempt_use"))
    [attempt] = (await task())["attempts"]
    assert attempt["cpu_seconds"] > 0
    assert attempt["peak_bytes"] > 1_000_000
    assert " CPU, " in await command(team, "run", "show", str(run_id))


async def rows(connection: Connection) -> list[tuple[int, int, float, str]]:
    found = await fetch(connection, "select * from mainspring.progress order by task_id")
    return [(row["task_id"], row["term"], row["percent"], row["text"]) for row in found]


async def test_only_the_current_term_may_tell_progress(connection: Connection) -> None:
    spec = dag_of(retry=RetrySpec(attempts=3, first_seconds=0.0))
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [first] = await worker.claim()
    await record_progress(connection, {(run_id, first.term): (10.0, "first"), (1, 1): (1.0, "no")})
    await record_progress(connection, {(run_id, first.term): (20.0, "more")})
    assert await rows(connection) == [(run_id, first.term, 20.0, "more")]
    assert await forget_progress(connection, 100) == 0

    await worker.end(first, failure())
    await record_progress(connection, {(run_id, first.term): (99.0, "a ghost")})
    assert await rows(connection) == [(run_id, first.term, 20.0, "more")]
    assert await forget_progress(connection, 100) == 1
    assert await rows(connection) == []
