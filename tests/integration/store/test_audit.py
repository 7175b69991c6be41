"""The audit finds what nothing would ever move on, and only that; mending puts it back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.outcomes import HandedBack
from mainspring.store.connection import Connection
from mainspring.store.duties import audit_open, mend_stuck
from tests.support.factory import DEFAULT_LANE, BareWorker, dag_of, run_state, start_dag

ONE = dag_of()


async def forget_its_queue_row(connection: Connection) -> None:
    await connection.execute("delete from mainspring.ready")


async def forget_its_claim(connection: Connection) -> None:
    await (await BareWorker.join(connection, ONE)).claim()
    await connection.execute("delete from mainspring.claim")


async def forget_its_backoff(connection: Connection) -> None:
    worker = await BareWorker.join(connection, ONE)
    [item] = await worker.claim()
    await worker.end(item, HandedBack("later", delay_seconds=60))
    await connection.execute("delete from mainspring.timer")


@pytest.mark.parametrize(
    "forget", [forget_its_queue_row, forget_its_claim, forget_its_backoff], ids=lambda f: f.__name__
)
async def test_a_forgotten_task_is_found_and_put_back_under_a_higher_term(
    connection: Connection, forget: object
) -> None:
    run_id = await start_dag(connection, ONE)
    assert (await audit_open(connection, 0, 100)).stuck == []
    assert callable(forget)
    await forget(connection)
    audit = await audit_open(connection, 0, 100)
    [(task_id, term)] = audit.stuck
    assert task_id == run_id
    assert await mend_stuck(connection, audit.stuck) == {DEFAULT_LANE}
    assert (await audit_open(connection, 0, 100)).stuck == []
    worker = await BareWorker.join(connection, ONE)
    [item] = await worker.claim()
    assert item.term == term + 1
    await worker.end(item)
    assert await run_state(connection, run_id) == "succeeded"


async def test_a_forgotten_start_is_found(connection: Connection) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    run_id = await start_dag(connection, ONE, due_at=later)
    assert (await audit_open(connection, 0, 100)).stuck == []
    await connection.execute("delete from mainspring.timer")
    assert (await audit_open(connection, 0, 100)).stuck == [(run_id, 1)]
    await mend_stuck(connection, [(run_id, 1)])
    assert len(await (await BareWorker.join(connection, ONE)).claim()) == 1


async def test_the_audit_walks_in_slices(connection: Connection) -> None:
    runs = [await start_dag(connection, ONE) for _ in range(5)]
    seen, first = [], 0
    while (audit := await audit_open(connection, first, 2)).last is not None:
        seen.append(audit.seen)
        first = audit.last + 1
    assert seen == [2, 2, 1]
    assert first == runs[-1] + 1


async def test_mending_what_moved_on_changes_nothing(connection: Connection) -> None:
    run_id = await start_dag(connection, ONE)
    await forget_its_queue_row(connection)
    stuck = (await audit_open(connection, 0, 100)).stuck
    assert await mend_stuck(connection, stuck) == {DEFAULT_LANE}
    assert await mend_stuck(connection, stuck) == set()
    assert await connection.fetchval("select count(*) from mainspring.ready") == 1
    assert await run_state(connection, run_id) == "running"
