"""`run rerun --latest`, which makes a new run, and `run compare`, which sets two side by side."""

from __future__ import annotations

import asyncio

import msgspec

from mainspring import SyncClient
from mainspring.domain.specs import DagSpec, ParameterSpec
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from tests.integration.cli.conftest import Command
from tests.integration.cli.test_rerun import CHAIN, failed_run
from tests.support.factory import BareWorker, dag_of, start_dag

BOTH_ROADS = True

LONGER = dag_of([(0, 1), (1, 2), (2, 3)], tasks=4, name="orders")


def with_parameter(dag: DagSpec, name: str) -> DagSpec:
    parameter = ParameterSpec(name=name, schema={"type": "integer"}, required=True)
    return msgspec.structs.replace(dag, parameters=(parameter,))


async def test_a_rerun_on_the_latest_version_is_a_new_run_that_knows_the_old_one(
    connection: Connection, command: Command
) -> None:
    old = await failed_run(connection)
    await register_dag(connection, LONGER, "another snapshot")
    answer = await command("run", "rerun", old, "--latest")
    assert answer.code == 0, answer.err
    told = (await command("run", "show", "last", "--json")).json
    assert (told["rerun_of"], told["trigger"], told["version"]) == (old, "rerun", 2)
    assert answer.out.splitlines()[0] == (
        f"run {told['id']} of orders version 2 (it was 1), again after run {old}"
    )
    assert f"again after run {old}" in (await command("run", "show", "last")).out
    before = (await command("run", "show", old, "--json")).json
    assert (before["state"], before["reruns"]) == ("failed", [told["id"]])
    again = f"on the latest version, as run {told['id']}"
    assert again in (await command("run", "show", old)).out
    assert "on the latest version" not in (await command("run", "show", "last")).out


async def test_a_repeated_command_is_answered_with_the_same_new_run(
    connection: Connection, database_url: str, command: Command
) -> None:
    old = await failed_run(connection)
    first = (await command("run", "rerun", old, "--latest", "--json")).json
    again = (await command("run", "rerun", old, "--latest", "--json")).json
    assert first["id"] == again["id"] != old
    with SyncClient(database_url) as client:
        assert await asyncio.to_thread(client.rerun_latest, old) == first["id"]
    another = (await command("run", "rerun", old, "--latest", "--key", "more", "--json")).json
    assert another["id"] not in (old, first["id"])
    # On other code it is another wish.
    await register_dag(connection, CHAIN, "another snapshot")
    later = (await command("run", "rerun", old, "--latest", "--json")).json
    assert later["id"] not in (old, first["id"], another["id"])


async def test_parameters_go_along_and_must_fit(connection: Connection, command: Command) -> None:
    day = with_parameter(CHAIN, "day")
    old = await start_dag(connection, day, parameters=b'{"day":7}')
    told = (await command("run", "rerun", old, "--latest", "--json")).json
    shown = (await command("run", "show", told["id"], "--json")).json
    assert shown["parameters"] == {"day": 7}
    await register_dag(connection, with_parameter(CHAIN, "month"), "snapshot")
    answer = await command("run", "rerun", old, "--latest")
    assert answer.code == 2
    assert "month" in answer.err or "day" in answer.err
    for arguments in (("--latest", "--all"), ("--latest", "--from", "t1"), ("--key", "x")):
        assert (await command("run", "rerun", old, *arguments)).code == 2


async def test_two_runs_are_set_side_by_side(connection: Connection, command: Command) -> None:
    first = await failed_run(connection)
    second = await start_dag(connection, LONGER, parameters=b'{"day":7}')
    worker = await BareWorker.join(connection, LONGER)
    while items := await worker.claim():
        await worker.end_all([(item, None) for item in items])
    told = (await command("run", "compare", first, second, "--json")).json
    assert [run["id"] for run in told["runs"]] == [first, second]
    assert (told["same_dag"], told["same_version"], told["same_code"]) == (True, False, True)
    assert told["parameters"] == [{"name": "day", "values": [None, 7], "given": [False, True]}]
    changed = {task["name"]: task["changed"] for task in told["tasks"]}
    assert changed == {"t0": [], "t1": ["state"], "t2": ["state"], "t3": []}
    assert [task["runs"][0] for task in told["tasks"]][3] is None
    text = (await command("run", "compare", first, second)).out
    assert "only in run" in text
    assert "parameter day" in text
    assert "upstream failed" in text
    same = (await command("run", "compare", first, first, "--json")).json
    assert not any(task["changed"] for task in same["tasks"])
    assert (await command("run", "compare", first, 999)).code == 2
