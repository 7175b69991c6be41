"""`dag pause`, `queue pause` and `run priority`, and the client behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mainspring import InputError, NotFoundError, SyncClient
from mainspring.client import Client
from mainspring.store.connection import Connection
from tests.integration.cli.conftest import Command
from tests.support.factory import BareWorker, dag_of, start_dag
from tests.support.launcher import Launcher
from tests.support.team import Team

BOTH_ROADS = True

ORDERS = dag_of([(0, 1)], tasks=2, name="orders")

WAITING = """
@task
def write(word: str) -> None:
    effect("wrote", word)

@dag
def waiting(word: str = "-"):
    write(word)

@task
def see() -> None:
    effect("saw")
    while not os.path.exists(os.environ["EFFECTS"] + ".go"):
        time.sleep(0.02)

@task
def after() -> None:
    effect("after")

@dag
def long():
    see() >> after()
"""


async def test_a_paused_dag_is_shown_everywhere_and_nothing_of_it_is_taken(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, ORDERS)
    worker = await BareWorker.join(connection, ORDERS)
    answer = await command("dag", "pause", "orders", "--note", "bad data")
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "dag orders is paused; what runs goes on, what waits stays where it is",
        "let it go on: mainspring dag resume orders",
    ]
    assert not await worker.claim()
    assert "orders  paused" in (await command("dag", "list")).out
    for told in (("dag", "show", "orders"), ("run", "show", run_id)):
        shown = (await command(*told)).out
        assert "paused" in shown
        assert "bad data" in shown
    for words in (("dag", "show", "orders"), ("dag", "list"), ("run", "show", run_id)):
        found = (await command(*words, "--json")).json
        found = found[0] if isinstance(found, list) else found
        pause = found["dag_pause"] if words[0] == "run" else found["pause"]
        assert pause["note"] == "bad data"
        assert pause["by"]
    [lane] = (await command("queue", "list", "--json")).json
    assert (lane["ready"], lane["aside"], lane["pause"]) == (0, 1, None)
    assert "aside" in (await command("queue", "list")).out
    answer = await command("dag", "resume", "orders")
    assert answer.out.startswith("dag orders goes on; it was paused ")
    assert [claimed.run_id for claimed in await worker.claim()] == [run_id]
    assert (await command("dag", "show", "orders", "--json")).json["pause"] is None


async def test_a_paused_queue_is_shown_and_nothing_of_it_is_taken(
    connection: Connection, command: Command
) -> None:
    await start_dag(connection, ORDERS)
    worker = await BareWorker.join(connection, ORDERS)
    answer = await command("queue", "pause", "default", "--note", "disk full", "--json")
    assert answer.json["changed"] is True
    assert answer.json["pause"]["note"] == "disk full"
    assert (await command("queue", "pause", "default", "--json")).json["changed"] is False
    assert not await worker.claim()
    for words in (("queue", "list"), ("queue", "show", "default")):
        out = (await command(*words)).out
        assert "paused" in out
        assert "disk full" in out
    found = (await command("queue", "show", "default", "--json")).json
    assert found["pause"]["note"] == "disk full"
    assert found["workers"] == ["bare"]
    assert found["kinds"][0]["ready"] == 1
    assert (await command("queue", "resume", "default")).out.startswith("queue default goes on;")
    assert (await command("queue", "resume", "default")).out == "queue default was not paused\n"
    assert len(await worker.claim()) == 1


async def test_unknown_names_and_bad_notes_are_refused(
    connection: Connection, command: Command
) -> None:
    await start_dag(connection, ORDERS)
    for what, near in (("dag", "orders"), ("queue", "default")):
        for verb in ("pause", "resume"):
            answer = await command(what, verb, f"{near}x")
            assert answer.code == 2
            assert f"did you mean `{near}`?" in answer.err
    answer = await command("dag", "pause", "orders", "--note", "x" * 1001)
    assert answer.code == 2
    assert "a note has at most 1,000 characters" in answer.err
    assert (await command("dag", "show", "orders", "--json")).json["pause"] is None
    assert (await command("queue", "show", "nothing")).code == 2


async def test_priority_is_changed_for_what_no_worker_has(
    connection: Connection, command: Command
) -> None:
    first, second = [await start_dag(connection, ORDERS) for _ in range(2)]
    worker = await BareWorker.join(connection, ORDERS)
    answer = await command("run", "priority", second, 8)
    assert answer.out == f"run {second} of orders: 2 tasks now with priority 8\n"
    found = (await command("run", "show", second, "--json")).json
    assert {task["priority"] for task in found["tasks"]} == {8}
    assert [claimed.run_id for claimed in await worker.claim(1)] == [second]
    answer = await command("run", "priority", second, 2, "--json")
    assert (answer.json["priority"], answer.json["changed_tasks"]) == (2, 1)
    assert (await command("run", "priority", first, 10)).code == 2
    assert (await command("run", "priority", 999_999, 1)).code == 2
    await command("run", "cancel", first)
    assert (await command("run", "priority", first, 1)).out == f"run {first} of orders has ended\n"


async def test_clients_pause_resume_and_set_priorities(
    connection: Connection, database_url: str
) -> None:
    run_id = await start_dag(connection, ORDERS)
    worker = await BareWorker.join(connection, ORDERS)
    async with Client(database_url, created_by="ada") as client:
        paused = await client.pause_dag("orders", note=" ")
        assert paused.now is not None
        assert (paused.now.by, paused.now.note) == ("ada", None)
        assert await client.set_priority(run_id, 7) == 2
        for bad in (10, -1, True, "5"):
            with pytest.raises(InputError, match="from 0 to 9"):
                await client.set_priority(run_id, bad)  # type: ignore[arg-type]
        await client.resume_dag("orders")
        await client.pause_queue("default", by="bob")
        assert not await worker.claim()
        resumed = await client.resume_queue("default")
        assert resumed.before is not None
        assert resumed.before.by == "bob"
    assert [claimed.priority for claimed in await worker.claim()] == [7]


def test_the_client_without_an_event_loop_does_the_same(database_url: str) -> None:
    with SyncClient(database_url) as client:
        assert client.pause_queue("default", note="now").now is not None
        assert client.resume_queue("default").now is None
        for refused in (client.pause_dag, client.resume_dag, client.pause_queue):
            with pytest.raises(NotFoundError):
                refused("nothing")
        with pytest.raises(NotFoundError):
            client.set_priority(1, 5)


async def test_workers_leave_a_paused_dag_and_queue_alone_and_take_them_up_again(
    database_url: str, command: Command, tmp_path: Path, launcher: Launcher
) -> None:
    async with Team(database_url, tmp_path, launcher) as team:
        team.write("waiting.py", WAITING)
        team.start_engine()
        await team.known("waiting")
        team.start_worker("--slots", "process=2")
        running = await team.trigger("long")
        await team.until(lambda: _seen(team, "saw"))
        assert (await command("dag", "pause", "long")).code == 0
        assert (await command("dag", "pause", "waiting")).code == 0
        held = [await team.trigger("waiting", {"word": word}) for word in "abc"]
        # What ran goes on, and what comes after it waits.
        team.effects.with_suffix(".log.go").touch()
        await team.until(
            lambda: team.connection.fetchval(
                "select true from mainspring.task_view where run_id = $1 and name = 'see'"
                " and state = 'succeeded'",
                running,
            )
        )
        assert (await command("queue", "pause", "default")).code == 0
        assert (await command("dag", "resume", "waiting")).code == 0
        assert (await command("dag", "resume", "long")).code == 0
        assert not team.effects_of("wrote")
        assert not team.effects_of("after")
        assert (await command("queue", "resume", "default")).code == 0
        for run_id in [*held, running]:
            assert await team.ended(run_id) == "succeeded"
        assert sorted(team.effects_of("wrote")) == ["a", "b", "c"]
        # The engine has seen that all tasks followed.
        await team.until(
            lambda: team.connection.fetchval(
                "select true where not exists"
                " (select from mainspring.dag where shifted_by is not null)"
            )
        )


async def _seen(team: Team, word: str) -> bool:
    return bool(team.effects_of(word))
