"""A failover that lost claims: the database knows nothing of what workers are still running."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.team import NEAR_AND_FAR, Process, Team

CODE = """
@task(on_lost="{on_lost}")
def endure(gate: str):
    effect("began")
    while not os.path.exists(gate):
        time.sleep(0.02)

@dag
def enduring(gate: str):
    endure(gate)
"""

FORGET_CLAIMS = """
with forgotten as (delete from mainspring.claim returning task_ids)
insert into mainspring.ready (lane, priority, position, task_id, term)
select t.lane, t.priority, t.position, t.id, t.term
from forgotten, unnest(task_ids) as f (id) join mainspring.task t on t.id = f.id
"""

pytestmark = NEAR_AND_FAR


@pytest.mark.fault
async def test_a_worker_that_claims_what_it_runs_already_stops_it_and_lives_on(
    team: Team, tmp_path: Path
) -> None:
    run_id, worker = await _begin(team, tmp_path, on_lost="retry")
    await team.connection.execute(FORGET_CLAIMS)
    await team.until(lambda: _began(team, 2))
    (tmp_path / "gate").touch()
    assert await team.ended(run_id) == "succeeded"
    assert worker.poll() is None
    assert await _attempts(team) == [{"term": 1, "state": "yielded"}]


@pytest.mark.fault
async def test_what_may_run_once_only_is_not_begun_again(team: Team, tmp_path: Path) -> None:
    run_id, worker = await _begin(team, tmp_path, on_lost="fail")
    await team.connection.execute(FORGET_CLAIMS)
    assert await team.ended(run_id) == "failed"
    assert worker.poll() is None
    assert await _attempts(team) == [{"term": 1, "state": "lost"}]
    assert len(team.effects_of("began")) == 1


async def _begin(team: Team, folder: Path, on_lost: str) -> tuple[int, Process]:
    team.write("enduring.py", CODE.replace("{on_lost}", on_lost))
    team.start_engine()
    worker = team.start_worker("--slots", "process=2")
    await team.known("enduring")
    run_id = await team.trigger("enduring", {"gate": str(folder / "gate")})
    await team.until(lambda: _began(team, 1))
    return run_id, worker


async def _attempts(team: Team) -> list[dict[str, Any]]:
    return await team.rows("select term, state from mainspring.attempt order by term")


async def _began(team: Team, count: int) -> bool:
    return len(team.effects_of("began")) >= count
