"""`context()` as a whole: from the claim to user code, over retries, losses and failovers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.team import Team

SLOTS = "async=10,thread=2,process=2,command=2"

CODE = """
import json
from mainspring import context

def tell(word):
    here = context()
    effect(word, json.dumps({
        "run_id": here.run_id, "dag": here.dag, "task": here.task, "attempt": here.attempt,
        "generation": here.generation, "idempotency_key": here.idempotency_key,
        "attempt_key": here.attempt_key, "fencing_token": here.fencing_token,
        "due_at": here.due_at.isoformat(), "parameters": dict(here.parameters),
    }))

@task
async def in_a_coroutine(note: str):
    await asyncio.sleep(0)
    tell("context")

@task(executor="thread")
def in_a_thread(before):
    tell("context")

@task(executor="process")
def in_a_process(before, note: str):
    tell("context")

@task(executor="command")
def in_a_command(before):
    tell("context")
    return ["sh", "-c", 'echo "variables $MAINSPRING_RUN_ID $MAINSPRING_DAG $MAINSPRING_TASK'
            ' $MAINSPRING_ATTEMPT $MAINSPRING_IDEMPOTENCY_KEY $MAINSPRING_ATTEMPT_KEY'
            ' $MAINSPRING_FENCING_TOKEN" >> "$EFFECTS"']

@dag
def kinds(note: str):
    in_a_command(in_a_process(in_a_thread(in_a_coroutine(note)), note))

@task(retry=RetryPolicy(attempts=3, first="20ms"))
async def flaky():
    tell("context")
    if context().attempt < 3:
        raise ConnectionError("not yet")

@dag
def flaking():
    flaky()

@task
def endure(gate: str):
    tell("context")
    while not os.path.exists(gate):
        time.sleep(0.02)

@task
def follow(before):
    tell("context")

@dag
def enduring(gate: str):
    follow(endure(gate))
"""


async def _start(team: Team, dag: str) -> Any:
    team.write("contexts.py", CODE)
    team.start_engine()
    worker = team.start_worker("--name", "first", "--slots", SLOTS)
    await team.known(dag)
    return worker


def _contexts(team: Team) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in team.effects_of("context")]


async def _told(team: Team, count: int) -> list[dict[str, Any]]:
    async def enough() -> bool:
        return len(team.effects_of("context")) >= count

    await team.until(enough)
    return _contexts(team)


@pytest.mark.parametrize("length", [3, 5000], ids=["small", "large"])
async def test_every_kind_of_task_knows_its_attempt(team: Team, length: int) -> None:
    await _start(team, "kinds")
    note = "x" * length
    run_id = await team.trigger("kinds", {"note": note})
    assert await team.ended(run_id) == "succeeded"
    due_at = await team.connection.fetchval(
        "select due_at from mainspring.run_view where id = $1", run_id
    )
    token = 2**32 + 1
    assert _contexts(team) == [
        {
            "run_id": run_id,
            "dag": "kinds",
            "task": name,
            "attempt": 1,
            "generation": 1,
            "idempotency_key": f"{run_id}/{name}/1",
            "attempt_key": f"kinds/{run_id}/{name}/1",
            "fencing_token": token,
            "due_at": due_at.isoformat(),
            "parameters": {"note": note},
        }
        for name in ("in_a_coroutine", "in_a_thread", "in_a_process", "in_a_command")
    ]
    [variables] = team.effects_of("variables")
    name = "in_a_command"
    assert variables == f"{run_id} kinds {name} 1 {run_id}/{name}/1 kinds/{run_id}/{name}/1 {token}"


async def test_a_retry_keeps_the_idempotency_key_and_raises_attempt_and_token(team: Team) -> None:
    await _start(team, "flaking")
    run_id = await team.trigger("flaking")
    assert await team.ended(run_id) == "succeeded"
    told = _contexts(team)
    assert [each["attempt"] for each in told] == [1, 2, 3]
    assert {each["idempotency_key"] for each in told} == {f"{run_id}/flaky/1"}
    assert len({each["attempt_key"] for each in told}) == 3
    assert len({each["due_at"] for each in told}) == 1
    tokens = [each["fencing_token"] for each in told]
    assert tokens == sorted(set(tokens))


@pytest.mark.fault
async def test_a_lost_attempt_keeps_its_keys_and_raises_the_token(
    team: Team, tmp_path: Path
) -> None:
    worker = await _start(team, "enduring")
    gate = tmp_path / "gate"
    run_id = await team.trigger("enduring", {"gate": str(gate)})
    await _told(team, 1)
    worker.kill()
    team.start_worker("--name", "second", "--slots", SLOTS)
    lost, found = await _told(team, 2)
    gate.touch()
    assert await team.ended(run_id) == "succeeded"
    for key in ("idempotency_key", "attempt_key", "attempt", "due_at", "parameters"):
        assert lost[key] == found[key]
    assert lost["fencing_token"] < found["fencing_token"]
    [attempt] = await team.rows("select state from mainspring.attempt")
    assert attempt["state"] == "lost"


@pytest.mark.fault
@pytest.mark.parametrize("line", ["claim", "complete"])
async def test_after_a_fork_of_history_every_token_is_above_those_before(
    team: Team, tmp_path: Path, line: str
) -> None:
    """By the worker alone: the engine keeps its connections, and notices nothing."""
    await _start(team, "enduring")
    # Both connections are in use before it happens.
    assert await team.ended(await team.trigger("enduring", {"gate": str(tmp_path)})) == "succeeded"
    gate = tmp_path / "gate"
    runs = [await team.trigger("enduring", {"gate": str(gate)})]
    await _told(team, 3)
    await team.connection.execute(
        "update mainspring.epoch set system_identifier = 1, timeline = timeline + 7"
    )
    [row] = await team.rows(
        "select count(pg_terminate_backend(pid, 60000)) as ended from pg_stat_activity"
        " where application_name = $1 and datname = current_database()",
        f"mainspring first {line}",
    )
    assert row["ended"] == 1
    if line == "claim":
        runs.append(await team.trigger("enduring", {"gate": str(gate)}))
        await _told(team, 4)
    gate.touch()
    assert [await team.ended(run_id) for run_id in runs] == ["succeeded"] * len(runs)
    tokens = [told["fencing_token"] for told in _contexts(team)]
    assert tokens[:3] == [2**32 + 1] * 3
    assert tokens[3:] == [2 * 2**32 + 1] * (2 * len(runs) - 1)
