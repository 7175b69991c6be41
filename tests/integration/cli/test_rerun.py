"""`mainspring run rerun`, and the client behind it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from mainspring import ConflictError, InputError, NotFoundError, SyncClient
from mainspring.client import Client
from mainspring.client import client as client_module
from mainspring.store.connection import Connection, fetch
from mainspring.store.history import archive_runs
from mainspring.store.runs import reopen_run
from mainspring.store.wakeups import READY
from tests.integration.cli.conftest import Command
from tests.support.factory import (
    DEFAULT_LANE,
    BareWorker,
    dag_of,
    failure,
    run_state,
    start_dag,
    task_states,
)
from tests.support.launcher import Launcher
from tests.support.team import Team

BOTH_ROADS = True

CHAIN = dag_of([(0, 1), (1, 2)], tasks=3, name="orders")


async def failed_run(connection: Connection, failing: int = 1) -> int:
    run_id = await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    while items := await worker.claim():
        await worker.end_all(
            [(item, failure() if item.node == failing else None) for item in items]
        )
    return run_id


async def work_off(connection: Connection) -> None:
    worker = await BareWorker.join(connection, CHAIN)
    while items := await worker.claim():
        await worker.end_all([(item, None) for item in items])


# --- the command --------------------------------------------------------------------------


async def test_what_failed_runs_again_and_the_answer_names_it(
    connection: Connection, command: Command
) -> None:
    run_id = await failed_run(connection)
    answer = await command("run", "rerun", "orders")
    assert answer.code == 0
    assert answer.out.splitlines() == [
        f"run {run_id} of orders runs again: `t1` and `t2`; 1 other task stays as it is",
        f"follow it: mainspring run watch {run_id}",
    ]
    assert list((await task_states(connection, run_id)).values()) == [
        "succeeded",
        "ready",
        "waiting",
    ]


async def test_a_run_can_be_taken_up_from_tasks_or_from_the_beginning(
    connection: Connection, command: Command
) -> None:
    run_id = await failed_run(connection, failing=-1)
    told = (await command("run", "rerun", run_id, "--from", "t2", "--json")).json
    assert (told["id"], told["state"], told["reopened"]) == (run_id, "running", ["t2"])
    await work_off(connection)
    told = (await command("run", "rerun", run_id, "--from", "t2", "--from", "t1", "--json")).json
    assert told["reopened"] == ["t1", "t2"]
    await work_off(connection)
    assert "runs again, from the beginning" in (await command("run", "rerun", run_id, "--all")).out
    await work_off(connection)
    assert await run_state(connection, run_id) == "succeeded"


async def test_a_rerun_can_be_followed_to_its_end(connection: Connection, command: Command) -> None:
    run_id = await failed_run(connection)
    for failing, code in ((1, 1), (-1, 0)):
        following = asyncio.create_task(command("run", "rerun", run_id, "--wait"))
        worker = await BareWorker.join(connection, CHAIN)
        while not following.done():
            items = await worker.claim()
            await worker.end_all(
                [(item, failure() if item.node == failing else None) for item in items]
            )
            await asyncio.sleep(0.01)
        answer = await following
        assert answer.code == code
        assert f"run {run_id} of orders runs again" in answer.out
        assert f"run {run_id} {'failed' if code else 'succeeded'}" in answer.out


async def test_refusals_say_what_to_do(connection: Connection, command: Command) -> None:
    run_id = await failed_run(connection)
    for arguments, words in (
        ((run_id, "--from", "t2"), f"`mainspring run rerun {run_id} --from t1`"),
        ((run_id, "--from", "t22"), "did you mean `t2`?"),
        ((run_id, "--from", "t1", "--all"), "give `--from` or `--all`, not both"),
        ((12345,), "there is no run 12345"),
        ((2**70,), f"there is no run {2**70}"),
        (("nobody",), "`nobody` is neither a run's number nor a dag"),
    ):
        answer = await command("run", "rerun", *arguments)
        assert answer.code == 2, arguments
        assert words in answer.err
    assert (await command("run", "rerun", run_id)).code == 0
    answer = await command("run", "rerun", run_id, "--all", "--json")
    assert answer.code == 2
    assert '"code":"conflict"' in answer.err
    assert f"`mainspring run cancel {run_id}`" in answer.err
    await work_off(connection)
    answer = await command("run", "rerun", run_id)
    assert (answer.code, f"`mainspring run rerun {run_id} --all`" in answer.err) == (2, True)


async def test_a_run_shows_the_attempts_of_all_generations(
    connection: Connection, command: Command
) -> None:
    run_id = await failed_run(connection)
    await command("run", "rerun", run_id, "--all")
    shown = (await command("run", "show", run_id, "--json")).json
    assert [task["generation"] for task in shown["tasks"]] == [2, 2, 2]
    assert [
        [(attempt["generation"], attempt["state"]) for attempt in task["attempts"]]
        for task in shown["tasks"]
    ] == [[(1, "succeeded")], [(1, "failed")], []]
    # What went wrong then is not what is wrong now.
    assert [task["error"] for task in shown["tasks"]] == [None, None, None]
    assert (shown["error"], shown["failed_tasks"], shown["started_at"]) == (None, 0, None)
    await work_off(connection)
    shown = (await command("run", "show", run_id, "--json")).json
    assert [
        [
            (attempt["generation"], attempt["attempt"], attempt["state"])
            for attempt in task["attempts"]
        ]
        for task in shown["tasks"]
    ] == [
        [(1, 1, "succeeded"), (2, 1, "succeeded")],
        [(1, 1, "failed"), (2, 1, "succeeded")],
        [(2, 1, "succeeded")],
    ]
    assert "✓ succeeded" in (await command("run", "show", run_id)).out


# --- the client ---------------------------------------------------------------------------


async def test_workers_are_told_after_the_commit(database_url: str, connection: Connection) -> None:
    run_id = await failed_run(connection)
    heard: asyncio.Queue[object] = asyncio.Queue()
    ear: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(database_url)
    await ear.add_listener(READY, lambda _c, _pid, _channel, payload: heard.put_nowait(payload))
    async with Client(database_url) as client:
        assert await client.rerun(run_id) == ["t1", "t2"]
    assert await heard.get() == str(DEFAULT_LANE)
    worker = await BareWorker.join(connection, CHAIN)
    assert [item.node for item in await worker.claim()] == [1]
    await ear.close()


@pytest.mark.parametrize("archived", [False, True], ids=["hot", "history"])
async def test_a_rerun_whose_answer_was_lost_opens_one_generation(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch, archived: bool
) -> None:
    run_id = await failed_run(connection)
    asked = 0

    async def losing(given: Connection, *args: object, **kwargs: object) -> object:
        nonlocal asked
        asked += 1
        reopened = await reopen_run(given, *args, **kwargs)  # type: ignore[arg-type]
        if asked == 1:
            if archived:
                # All of it ran, and went to history, before we ask again.
                await work_off(connection)
                [row] = await fetch(connection, "select now() + interval '1 day' as later")
                assert (await archive_runs(connection, 0, 100, row["later"])).moved == 1
            given.terminate()
            raise ConnectionResetError("cut after the commit")
        return reopened

    monkeypatch.setattr(client_module, "reopen_run", losing)
    async with Client(database_url) as client:
        assert await client.rerun(run_id) == ["t1", "t2"]
    assert asked == 2
    rows = await fetch(connection, "select generation from mainspring.task_view order by node")
    assert [row["generation"] for row in rows] == [1, 2, 2]
    assert await run_state(connection, run_id) == ("succeeded" if archived else "running")


async def test_callers_mistakes_are_told(database_url: str, connection: Connection) -> None:
    run_id = await failed_run(connection)
    async with Client(database_url) as client:
        with pytest.raises(NotFoundError):
            await client.rerun(12345)
        with pytest.raises(NotFoundError):
            await client.rerun(run_id, tasks=["nobody"])
        with pytest.raises(InputError, match="not both"):
            await client.rerun(run_id, tasks=["t1"], all=True)
        with pytest.raises(InputError, match="names no task"):
            await client.rerun(run_id, tasks=[])
        with pytest.raises(ConflictError):
            await client.rerun(run_id, tasks=["t2"])
        assert await client.rerun(run_id, tasks="t1") == ["t1", "t2"]


async def test_the_synchronous_client_has_it_too(database_url: str, connection: Connection) -> None:
    run_id = await failed_run(connection)

    def rerun() -> list[str]:
        with SyncClient(database_url) as client:
            return client.rerun(run_id, all=True)

    assert await asyncio.to_thread(rerun) == ["t0", "t1", "t2"]


# --- for real -----------------------------------------------------------------------------

MENDED = """
@task
async def before():
    effect("before")
    return 20

