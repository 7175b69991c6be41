"""`mainspring run logs`."""

from __future__ import annotations

import asyncio

from mainspring.domain.specs import RetrySpec
from mainspring.store.attempts import append_log
from mainspring.store.connection import Connection, fetch
from mainspring.store.statements import statement
from tests.integration.cli.conftest import Command
from tests.support.factory import BareWorker, dag_of, failure, start_dag

PAIR = dag_of(tasks=2, retry=RetrySpec(attempts=2, first_seconds=0.001))


async def test_logs_of_a_run_are_prefixed_and_of_a_task_are_not(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, PAIR)
    await append_log(
        connection,
        [(run_id, 1, 0, b"one\n"), (run_id + 1, 1, 0, b"two\xff\x00"), (run_id, 1, 1, b"!")],
    )
    assert (await command("run", "logs", run_id)).out == "t0 │ one\nt0 │ !\nt1 │ two�␀\n"
    assert (await command("run", "logs", run_id, "t0")).out == "one\n!"
    chunks = (await command("run", "logs", run_id, "--json")).json
    assert [(chunk["task"], chunk["text"]) for chunk in chunks] == [
        ("t0", "one\n"),
        ("t0", "!"),
        ("t1", "two�\x00"),
    ]


async def test_attempts_are_told_apart(connection: Connection, command: Command) -> None:
    run_id = await start_dag(connection, PAIR)
    worker = await BareWorker.join(connection, PAIR)
    claimed = (await worker.claim(1))[0]
    await append_log(connection, [(run_id, 1, 0, b"first\n")])
    await worker.end(claimed, failure())
    await asyncio.sleep(0.01)
    await fetch(connection, statement("wake_backoff"), None, 10)
    await append_log(connection, [(run_id, 2, 0, b"second\n")])
    assert (await command("run", "logs", run_id, "t0")).out == "first\nsecond\n"
    assert (await command("run", "logs", run_id, "t0", "--attempt", 1)).out == "first\n"
    assert (await command("run", "logs", run_id, "t0", "--attempt", 2)).out == "second\n"
    assert (await command("run", "logs", run_id, "t0", "--term", 2)).out == "second\n"
    assert (await command("run", "logs", run_id, "t0", "--attempt", 3)).code == 2
    assert (await command("run", "logs", run_id, "--attempt", 1)).code == 2


async def test_following_goes_on_until_the_run_has_ended(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, PAIR)
    worker = await BareWorker.join(connection, PAIR)
    claimed = await worker.claim()
    await append_log(connection, [(run_id, 1, 0, b"early\n")])
    following = asyncio.create_task(command("run", "logs", run_id, "-f"))
    await asyncio.sleep(0.3)
    await append_log(connection, [(run_id + 1, 1, 0, b"late\n")])
    for each in claimed:
        await worker.end(each)
    answer = await following
    assert answer.code == 0
    assert answer.out == "t0 │ early\nt1 │ late\n"


async def test_many_chunks_come_in_order(connection: Connection, command: Command) -> None:
    run_id = await start_dag(connection, dag_of())
    chunks = [(run_id, 1, number, b"%06d\n" % number) for number in range(1000)]
    await append_log(connection, chunks)
    answer = await command("run", "logs", run_id)
    assert answer.out == "".join(f"{number:06}\n" for number in range(1000))


async def test_no_output_and_unknown_tasks_are_told(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, PAIR)
    answer = await command("run", "logs", run_id)
    assert (answer.code, answer.out) == (0, "")
    assert "nothing was written" in answer.err
    answer = await command("run", "logs", run_id, "t9")
    assert answer.code == 2
    assert "its tasks are `t0` and `t1`" in answer.err
