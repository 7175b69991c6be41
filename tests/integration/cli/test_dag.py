"""`mainspring dag list|show|trigger`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec

from mainspring.domain.specs import DagSpec, ParameterSpec, RetrySpec, TaskSpec
from mainspring.store.attempts import Claimed
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import register_dag, set_file_problems
from tests.integration.cli.conftest import Command
from tests.support.factory import BareWorker, dag_of, failure, start_dag

BOTH_ROADS = True

SALES = DagSpec(
    name="sales",
    tasks=(
        TaskSpec("extract", "m:extract", retry=RetrySpec(attempts=3), timeout_seconds=60),
        TaskSpec("load", "m:load", queue="io"),
    ),
    edges=((0, 1),),
    parameters=(
        ParameterSpec("region", {"type": "string"}, required=False, default="eu"),
        ParameterSpec("days", {"type": "integer"}),
    ),
    description="Sales per region.",
    owner="ana",
    tags=("nightly",),
)


async def _claim_soon(worker: BareWorker) -> Claimed:
    for _ in range(1000):
        if claimed := await worker.claim():
            return claimed[0]
        await asyncio.sleep(0.01)
    raise AssertionError("nothing to claim")


async def test_a_list_shows_dags_their_last_runs_and_broken_files(
    connection: Connection, command: Command
) -> None:
    await register_dag(connection, SALES, "snapshot", file="sales.py")
    run_id = await start_dag(connection, dag_of(name="hello"))
    await set_file_problems(connection, [("bad.py", 3, "SyntaxError: oh\x1b[31m")])

    answer = await command("dag", "list")
    assert answer.code == 0
    assert f"run {run_id}" in answer.out
    assert "bad.py:3" in answer.out
    assert "\x1b" not in answer.out
    hello, sales = (await command("dag", "list", "--json")).json
    assert hello["last_run"]["id"] == run_id
    assert hello["last_run"]["state"] == "queued"
    assert (sales["name"], sales["version"], sales["task_count"]) == ("sales", 1, 2)
    assert (sales["tags"], sales["last_run"]) == (["nightly"], None)


async def test_a_list_is_narrowed_by_owner_and_tags(
    connection: Connection, command: Command
) -> None:
    for name, owner, tags in (
        ("a", "ana", ("nightly", "sales")),
        ("b", "ana", ("nightly",)),
        ("c", "bo", ("sales",)),
    ):
        spec = msgspec.structs.replace(dag_of(name=name), owner=owner, tags=tags)
        await register_dag(connection, spec, "snapshot")

    async def found(*options: str) -> str:
        return "".join(
            dag["name"] for dag in (await command("dag", "list", *options, "--json")).json
        )

    assert await found("--owner", "ana") == "ab"
    assert await found("--tag", "sales") == "ac"
    assert await found("--tag", "sales", "--tag", "nightly") == "a"
    assert await found("--owner", "bo", "--tag", "nightly") == ""
    shown = await command("dag", "list", "--owner", "bo")
    assert "bo" in shown.out
    assert "nightly" not in shown.out
    assert "No dag is like that." in (await command("dag", "list", "--tag", "none")).out


async def test_other_words_about_a_dag_are_stored_and_make_no_new_version(
    connection: Connection, command: Command
) -> None:
    first = await register_dag(connection, SALES, "snapshot")
    extract, load = SALES.tasks
    told = msgspec.structs.replace(
        SALES,
        description="Better.",
        doc="Better.\n\n# Why\n\nIt is *clear*\x1b[31m now.",
        owner="bo",
        tags=("daily", "sales"),
        tasks=(extract, msgspec.structs.replace(load, description="Into the warehouse.")),
    )
    second = await register_dag(connection, told, "snapshot")
    assert (second.version_id, second.version, second.changed) == (first.version_id, 1, False)

    found = (await command("dag", "show", "sales", "--json")).json
    assert (found["version"], found["description"], found["owner"]) == (1, "Better.", "bo")
    assert (found["doc"], found["tags"]) == (told.doc, ["daily", "sales"])
    assert [task["description"] for task in found["tasks"]] == ["", "Into the warehouse."]
    (line,) = (await command("dag", "list", "--json")).json
    assert (line["description"], line["owner"], line["tags"]) == (
        "Better.",
        "bo",
        ["daily", "sales"],
    )
    shown = (await command("dag", "show", "sales")).out
    assert "Into the warehouse." in shown
    assert "It is clear" in shown
    assert "\x1b" not in shown


async def test_an_empty_list_is_an_empty_array(command: Command) -> None:
    assert (await command("dag", "list", "--json")).json == []
    assert "no dags yet" in (await command("dag", "list")).out


async def test_a_dag_is_shown_with_parameters_and_tasks(
    connection: Connection, command: Command
) -> None:
    await register_dag(connection, SALES, "snapshot", file="sales.py")
    answer = await command("dag", "show", "sales")
    for words in ("Sales per region.", "required", "└─ load", "up to 3 attempts", "timeout 1 min"):
        assert words in answer.out
    shown = (await command("dag", "show", "sales", "--json")).json
    assert [task["after"] for task in shown["tasks"]] == [[], ["extract"]]
    assert shown["parameters"][1] == {
        "name": "days",
        "schema": {"type": "integer"},
        "required": True,
        "default": None,
    }


async def test_a_dag_of_ten_thousand_tasks_does_not_flood_the_screen(
    connection: Connection, command: Command
) -> None:
    await register_dag(connection, dag_of(tasks=10_000, name="big"), "snapshot")
    answer = await command("dag", "show", "big")
    assert "10,000 tasks" in answer.out
    assert len(answer.out.splitlines()) < 20


async def test_an_unknown_dag_is_a_usage_error_with_the_nearest_name(
    connection: Connection, command: Command
) -> None:
    await register_dag(connection, SALES, "snapshot")
    for arguments in (
        ("dag", "show", "slaes"),
        ("dag", "trigger", "slaes"),
        ("run", "show", "slaes"),
    ):
        answer = await command(*arguments)
        assert answer.code == 2
        assert "did you mean `sales`?" in answer.err


async def test_a_trigger_makes_a_run_with_defaults_filled_in(
    connection: Connection, command: Command
) -> None:
    await register_dag(connection, SALES, "snapshot")
    answer = await command("dag", "trigger", "sales", "-p", "days=3", "--json")
    assert answer.code == 0
    assert answer.json["state"] == "queued"
    assert answer.json["created_by"]
    run = (await command("run", "show", answer.json["id"], "--json")).json
    assert run["parameters"] == {"region": "eu", "days": 3}
    assert (run["trigger"], run["dag"], run["version"]) == ("manual", "sales", 1)


async def test_bad_parameters_make_no_run(connection: Connection, command: Command) -> None:
    await register_dag(connection, SALES, "snapshot")
    for arguments in (
        (),
        ("-p", "days=x"),
        ("-p", "days=1", "-p", "dyas=1"),
        ("--params", "nonsense"),
        ("-p", "days=1", "--in", "soon"),
        ("-p", "days=1", "--key", ""),
    ):
        answer = await command("dag", "trigger", "sales", *arguments)
        assert answer.code == 2, arguments
        assert answer.err.startswith("error: ")
    assert await fetch(connection, "select 1 from mainspring.run") == []


async def test_a_start_time_is_kept(connection: Connection, command: Command) -> None:
    await register_dag(connection, dag_of(name="hello"), "snapshot")
    run = (await command("dag", "trigger", "hello", "--in", "1h", "--json")).json
    due_at = datetime.fromisoformat(run["due_at"])
    assert abs(due_at - datetime.now(UTC) - timedelta(hours=1)) < timedelta(minutes=1)
    run = (await command("dag", "trigger", "hello", "--at", "2100-01-01T00:00Z", "--json")).json
    assert run["due_at"] == "2100-01-01T00:00:00Z"


async def test_one_key_makes_one_run_and_another_body_is_a_conflict(
    connection: Connection, command: Command
) -> None:
    await register_dag(connection, SALES, "snapshot")
    arguments = ("dag", "trigger", "sales", "--key", "k", "--json", "-p")
    first = await command(*arguments, "days=1")
    again = await command(*arguments, "days=1")
    assert first.json["id"] == again.json["id"]
    other = await command(*arguments, "days=2")
    assert other.code == 2
    assert '"code":"idempotency_key"' in other.err


async def test_waiting_ends_with_the_run_and_tells_its_verdict(
    connection: Connection, command: Command
) -> None:
    spec = dag_of(name="hello")
    await register_dag(connection, spec, "snapshot")
    worker = await BareWorker.join(connection, spec)
    for outcome, code, words in (
        (None, 0, ["succeeded"]),
        (failure("oh no"), 1, ["failed", "ValueError: oh no"]),
    ):
        waiting = asyncio.create_task(command("dag", "trigger", "hello", "--wait"))
        claimed = await _claim_soon(worker)
        await worker.end(claimed, outcome)
        answer = await waiting
        assert answer.code == code
        assert f"run {claimed.run_id} {words[0]}" in answer.out
        assert words[-1] in answer.out


async def test_waiting_with_json_prints_one_document_with_results(
    connection: Connection, command: Command
) -> None:
    spec = dag_of(name="hello")
    await register_dag(connection, spec, "snapshot")
    worker = await BareWorker.join(connection, spec)
    waiting = asyncio.create_task(command("dag", "trigger", "hello", "--wait", "--json"))
    await worker.end(await _claim_soon(worker))
    run = (await waiting).json
    assert run["state"] == "succeeded"
    assert run["tasks"][0]["state"] == "succeeded"
