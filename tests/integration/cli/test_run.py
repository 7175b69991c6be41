"""`mainspring run list|show|watch|cancel|why`."""

from __future__ import annotations

import asyncio

from mainspring.domain.outcomes import Succeeded
from mainspring.domain.specs import RetrySpec
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import register_dag
from mainspring.store.statements import statement
from tests.integration.cli.conftest import Command
from tests.support.factory import BareWorker, dag_of, failure, start_dag, start_run

BOTH_ROADS = True

CHAIN = dag_of([(0, 1)], tasks=2, retry=RetrySpec(attempts=3, first_seconds=3600))


async def test_runs_are_listed_newest_first_and_page_by_id(
    connection: Connection, command: Command
) -> None:
    dag = await register_dag(connection, dag_of(), "snapshot")
    ids = sorted([await start_run(connection, dag) for _ in range(5)], reverse=True)
    first = (await command("run", "list", "--limit", 3, "--json")).json
    assert [run["id"] for run in first] == ids[:3]
    rest = (await command("run", "list", "--before", ids[2], "--json")).json
    assert [run["id"] for run in rest] == ids[3:]


async def test_runs_are_found_by_dag_and_state(connection: Connection, command: Command) -> None:
    spec = dag_of(name="hello")
    worker = await BareWorker.join(connection, spec)
    failed = await start_dag(connection, spec)
    await worker.end((await worker.claim())[0], failure())
    queued = await start_dag(connection, spec)
    other = await start_dag(connection, dag_of(name="other"))

    async def found(*options: str) -> list[int]:
        return [run["id"] for run in (await command("run", "list", "--json", *options)).json]

    assert await found() == [other, queued, failed]
    assert await found("--dag", "hello") == [queued, failed]
    assert await found("--state", "failed") == [failed]
    assert await found("--dag", "hello", "--state", "queued") == [queued]
    assert await found("--dag", "other", "--state", "failed") == []


async def test_a_run_is_named_by_number_by_dag_or_as_the_last(
    connection: Connection, command: Command
) -> None:
    hello = await start_dag(connection, dag_of(name="hello"))
    other = await start_dag(connection, dag_of(name="other"))
    for reference, run_id in ((hello, hello), ("hello", hello), ("last", other), ("other", other)):
        assert (await command("run", "show", reference, "--json")).json["id"] == run_id
    for reference in ("999999", str(2**70), "nobody"):
        assert (await command("run", "show", reference)).code == 2
    await register_dag(connection, dag_of(name="idle"), "snapshot")
    assert "has not run yet" in (await command("run", "show", "idle")).err


async def test_last_without_any_run_says_so(command: Command) -> None:
    answer = await command("run", "show", "last")
    assert answer.code == 2
    assert "there is no run yet" in answer.err