@task(retries=1)
async def needs(path: str, value):
    effect("needs")
    if not os.path.exists(path):
        raise FileNotFoundError(path)
    return value + 1

@task
async def beside():
    effect("beside")

@task
async def after(value):
    effect("after", value)

@dag
def mended(path: str):
    after(needs(path, before()))
    beside()
"""


@pytest.mark.slow
async def test_a_task_that_failed_until_a_file_was_there_succeeds_in_a_rerun(
    database_url: str, command: Command, tmp_path: Path, launcher: Launcher
) -> None:
    async with Team(database_url, tmp_path, launcher) as team:
        team.write("mended.py", MENDED)
        team.start_engine()
        team.start_worker()
        await team.known("mended")
        path = tmp_path / "there"
        run_id = await team.trigger("mended", {"path": str(path)})
        assert await team.ended(run_id) == "failed"
        assert (await command("run", "rerun", "mended", "--wait")).code == 1
        path.touch()
        answer = await command("run", "rerun", run_id, "--wait")
        assert answer.code == 0, answer
        states = await task_states(team.connection, run_id)
        assert set(states.values()) == {"succeeded"}
        assert team.effects_of("after") == ["21"]
        ran = {name: len(team.effects_of(name)) for name in ("before", "needs", "beside")}
        # A try and a retry each, and the one that went well.
        assert ran == {"before": 1, "needs": 5, "beside": 1}
        # And once more, from history.
        await team.until(
            lambda: team.connection.fetchval(
                "select true from mainspring.run_history where id = $1", run_id
            )
        )
        assert (await command("run", "rerun", run_id, "--from", "after", "--wait")).code == 0
        assert team.effects_of("after") == ["21", "21"]
