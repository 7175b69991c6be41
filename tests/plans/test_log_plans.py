"""Logs are written, read and found without a look at all tasks."""

from __future__ import annotations

from mainspring.store.connection import Connection
from mainspring.store.logs import LONG_BYTES
from tests.plans.plan import explain

HOT = {"run", "task"}


async def test_a_chunk_finds_its_task_by_key(plain_connection: Connection) -> None:
    task_id = await plain_connection.fetchval(
        "select max(id) from mainspring.task where finished_at is null"
    )
    chunks = ([task_id] * 3, [1] * 3, [0, 10, 20], [b"x" * 10] * 3)
    plan = await explain(plain_connection, "append_log", *chunks, LONG_BYTES, run=True)
    assert not plan.read_whole() & HOT, plan.text


async def test_the_logs_of_a_run_are_found_by_key(plain_connection: Connection) -> None:
    run_id = await plain_connection.fetchval("select max(id) from mainspring.run")
    plan = await explain(plain_connection, "list_logs", run_id, run_id + 4, LONG_BYTES, run=True)
    assert not plan.read_whole() & HOT, plan.text


async def test_logs_to_be_moved_are_found_by_what_is_noted(plain_connection: Connection) -> None:
    plan = await explain(plain_connection, "find_long_logs", 20, 5.0, run=True)
    assert not plan.read_whole() & HOT, plan.text