async def test_a_failed_run_shows_its_error_and_attempts(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    await worker.end((await worker.claim())[0], failure("first"))
    await fetch(connection, "update mainspring.timer set due_at = now() - interval '1 second'")
    await fetch(connection, "update mainspring.task set due_at = now() - interval '1 second'")
    await fetch(connection, statement("wake_backoff"), None, 10)
    await worker.end((await worker.claim())[0], failure("second \x1b[31m", retry=False))

    answer = await command("run", "show", run_id)
    assert "✗ failed" in answer.out
    assert "t0: ValueError: second ␛[31m" in answer.out
    assert "upstream failed" in answer.out
    run = (await command("run", "show", run_id, "--json")).json
    assert (run["state"], run["failed_task"], run["error"]["type"]) == (
        "failed",
        "t0",
        "ValueError",
    )
    first, second = run["tasks"]
    assert [attempt["state"] for attempt in first["attempts"]] == ["failed", "failed"]
    assert (first["attempt"], first["attempts_max"]) == (2, 3)
    assert (second["state"], second["attempts"]) == ("upstream_failed", [])


async def test_results_are_in_the_document_unless_they_are_huge(
    connection: Connection, command: Command
) -> None:
    spec = dag_of(tasks=3)
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    results = [b'{"rows": 3}', b'"' + b"x" * 5000 + b'"', b'"' + b"x" * 2_000_000 + b'"']
    for claimed, result in zip(await worker.claim(), results, strict=True):
        await worker.end(claimed, Succeeded(result))
    tasks = (await command("run", "show", run_id, "--json")).json["tasks"]
    assert [task["result_bytes"] for task in tasks] == [len(result) for result in results]
    assert tasks[0]["result"] == {"rows": 3}
    assert tasks[1]["result"] == "x" * 5000
    assert tasks[2]["result"] is None
    assert len((await command("run", "show", run_id)).out) < 3000


async def test_a_run_of_many_tasks_is_summarised(connection: Connection, command: Command) -> None:
    spec = dag_of(tasks=500)
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    claimed = await worker.claim(2)
    await worker.end(claimed[0], failure("oh no"))
    answer = await command("run", "show", run_id)
    assert "○ ready 498" in answer.out
    assert "✗ failed 1" in answer.out
    assert len(answer.out.splitlines()) < 30
    assert len((await command("run", "show", run_id, "--json")).json["tasks"]) == 500


async def test_watching_tells_changes_and_ends_with_the_run(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    watching = asyncio.create_task(command("run", "watch", run_id))
    for _ in range(2):
        await worker.end((await worker.claim())[0])
    answer = await watching
    assert answer.code == 0
    assert "t1  succeeded" in answer.out
    assert f"run {run_id} succeeded" in answer.out.splitlines()[-1]


async def test_watching_a_closed_run_ends_at_once(connection: Connection, command: Command) -> None:
    run_id = await start_dag(connection, CHAIN)
    assert (await command("run", "cancel", run_id)).code == 0
    answer = await command("run", "watch", run_id)
    assert answer.code == 1
    assert f"run {run_id} cancelled" in answer.out


async def test_a_cancel_closes_what_waits_and_asks_what_runs(
    connection: Connection, command: Command
) -> None:
    waiting = await start_dag(connection, CHAIN)
    answer = await command("run", "cancel", waiting, "--json")
    assert (answer.json["state"], answer.json["asked_to_stop"]) == ("cancelled", 0)
    assert "had ended before" in (await command("run", "cancel", waiting)).out

    running = await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    await worker.claim()
    assert "1 running task asked to end" in (await command("run", "cancel", running)).out


async def test_why_finds_the_root_cause(connection: Connection, command: Command) -> None:
    run_id = await start_dag(connection, CHAIN)
    answer = await command("run", "why", run_id, "t1")
    assert answer.code == 0
    assert answer.out.startswith("t1 waits: t0 is ready for ")
    assert "no worker lives" in answer.out

    worker = await BareWorker.join(connection, CHAIN)
    await worker.end((await worker.claim())[0], failure("refused"))
    words = (await command("run", "why", run_id, "t1")).out
    assert words.startswith(
        "t1 waits: t0 is in backoff after attempt 1 of 3 (ValueError: refused), next try in "
    )
    told = (await command("run", "why", run_id, "--json")).json
    assert [cause["task"] for cause in told["causes"]] == ["t0"]
    assert [cause["reason"] for cause in told["causes"]] == ["backoff"]


async def test_why_names_a_pause_and_the_command_that_ends_it(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, CHAIN)
    name = CHAIN.name
    await command("dag", "pause", name, "--note", "bad data")
    await command("queue", "pause", "default")
    for words in (("run", "why", run_id), ("run", "why", run_id, "t1")):
        out = (await command(*words)).out
        assert ": bad data and the queue `default` was paused" in out.replace("\n", " ")
        assert f"→ let the dag go on: mainspring dag resume {name}" in out
        assert "→ let the queue go on: mainspring queue resume default" in out
    told = (await command("run", "why", run_id, "--json")).json
    [cause] = told["causes"]
    assert told["dag_pause"]["note"] == "bad data"
    assert cause["reason"] == "dag_paused"
    assert [step["command"] for step in cause["unblocks"]] == [
        f"mainspring dag resume {name}",
        "mainspring queue resume default",
    ]


async def test_why_counts_what_is_ahead_in_the_queue(
    connection: Connection, command: Command
) -> None:
    spec = dag_of()
    dag = await register_dag(connection, spec, "snapshot")
    last = [await start_run(connection, dag) for _ in range(13)][-1]
    worker = await BareWorker.join(connection, spec)
    await worker.claim(10)
    words = (await command("run", "why", last)).out
    assert "all 10 `async` slots in the queue `default` are busy and 2 tasks are ahead" in words


async def test_why_of_a_running_task_names_its_worker(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, dag_of())
    worker = await BareWorker.join(connection, dag_of())
    await worker.claim()
    assert "t0 runs on worker `bare`" in (await command("run", "why", run_id)).out


async def test_why_of_an_unknown_task_lists_the_names(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, CHAIN)
    answer = await command("run", "why", run_id, "nope")
    assert answer.code == 2
    assert "its tasks are `t0` and `t1`" in answer.err
