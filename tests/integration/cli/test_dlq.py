"""`mainspring dlq`: dead letters by error, retried and discarded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from mainspring.client import Client
from mainspring.domain.errors import UnavailableError
from mainspring.domain.specs import DagSpec
from mainspring.store.connection import Connection
from mainspring.store.dead_letters import Letter, list_groups, list_remarks, page_letters
from mainspring.store.history import archive_runs
from mainspring.store.reading import read_clock, read_run
from mainspring.store.runs import Deed
from tests.integration.cli.conftest import Command
from tests.support.factory import BareWorker, dag_of, failure, run_state, start_dag, task_states

BOTH_ROADS = True

ORDERS = dag_of([(0, 1)], tasks=2, name="orders")
JOIN = dag_of([(0, 2), (1, 2)], tasks=3, name="join")


async def fail(connection: Connection, dag: DagSpec, errors: Mapping[int, str]) -> int:
    """A run of which these tasks failed, with these messages."""
    run_id = await start_dag(connection, dag)
    await work_off(connection, dag, errors)
    return run_id


async def work_off(
    connection: Connection, dag: DagSpec, errors: Mapping[int, str] | None = None
) -> None:
    worker = await BareWorker.join(connection, dag)
    while items := await worker.claim():
        await worker.end_all(
            [
                (item, failure(errors[item.node]) if errors and item.node in errors else None)
                for item in items
            ]
        )


async def archive(connection: Connection) -> None:
    later = await read_clock(connection) + timedelta(days=1)
    async with connection.transaction():
        await archive_runs(connection, 0, 1000, later)


async def letters(command: Command, *arguments: str) -> Sequence[Mapping[str, object]]:
    answer = await command("dlq", "list", "--json", *arguments)
    assert answer.code == 0, answer.err
    found: Sequence[Mapping[str, object]] = answer.json
    return found


async def test_failures_that_look_alike_are_one_group_wherever_their_runs_are(
    connection: Connection, command: Command
) -> None:
    first = await fail(connection, ORDERS, {1: "order 17 of 'ann' is gone"})
    await archive(connection)
    last = await fail(connection, ORDERS, {1: "order 99 of 'bob' is gone"})
    other = await fail(connection, ORDERS, {1: "no route to host"})
    elsewhere = await fail(connection, ORDERS, {0: "order 99 of 'bob' is gone"})
    groups = await letters(command)
    assert [(g["task"], g["message"], g["count"]) for g in groups] == [
        ("t0", "order <number> of <text> is gone", 1),
        ("t1", "no route to host", 1),
        ("t1", "order <number> of <text> is gone", 2),
    ]
    assert [g["example"]["run"] for g in groups] == [elsewhere, other, last]  # type: ignore[index]
    shown = (await command("dlq", "show", groups[2]["id"], "--json")).json
    assert [(each["run"], each["error"]["message"]) for each in shown["letters"]] == [
        (first, "order 17 of 'ann' is gone"),
        (last, "order 99 of 'bob' is gone"),
    ]
    text = (await command("dlq", "list")).out
    assert "ValueError: order <number> of <text> is gone" in text
    text = (await command("dlq", "show", groups[2]["id"])).out
    assert f"why t1 of run {last} failed" in text


async def test_a_list_is_filtered_by_dag_task_error_and_time(
    connection: Connection, command: Command
) -> None:
    await fail(connection, ORDERS, {1: "no route to host"})
    await fail(connection, JOIN, {0: "disk full", 1: "no route to host"})
    assert len(await letters(command)) == 3
    assert [g["dag"] for g in await letters(command, "--dag", "orders")] == ["orders"]
    assert len(await letters(command, "--task", "t1")) == 2
    assert [g["task"] for g in await letters(command, "--error", "DISK")] == ["t0"]
    assert len(await letters(command, "--error", "valueerror", "--dag", "join")) == 2
    assert len(await letters(command, "--since", "1h")) == 3
    assert await letters(command, "--since", "2100-01-01T00:00Z") == []


async def test_a_group_is_retried_as_a_whole_and_a_second_time_nothing_is_left(
    connection: Connection, command: Command
) -> None:
    runs = [await fail(connection, ORDERS, {0: f"order {n} is gone"}) for n in range(3)]
    await archive(connection)
    [group] = await letters(command)
    refused = await command("dlq", "retry", group["id"])
    assert (refused.code, "add `--yes`" in refused.err) == (2, True)
    answer = await command("dlq", "retry", group["id"], "--yes", "--note", "host is back")
    assert (answer.code, answer.out) == (0, "3 dead letters retried.\n")
    for run_id in runs:
        assert await task_states(connection, run_id) == {"t0": "ready", "t1": "waiting"}
        remarks = await list_remarks(connection, await read_run(connection, run_id))
        assert [(r.deed, r.note) for r in remarks[run_id]] == [("retried", "host is back")]
    assert await letters(command) == []
    again = await command("dlq", "retry", group["id"], "--yes")
    assert (again.code, "there is no group" in again.err) == (2, True)
    assert (await command("dlq", "retry", "--all", "--yes", "--json")).json == {
        "retried": 0,
        "left": [],
        "ended": None,
    }
    await work_off(connection, ORDERS)
    assert {await run_state(connection, run_id) for run_id in runs} == {"succeeded"}


async def test_dead_letters_of_one_run_go_together_whatever_their_groups(
    connection: Connection, command: Command
) -> None:
    run_id = await fail(connection, JOIN, {0: "disk full", 1: "no route to host"})
    told = (await command("dlq", "retry", "--dag", "join", "--yes", "--json")).json
    assert (told["retried"], told["left"]) == (2, [])
    assert await task_states(connection, run_id) == {"t0": "ready", "t1": "ready", "t2": "waiting"}


async def test_what_another_failure_keeps_closed_stays_closed_until_that_is_retried(
    connection: Connection, command: Command
) -> None:
    run_id = await fail(connection, JOIN, {0: "disk full", 1: "no route to host"})
    assert (await command("dlq", "retry", run_id, "t0")).code == 0
    states = await task_states(connection, run_id)
    assert states == {"t0": "ready", "t1": "failed", "t2": "upstream_failed"}
    # Now the join comes after a task that has not ended.
    answer = await command("dlq", "retry", "--error", "no route", "--json")
    assert answer.code == 1
    [left] = answer.json["left"]
    assert (left["run"], left["tasks"]) == (run_id, ["t1"])
    assert "has not ended" in left["reason"]
    await work_off(connection, JOIN)
    assert (await command("dlq", "retry", "--all")).code == 0
    await work_off(connection, JOIN)
    assert await run_state(connection, run_id) == "succeeded"


async def test_discarded_letters_leave_the_list_and_stay_in_history(
    connection: Connection, command: Command, road: str
) -> None:
    run_id = await fail(connection, ORDERS, {1: "no"})
    answer = await command("dlq", "discard", run_id, "t1", "--note", "known", "--json")
    assert answer.json == {"discarded": 1, "left": [], "ended": None}
    assert await letters(command) == []
    assert await run_state(connection, run_id) == "failed"
    remarks = await list_remarks(connection, await read_run(connection, run_id))
    [remark] = remarks[run_id + 1]
    assert (remark.deed, remark.note) == ("discarded", "known")
    assert "@" in remark.who if road == "local" else remark.who == "remote"
    shown = (await command("run", "show", run_id)).out
    assert "by hand" in shown
    assert "discarded as a dead letter" in shown
    _, task = (await command("run", "show", run_id, "--json")).json["tasks"]
    assert [each["note"] for each in task["by_hand"]] == ["known"]
    assert (await command("dlq", "discard", run_id)).code == 2
    # It may be run again all the same, and what fails then is a new letter.
    assert (await command("run", "rerun", run_id)).code == 0
    await work_off(connection, ORDERS, {1: "no"})
    assert len(await letters(command)) == 1


async def test_what_failed_again_since_it_was_looked_at_is_neither_discarded_nor_retried(
    connection: Connection, database_url: str, command: Command
) -> None:
    run_id = await fail(connection, ORDERS, {0: "no"})
    [group] = await list_groups(connection)
    old = await page_letters(connection, group.likeness)
    assert (await command("dlq", "retry", run_id)).code == 0
    await work_off(connection, ORDERS, {0: "no"})
    async with Client(database_url) as client:
        assert await client.retry(old, Deed("me")) == []
    assert len(await letters(command)) == 1


async def test_an_interrupted_retry_is_given_again(
    connection: Connection, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        await fail(connection, ORDERS, {0: f"order {number} is gone"})
    retry, retried = Client.retry, 0

    async def breaks_down(client: Client, letters: Sequence[Letter], by: Deed) -> object:
        nonlocal retried
        retried += 1
        if retried == 3:
            raise UnavailableError("the database went away")
        return await retry(client, letters, by)

    with monkeypatch.context() as patch:
        patch.setattr(Client, "retry", breaks_down)
        answer = await command("dlq", "retry", "--all", "--yes")
    assert answer.code == 1
    assert answer.out.splitlines()[0] == "2 dead letters retried."
    assert "the database went away" in answer.out
    again = await command("dlq", "retry", "--all", "--yes")
    assert (again.code, again.out) == (0, "1 dead letter retried.\n")


async def test_bad_input_is_told_and_nothing_is_done(
    connection: Connection, command: Command
) -> None:
    run_id = await fail(connection, ORDERS, {0: "no"})
    for arguments, words in (
        (("retry",), "say what to retry"),
        (("retry", "--all", "--dag", "orders"), "not both"),
        (("retry", run_id, "--dag", "orders"), "not both"),
        (("discard", "e-00000000"), "there is no group"),
        (("retry", run_id, "t1"), "is no dead letter"),
        (("retry", run_id, "t9"), "has no task"),
        (("show", 12345678), "there is no run 12345678"),
        (("list", "--dag", "nobody"), "nobody"),
        (("list", "--since", "soon"), "`--since`"),
        (("discard", run_id, "--note", "n" * 1001), "at most 1,000 characters"),
        (("show", "nobody"), "neither a run's number nor a dag"),
    ):
        answer = await command("dlq", *arguments)
        assert (answer.code, words in answer.err) == (2, True), (arguments, answer)
    assert len(await letters(command)) == 1


async def test_discarded_letters_are_listed_with_who_and_why(
    connection: Connection, command: Command
) -> None:
    assert "No dead letter was discarded." in (await command("dlq", "list", "--discarded")).out
    first = await fail(connection, ORDERS, {1: "order 17 is gone"})
    last = await fail(connection, ORDERS, {0: "no route to host"})
    kept = await fail(connection, ORDERS, {0: "no route to host"})
    for run_id in (first, last):
        answer = await command("dlq", "discard", run_id, "--note", f"not {run_id}", "--yes")
        assert answer.code == 0, answer.err
    found = await letters(command, "--discarded")
    assert [(each["run"], each["task"], each["note"]) for each in found] == [
        (last, "t0", f"not {last}"),
        (first, "t1", f"not {first}"),
    ]
    assert all(each["discarded_by"] for each in found)
    assert [each["run"] for each in await letters(command, "--discarded", "--task", "t1")] == [
        first
    ]
    assert [each["run"] for each in await letters(command, "--discarded", "--error", "route")] == [
        last
    ]
    [group] = (await command("dlq", "list", "--json")).json
    assert group["example"]["run"] == kept
    shown = (await command("dlq", "list", "--discarded")).out
    assert f"not {first}" in shown
