"""Workers, engines and databases die; runs do not."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from mainspring.client import Client
from tests.conftest import Server
from tests.support.team import NEAR_AND_FAR, Team

pytestmark = NEAR_AND_FAR

COUNTING = """
@task
async def count(number: int):
    effect("began", number)
    await asyncio.sleep(0.05)
    effect("ended", number)
    return number

@dag
def counting(number: int):
    count(number)
"""

ENDURING = """
@task(executor="{executor}")
def endure(gate: str):
    effect("began", os.getpid())
    while not os.path.exists(gate):
        effect("tick")
        time.sleep(0.05)
    effect("ended", os.getpid())

@dag
def enduring(gate: str):
    endure(gate)
"""


async def _load(team: Team, runs: int) -> list[int]:
    async with Client(team.url) as client:
        return [await client.trigger("counting", {"number": n}) for n in range(runs)]


async def _all_ended(team: Team) -> bool:
    [row] = await team.rows(
        "select count(*) as open from mainspring.task where finished_at is null"
    )
    return bool(row["open"] == 0)


async def test_kill_9_of_a_worker_under_load_loses_and_doubles_nothing(team: Team) -> None:
    team.write("counting.py", COUNTING)
    team.start_engine()
    victim = team.start_worker("--slots", "async=20")
    await team.known("counting")
    runs = await _load(team, 400)
    await team.until(lambda: _began(team, 50))
    victim.kill()
    team.start_worker("--slots", "async=20")
    await team.until(lambda: _all_ended(team))
    states = await team.rows("select state, count(*) from mainspring.run_view group by 1")
    assert states == [{"state": "succeeded", "count": len(runs)}]
    # Executed at least once, and what was not in the victim's hand exactly once.
    assert set(team.effects_of("ended")) == {str(n) for n in range(len(runs))}
    [lost] = await team.rows("select count(*) from mainspring.attempt where state = 'lost'")
    assert 0 < lost["count"] <= 20
    assert len(team.effects_of("began")) <= len(runs) + lost["count"]


async def _began(team: Team, count: int) -> bool:
    return len(team.effects_of("began")) >= count


async def test_a_paused_worker_stops_its_tasks_and_is_refused_when_it_wakes_up(
    team: Team, tmp_path: Path
) -> None:
    team.write("enduring.py", ENDURING.format(executor="process"))
    team.start_engine()
    paused = team.start_worker("--name", "paused")
    await team.known("enduring")
    gate = tmp_path / "gate"
    run_id = await team.trigger("enduring", {"gate": str(gate)})
    await team.until(lambda: _began(team, 1))
    paused.send_signal(signal.SIGSTOP)
    team.start_worker("--name", "second")
    # The second worker begins only after the first was reaped, and by then the first one's
    # child stands still, although nobody could tell it to.
    await team.until(lambda: _began(team, 2))
    first, second = team.effects_of("began")
    assert Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    paused.send_signal(signal.SIGCONT)
    await team.until(lambda: _gone(int(first)))
    gate.touch()
    assert await team.ended(run_id) == "succeeded"
    assert team.effects_of("ended") == [second]
    await team.until(lambda: _worker_joined(team, "paused", 2))


async def _gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


async def _worker_joined(team: Team, name: str, times: int) -> bool:
    rows = await team.rows("select id from mainspring.worker where name = $1", name)
    return len(rows) >= times


async def test_a_drained_worker_lets_short_work_finish_and_leaves_no_trace(team: Team) -> None:
    team.write("counting.py", COUNTING)
    team.start_engine()
    worker = team.start_worker("--slots", "async=50")
    await team.known("counting")
    await _load(team, 100)
    await team.until(lambda: _began(team, 10))
    worker.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(worker.wait) == 0
    assert await team.rows("select * from mainspring.lease") == []
    assert await team.rows("select * from mainspring.claim") == []
    assert sorted(team.effects_of("began")) == sorted(team.effects_of("ended"))
    assert await team.rows("select * from mainspring.attempt where state = 'lost'") == []


async def test_a_second_signal_hands_work_back_uncharged(team: Team, tmp_path: Path) -> None:
    team.write("enduring.py", ENDURING.format(executor="process"))
    team.start_engine()
    worker = team.start_worker()
    await team.known("enduring")
    gate = tmp_path / "gate"
    run_id = await team.trigger("enduring", {"gate": str(gate)})
    await team.until(lambda: _began(team, 1))
    worker.send_signal(signal.SIGTERM)
    await team.until(lambda: _draining(team))
    worker.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(worker.wait) == 0
    [attempt] = await team.rows("select state, attempt from mainspring.attempt")
    assert attempt["state"] == "yielded"
    team.start_worker()
    await team.until(lambda: _began(team, 2))
    gate.touch()
    assert await team.ended(run_id) == "succeeded"
    [task] = await team.rows("select attempt, lost, term from mainspring.task")
    assert task == {"attempt": 1, "lost": 0, "term": 2}


async def _draining(team: Team) -> bool:
    return bool(await team.rows("select 1 from mainspring.lease where draining"))


async def test_a_killed_database_reaps_nobody_and_everything_goes_on(
    team: Team, server: Server
) -> None:
    team.write("counting.py", COUNTING)
    team.start_engine()
    team.start_worker("--slots", "async=20")
    await team.known("counting")
    runs = await _load(team, 200)
    await team.until(lambda: _began(team, 20))
    server.postgres.kill()
    server.postgres.start()
    team.connection.terminate()
    await team.__aenter__()
    await team.until(lambda: _all_ended(team))
    states = await team.rows("select state, count(*) from mainspring.run_view group by 1")
    assert states == [{"state": "succeeded", "count": len(runs)}]
    assert sorted(map(int, team.effects_of("began"))) == list(range(len(runs)))
    assert await team.rows("select * from mainspring.attempt") == []


async def test_another_engine_takes_over_when_the_holder_is_killed(team: Team) -> None:
    team.write(
        "flaky.py",
        """
        @task(retry=RetryPolicy(attempts=2, first="10ms"))
        async def flaky(sign: str):
            if not os.path.exists(sign):
                open(sign, "w").close()
                raise ConnectionError("not yet")

        @dag
        def flaking(sign: str):
            flaky(sign)
        """,
    )
    holder = team.start_engine()
    team.start_worker()
    await team.known("flaking")
    await team.until(lambda: _term(team, 1))
    team.start_engine()
    holder.kill()
    # The retry needs an engine to wake it.
    run_id = await team.trigger("flaking", {"sign": str(team.dags.parent / "sign")})
    assert await team.ended(run_id) == "succeeded"
    assert await _term(team, 2)


async def _term(team: Team, at_least: int) -> bool:
    [row] = await team.rows("select term from mainspring.shard where number = 0")
    return bool(row["term"] >= at_least)
