"""Sending a run twice makes one run, whatever got lost in between."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.errors import ConflictError
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import Registered, register_dag
from mainspring.store.history import archive_runs
from mainspring.store.ids import Ids
from mainspring.store.runs import NewRun, create_runs, stop_runs
from tests.integration.store.lockstep import until_waiting
from tests.support.factory import dag_of

ROUNDS = 30


@pytest.fixture
async def dag(connection: Connection) -> Registered:
    return await register_dag(connection, dag_of([(0, 1)], tasks=2), "snapshot")


async def new_run(
    connection: Connection, dag: Registered, key: str | None = None, body: bytes = b"1"
) -> NewRun:
    run_id = await Ids().take(connection, 2)
    return NewRun(run_id, dag.version_id, dag.snapshot_id, key=key, body=body)


async def rows(connection: Connection, table: str) -> int:
    count: int = await connection.fetchval(f"select count(*) from mainspring.{table}")
    return count


async def test_a_bare_retry_with_the_same_id_makes_one_run(
    connection: Connection, dag: Registered
) -> None:
    run = await new_run(connection, dag)
    first = await create_runs(connection, [run])
    again = await create_runs(connection, [run])
    assert first.ids == again.ids == [run.id]
    assert first.lanes
    assert not again.lanes
    assert await rows(connection, "task") == 2
    assert await rows(connection, "ready") == 1


async def test_the_same_key_with_the_same_body_is_the_same_run(
    connection: Connection, dag: Registered
) -> None:
    runs = [await new_run(connection, dag, "welcome:42") for _ in range(3)]
    answers = [(await create_runs(connection, [run])).ids for run in runs]
    assert answers == [[runs[0].id]] * 3
    assert await rows(connection, "run") == 1


async def test_the_same_key_with_another_body_is_a_conflict_and_makes_nothing(
    connection: Connection, dag: Registered
) -> None:
    first = await new_run(connection, dag, "welcome:42")
    await create_runs(connection, [first])
    other = await new_run(connection, dag, "welcome:42", body=b"2")
    with pytest.raises(ConflictError, match=f"`welcome:42` was used .* \\(run {first.id}\\)"):
        await create_runs(connection, [other])
    assert await rows(connection, "run") == 1
    assert await rows(connection, "task") == 2


async def test_a_conflict_in_a_batch_makes_nothing_of_the_batch(
    connection: Connection, dag: Registered
) -> None:
    await create_runs(connection, [await new_run(connection, dag, "taken")])
    batch = [
        await new_run(connection, dag),
        await new_run(connection, dag, "free"),
        await new_run(connection, dag, "taken", body=b"2"),
    ]
    with pytest.raises(ConflictError):
        await create_runs(connection, batch)
    assert await rows(connection, "run") == 1
    assert await rows(connection, "idempotency") == 1


async def test_a_conflict_leaves_the_rest_of_the_callers_transaction_alone(
    connection: Connection, dag: Registered
) -> None:
    await create_runs(connection, [await new_run(connection, dag, "taken")])
    async with connection.transaction():
        await create_runs(connection, [await new_run(connection, dag)])
        batch = [
            await new_run(connection, dag),
            await new_run(connection, dag, "taken", body=b"2"),
        ]
        with pytest.raises(ConflictError):
            await create_runs(connection, batch)
        await create_runs(connection, [await new_run(connection, dag)])
    assert await rows(connection, "run") == 3


async def test_one_key_twice_in_a_batch_is_one_run(connection: Connection, dag: Registered) -> None:
    runs = [await new_run(connection, dag, "twice") for _ in range(2)]
    created = await create_runs(connection, runs)
    assert created.ids[0] == created.ids[1]
    assert await rows(connection, "run") == 1
    # And the answer is the same when it is asked again.
    assert (await create_runs(connection, runs)).ids == created.ids


async def test_the_second_of_two_transactions_with_one_key_waits_and_gets_the_firsts_run(
    connection: Connection, other: Connection, dag: Registered
) -> None:
    first, second = [await new_run(connection, dag, "raced") for _ in range(2)]
    transaction = connection.transaction()
    await transaction.start()
    await create_runs(connection, [first])
    waiting = asyncio.create_task(create_runs(other, [second]))
    await until_waiting(connection, other)
    await transaction.commit()
    assert (await waiting).ids == [first.id]
    assert await rows(connection, "run") == 1


async def test_the_second_makes_the_run_when_the_first_gives_up(
    connection: Connection, other: Connection, dag: Registered
) -> None:
    first, second = [await new_run(connection, dag, "raced") for _ in range(2)]
    transaction = connection.transaction()
    await transaction.start()
    await create_runs(connection, [first])
    waiting = asyncio.create_task(create_runs(other, [second]))
    await until_waiting(connection, other)
    await transaction.rollback()
    assert (await waiting).ids == [second.id]
    assert [row["id"] for row in await fetch(connection, "select id from mainspring.run")] == [
        second.id
    ]


async def test_many_callers_with_the_same_keys_in_any_order_agree(
    connection: Connection, other: Connection, dag: Registered
) -> None:
    """Keys are taken in one order, so that nobody waits in a circle."""
    for number in range(ROUNDS):
        keys = [f"{number}:{place}" for place in range(10)]
        batches = [
            [await new_run(connection, dag, key) for key in order] for order in (keys, keys[::-1])
        ]
        first, second = await asyncio.gather(
            create_runs(connection, batches[0]), create_runs(other, batches[1])
        )
        assert first.ids == second.ids[::-1]
    assert await rows(connection, "run") == ROUNDS * 10


async def test_a_retry_after_the_run_went_to_history_makes_no_second_run(
    connection: Connection, dag: Registered
) -> None:
    runs = [await new_run(connection, dag), await new_run(connection, dag, "kept")]
    await create_runs(connection, runs)
    await stop_runs(connection, [run.id for run in runs], "cancel")
    archived = await archive_runs(connection, 0, 100, datetime.now(UTC) + timedelta(days=1))
    assert archived.moved == 2
    for run in runs:
        created = await create_runs(connection, [run])
        assert (created.ids, created.lanes) == ([run.id], set())
    assert await rows(connection, "run") == 0
    assert await rows(connection, "ready") == 0
