"""Workers that were asked to drain: from the answer on they are given nothing."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest

from mainspring.domain.draining import Drain
from mainspring.domain.errors import ConflictError, NotFoundError
from mainspring.store.attempts import renew_lease
from mainspring.store.connection import Connection, fetch
from mainspring.store.drains import drain_worker, resume_worker
from mainspring.store.gateway import Seat, claim_together, read_stops
from mainspring.store.reading import list_workers
from tests.integration.store.lockstep import until_waiting
from tests.support.factory import DEFAULT_LANE, BareWorker, dag_of, start_dag

ONE = dag_of(name="one")
CHAIN = dag_of([(0, 1)], tasks=2, name="chain")


async def _beat(worker: BareWorker, *, draining: bool = False) -> Drain | None:
    hour = timedelta(hours=1)
    renewed = await renew_lease(
        worker.connection, worker.id, [], draining=draining, claims_known_after=hour
    )
    return renewed.drain


async def test_a_drained_worker_is_given_neither_tasks_nor_children_until_it_is_resumed(
    connection: Connection,
) -> None:
    one = await BareWorker.join(connection, CHAIN)
    other = await BareWorker.join(connection, CHAIN)
    run_id = await start_dag(connection, CHAIN)
    [first] = await one.claim()
    assert (await drain_worker(connection, str(one.id), then=Drain.STAY, by="ada")).before is None
    await start_dag(connection, CHAIN)
    assert await one.claim() == []
    completed = await one.end(first, grant={DEFAULT_LANE: 5})
    assert (completed.refused, completed.grants) == ({}, []), "its end counts, and brings nothing"
    assert await _beat(one) is Drain.STAY
    taken = await other.claim()
    assert run_id in {task.run_id for task in taken}
    assert len(taken) == 2
    await other.end(taken[0])
    again = await drain_worker(connection, str(one.id), then=Drain.STOP, note="the disk")
    assert again.before is not None
    assert again.before.by == "ada"
    [line] = [line for line in await list_workers(connection) if line.id == one.id]
    assert line.draining
    assert line.drain is not None
    assert (line.drain.then, line.drain.by, line.drain.note) == (Drain.STOP, "ada", "the disk")
    await resume_worker(connection, str(one.id))
    assert await _beat(one) is None
    await start_dag(connection, CHAIN)
    assert await one.claim()


async def test_among_many_workers_only_the_others_are_seated(connection: Connection) -> None:
    workers = [await BareWorker.join(connection, ONE) for _ in range(3)]
    runs = [await start_dag(connection, ONE) for _ in range(3)]
    await drain_worker(connection, str(workers[0].id), then=Drain.STAY)
    await fetch(connection, "delete from mainspring.lease where worker_id = $1", workers[1].id)
    seats = [Seat(uuid4(), worker.id) for worker in workers]
    served = await claim_together(connection, seats, DEFAULT_LANE, (0,) * 10)
    assert served.drained == {workers[0].id}
    assert served.reaped == {workers[1].id}
    assert [task.run_id for task in served.tasks[seats[2].claim_id]] == runs[:1]
    ids = [worker.id for worker in workers]
    assert await read_stops(connection, ids) == {workers[0].id}, "it has not said that it drains"
    await _beat(workers[0], draining=True)
    assert await read_stops(connection, ids) == set()
    await resume_worker(connection, str(workers[0].id))
    assert await read_stops(connection, ids) == {workers[0].id}


async def test_a_drain_is_answered_after_the_claims_under_way_and_seen_by_those_that_wait(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    worker = await BareWorker.join(connection, ONE)
    for _ in range(2):
        await start_dag(connection, ONE)
    async with connection.transaction():
        assert len(await worker.claim(1)) == 1
        asked = asyncio.create_task(drain_worker(other, str(worker.id), then=Drain.STAY))
        await until_waiting(observer, other)
    await asked
    assert await worker.claim(1) == []
    await resume_worker(other, str(worker.id))
    async with other.transaction():
        await drain_worker(other, str(worker.id), then=Drain.STAY)
        claiming = asyncio.create_task(worker.claim(1))
        await until_waiting(observer, connection)
    assert await claiming == [], "though it began before the drain was committed"


async def test_a_worker_is_found_by_its_name_if_that_is_clear(connection: Connection) -> None:
    with pytest.raises(NotFoundError, match="no living worker"):
        await drain_worker(connection, "bare", then=Drain.STAY)
    first = await BareWorker.join(connection, ONE)
    assert (await drain_worker(connection, "bare", then=Drain.STAY)).id == first.id
    await BareWorker.join(connection, ONE)
    with pytest.raises(ConflictError, match="several"):
        await resume_worker(connection, "bare")
