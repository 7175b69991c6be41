"""`mainspring run mark`: a task is closed by hand, and it is seen who did it and why."""

from __future__ import annotations

import asyncpg
import pytest

from mainspring.client import Client
from mainspring.client import client as client_module
from mainspring.store.connection import Connection
from mainspring.store.marks import Marked, mark_task
from mainspring.store.runs import Deed
from tests.integration.cli.conftest import Command
from tests.integration.cli.test_rerun import CHAIN, failed_run, work_off
from tests.support.factory import BareWorker, run_state, start_dag, task_states

BOTH_ROADS = True


async def test_a_failed_task_is_marked_and_the_run_goes_on(
    connection: Connection, command: Command, road: str
) -> None:
    run_id = await failed_run(connection)
    answer = await command("run", "mark", run_id, "t1", "succeeded", "--note", "repaired by hand")
    assert answer.code == 0, answer.err
    assert answer.out.splitlines() == [
        "t1 of run 1 is marked succeeded; opened again: `t2`",
        "run 1 of orders is running",
    ]
    again = await command("run", "mark", "orders", "t1", "succeeded", "--note", "repaired by hand")
    assert (again.code, again.out) == (0, "t1 of run 1 was marked succeeded before\n")
    await work_off(connection)
    assert await run_state(connection, run_id) == "succeeded"
    shown = (await command("run", "show", run_id)).out
    assert "marked succeeded" in shown
    assert "repaired by hand" in shown
    task = (await command("run", "show", run_id, "--json")).json["tasks"][1]
    [deed] = task["by_hand"]
    assert (deed["deed"], deed["note"]) == ("succeeded", "repaired by hand")
    assert (deed["who"] == "remote") if road == "remote" else ("@" in deed["who"])
    assert [attempt["state"] for attempt in task["attempts"]] == ["failed"]


async def test_a_running_task_is_marked_with_a_result(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    [item] = await worker.claim()
    told = (
        await command(
            *("run", "mark", run_id, "t0", "succeeded", "--note", "x", "--json"),
            *("--result", '{"rows": 3}'),
        )
    ).json
    assert (told["stopped"], told["marked"], told["state"]) == (True, "succeeded", "running")
    assert set((await worker.end(item)).refused.values()) == {"superseded"}
    shown = (await command("run", "show", run_id, "--json")).json["tasks"][0]
    assert shown["result"] == {"rows": 3}
    [attempt] = shown["attempts"]
    assert (attempt["state"], attempt["error"]["type"]) == ("cancelled", "MarkedByHand")
    assert "MarkedByHand" not in (await command("run", "why", run_id)).out


async def test_a_task_that_waits_is_skipped_with_all_after_it(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, CHAIN)
    assert (await command("run", "mark", run_id, "t1", "skipped", "--note", "no data")).code == 0
    states = await task_states(connection, run_id)
    assert list(states.values()) == ["ready", "skipped", "skipped"]


async def test_refusals_say_what_to_do(connection: Connection, command: Command) -> None:
    run_id = await failed_run(connection)
    note = ("--note", "x")
    for arguments, words in (
        (("t1", "succeeded"), "--note"),
        (("t1", "failed", *note), "failed"),
        (("t9", "succeeded", *note), "has no task"),
        (("t0", "skipped", *note), "has ended: succeeded"),
        (("t2", "succeeded", *note), "mark what failed before it: `t1`"),
        (("t1", "skipped", *note, "--result", "1"), "has no `--result`"),
        (("t1", "succeeded", *note, "--result", "{"), "is no JSON"),
        (("t1", "succeeded", "--note", "n" * 1001), "at most 1,000 characters"),
    ):
        answer = await command("run", "mark", run_id, *arguments)
        assert (answer.code, words in answer.err) == (2, True), (arguments, answer)
    assert (await command("run", "mark", 999, "t1", "skipped", *note)).code == 2
    assert list((await task_states(connection, run_id)).values()) == [
        "succeeded",
        "failed",
        "upstream_failed",
    ]


async def test_a_lost_answer_is_bridged_and_the_task_is_marked_once(
    connection: Connection, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await start_dag(connection, CHAIN)
    asked = 0

    async def lossy(mine: Connection, *arguments: object, **options: object) -> Marked:
        nonlocal asked
        asked += 1
        marked: Marked = await mark_task(mine, *arguments, **options)  # type: ignore[arg-type]
        if asked == 1:
            raise asyncpg.ConnectionDoesNotExistError("the answer is lost")
        return marked

    monkeypatch.setattr(client_module, "mark_task", lossy)
    async with Client(database_url) as client:
        assert (await client.mark(run_id, "t0", "succeeded", Deed("me"))).repeated
    assert asked == 2
    assert await connection.fetchval("select count(*) from mainspring.remark") == 1
    await work_off(connection)
    assert await run_state(connection, run_id) == "succeeded"
