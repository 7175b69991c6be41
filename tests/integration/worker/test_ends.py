"""How tasks end, seen from outside: retries, timeouts, crashes, cancels."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mainspring.client import Client
from mainspring.store.runs import Deed
from tests.support.factory import task_states
from tests.support.team import NEAR_AND_FAR, Team

pytestmark = NEAR_AND_FAR

ENDS = """
@task(retry=RetryPolicy(attempts=3, backoff="exponential", first="20ms"))
async def third_time(path: str):
    with open(path, "a") as file:
        file.write("x")
    if os.path.getsize(path) < 3:
        raise ConnectionError("not yet")
    return os.path.getsize(path)

@dag
def retried(path: str):
    third_time(path)

@task(retries=5)
async def gives_up():
    raise Fail("no use")

@dag
def giving_up():
    gives_up()

@task(retry=RetryPolicy(attempts=4, first="5m"))
async def asks_again(path: str):
    with open(path, "a") as file:
        file.write("x")
    if os.path.getsize(path) < 2:
        raise Retry(after="10ms")

@dag
def asking_again(path: str):
    asks_again(path)

@task
async def skips():
    raise Skip("nothing new")

@task
async def after(value):
    return value

@dag
def skipping():
    after(skips())

@task(timeout="300ms", executor="{kind}")
{prefix}def sleeps():
    {sleep}

@dag
def sleeping():
    sleeps()

@task(executor="process")
def dies():
    os.kill(os.getpid(), signal.SIGKILL)

@dag
def dying():
    dies()

@task(executor="thread")
def in_a_thread(a: int, b: int = 2) -> int:
    print("thread")
    return a + b

@task(executor="command")
def as_a_command(total: int) -> list[str]:
    return ["printf", "total\\n%s\\n", str(total)]

@dag
def kinds(a: int = 1):
    after(as_a_command(in_a_thread(a)))

@dag(timeout="400ms")
def out_of_time(gate: str):
    after(waits(gate))

@task
def waits(gate: str):
    effect("began")
    while not os.path.exists(gate):
        time.sleep(0.02)

@dag
def waiting(gate: str):
    after(waits(gate))
"""


def _ends(kind: str = "process") -> str:
    awaits = kind == "async"
    return (
        ENDS.replace("{kind}", kind)
        .replace("{prefix}", "async " if awaits else "")
        .replace("{sleep}", "await asyncio.sleep(3600)" if awaits else "time.sleep(3600)")
    )


async def _run(team: Team, dag: str, **parameters: object) -> tuple[int, str]:
    team.start_engine()
    team.start_worker()
    await team.known(dag)
    run_id = await team.trigger(dag, parameters)
    return run_id, await team.ended(run_id)


async def test_a_failing_task_is_tried_again_until_it_succeeds(team: Team, tmp_path: Path) -> None:
    team.write("ends.py", _ends())
    _, state = await _run(team, "retried", path=str(tmp_path / "tries"))
    assert state == "succeeded"
    [task] = await team.rows("select attempt, result from mainspring.task")
    assert task == {"attempt": 3, "result": b"3"}
    attempts = await team.rows("select attempt, state from mainspring.attempt order by term")
    assert attempts == [{"attempt": 1, "state": "failed"}, {"attempt": 2, "state": "failed"}]


async def test_fail_ends_a_task_whatever_its_policy(team: Team) -> None:
    team.write("ends.py", _ends())
    run_id, state = await _run(team, "giving_up")
    assert state == "failed"
    assert "no use" in await team.error_of(run_id)
    assert len(await team.rows("select * from mainspring.problem")) == 1
    assert len(await team.rows("select * from mainspring.attempt")) == 1


async def test_retry_after_overrides_the_policy(team: Team, tmp_path: Path) -> None:
    team.write("ends.py", _ends())
    _, state = await _run(team, "asking_again", path=str(tmp_path / "tries"))
    assert state == "succeeded"


async def test_skip_skips_what_follows(team: Team) -> None:
    team.write("ends.py", _ends())
    run_id, state = await _run(team, "skipping")
    assert state == "succeeded"
    assert await task_states(team.connection, run_id) == {"skips": "skipped", "after": "skipped"}


@pytest.mark.parametrize("kind", ["process", "thread", "async"])
async def test_a_task_is_stopped_at_its_timeout(team: Team, kind: str) -> None:
    team.write("ends.py", _ends(kind))
    _, state = await _run(team, "sleeping")
    assert state == "failed"
    [attempt] = await team.rows("select state from mainspring.attempt")
    assert attempt["state"] == "timed_out"


async def test_a_killed_child_fails_its_attempt_with_the_reason(team: Team) -> None:
    team.write("ends.py", _ends())
    run_id, state = await _run(team, "dying")
    assert state == "failed"
    assert "SIGKILL" in await team.error_of(run_id)


async def test_results_flow_through_threads_and_commands(team: Team) -> None:
    team.write("ends.py", _ends())
    run_id, state = await _run(team, "kinds", a=40)
    assert state == "succeeded"
    results = await team.rows("select result from mainspring.task order by node")
    assert [row["result"] for row in results] == [b"42", b'"42"', b'"42"']
    assert await team.log_of(run_id) == b"thread\ntotal\n42\n"


async def test_a_run_that_outlives_its_timeout_is_stopped_and_failed(
    team: Team, tmp_path: Path
) -> None:
    team.write("ends.py", _ends())
    run_id, state = await _run(team, "out_of_time", gate=str(tmp_path / "gate"))
    assert state == "failed"
    assert set((await task_states(team.connection, run_id)).values()) == {"cancelled"}


async def test_a_task_that_is_marked_by_hand_stops_and_what_comes_after_it_goes_on(
    team: Team, tmp_path: Path
) -> None:
    team.write("ends.py", _ends())
    team.start_engine()
    team.start_worker()
    await team.known("waiting")
    run_id = await team.trigger("waiting", {"gate": str(tmp_path / "gate")})
    await team.until(lambda: asyncio.sleep(0, bool(team.effects_of("began"))))
    async with Client(team.url) as client:
        [name, *_] = await task_states(team.connection, run_id)
        marked = await client.mark(run_id, name, "succeeded", Deed("me", "done elsewhere"))
    assert marked.claimed
    assert await team.ended(run_id) == "succeeded"

    async def stopped() -> bool:
        return "completion refused: superseded" in team.log()

    # The gate stays shut: only a note makes the task end.
    await team.until(stopped)
    [attempt] = await team.rows("select state::text from mainspring.attempt")
    assert attempt["state"] == "cancelled"


async def test_a_cancelled_run_stops_its_running_task(team: Team, tmp_path: Path) -> None:
    team.write("ends.py", _ends())
    team.start_engine()
    team.start_worker()
    await team.known("waiting")
    run_id = await team.trigger("waiting", {"gate": str(tmp_path / "gate")})
    await team.until(lambda: asyncio.sleep(0, bool(team.effects_of("began"))))
    async with Client(team.url) as client:
        await client.cancel(run_id)
    assert await team.ended(run_id) == "cancelled"
    assert set((await task_states(team.connection, run_id)).values()) == {"cancelled"}
