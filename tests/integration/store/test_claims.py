"""Who gets which task, and who gets none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from mainspring.domain.lanes import Lane, SlotKind
from mainspring.domain.outcomes import Error, HandedBack, Lost
from mainspring.domain.specs import DagSpec, TaskSpec
from mainspring.store.attempts import (
    Reaped,
    complete_attempts,
    drop_claims,
    end_worker,
    read_claims,
    renew_lease,
)
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import ensure_queues
from mainspring.store.runs import stop_runs
from tests.support.factory import (
    DEFAULT_LANE,
    BareWorker,
    dag_of,
    run_state,
    start_dag,
    task_states,
)

ONE = dag_of()


def of_priority(priority: int) -> DagSpec:
    task = TaskSpec(name="t0", entry="sample:task", kind=SlotKind.ASYNC, priority=priority)
    return DagSpec(name=f"priority{priority}", tasks=(task,))


async def reap(connection: Connection, worker: BareWorker) -> None:
    """Its claims are gone, and its lease with them; the tasks are not looked after here."""
    await drop_claims(connection, worker.id, None)
    await end_worker(connection, worker.id, "reaped")


async def test_urgent_tasks_are_claimed_first_and_equals_in_the_order_of_arrival(
    connection: Connection,
) -> None:
    arrived = [(priority, await start_dag(connection, of_priority(priority)))
               for priority in (5, 0, 9, 5, 9, 0)]  # fmt: skip
    worker = await BareWorker.join(connection, ONE)
    claimed = [item.run_id for _ in arrived for item in await worker.claim(1)]
    assert claimed == [run_id for _, run_id in sorted(arrived, key=lambda each: -each[0])]


async def test_a_task_that_comes_back_stands_behind_those_that_waited(
    connection: Connection,
) -> None:
    first, second = await start_dag(connection, ONE), await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    [item] = await worker.claim(1)
    assert item.run_id == first
    await worker.end(item, HandedBack("drained"))
    order = [item.run_id for _ in range(2) for item in await worker.claim(1)]
    assert order == [second, first]


@pytest.mark.parametrize("limit", [0, 1, 4, 7, 100])
async def test_a_claim_never_takes_more_than_it_may(connection: Connection, limit: int) -> None:
    for _ in range(7):
        await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    assert len(await worker.claim(limit)) == min(limit, 7)


async def test_a_claim_takes_from_its_own_lane_only(connection: Connection) -> None:
    queues = await ensure_queues(connection, ["default", "io"])
    lanes = {
        (queue, kind): Lane(queues[queue], kind).number
        for queue in queues
        for kind in (SlotKind.ASYNC, SlotKind.THREAD)
    }
    for number, (queue, kind) in enumerate(lanes):
        task = TaskSpec(name="t0", entry="sample:task", kind=kind, queue=queue)
        await start_dag(connection, DagSpec(name=f"lane{number}", tasks=(task,)))
    worker = await BareWorker.join(connection, ONE)
    for lane in lanes.values():
        [item] = await worker.claim(10, lane=lane)
        assert item.lane == lane


async def test_a_claim_that_takes_nothing_leaves_nothing(connection: Connection) -> None:
    worker = await BareWorker.join(connection, ONE)
    assert await worker.claim() == []
    assert await fetch(connection, "select 1 from mainspring.claim") == []


async def test_a_claim_repeated_after_some_of_it_ended_returns_the_rest(
    connection: Connection,
) -> None:
    for _ in range(3):
        await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    claim_id = uuid4()
    first, *rest = await worker.claim(3, claim_id=claim_id)
    await worker.end(first)
    assert await worker.claim(3, claim_id=claim_id) == rest


async def test_a_reaped_worker_cannot_claim_and_what_it_reached_for_stays(
    connection: Connection,
) -> None:
    await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    await reap(connection, worker)
    with pytest.raises(Reaped):
        await worker.claim()
    [item] = await (await BareWorker.join(connection, ONE)).claim()
    assert item.term == 1


async def test_a_reaped_worker_cannot_renew(connection: Connection) -> None:
    worker = await BareWorker.join(connection, ONE)
    await reap(connection, worker)
    with pytest.raises(Reaped):
        await renew(connection, worker)


@pytest.mark.parametrize("losses", [1, 2, 3])
async def test_what_a_reaped_worker_completes_is_superseded(
    connection: Connection, losses: int
) -> None:
    """Also when the loss was one too many and the task failed under the same term."""
    run_id = await start_dag(connection, ONE)
    gone = []
    for _ in range(losses):
        worker = await BareWorker.join(connection, ONE)
        [item] = await worker.claim()
        await worker.end(item, Lost(Error("WorkerLost", "gone")))
        await reap(connection, worker)
        gone.append((worker, item))
    states = await task_states(connection, run_id)
    assert states == {"t0": "failed" if losses == 3 else "ready"}
    for worker, item in gone:
        completed = await worker.end(item)
        assert completed.refused == {(item.task_id, item.term): "superseded"}
    assert await task_states(connection, run_id) == states


async def test_a_completion_without_its_claim_is_refused(connection: Connection) -> None:
    """As after a restore: the task looks as it did, but the claim was never made."""
    run_id = await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    [item] = await worker.claim()
    completion = worker.completion(item)
    async with connection.transaction():
        await connection.execute("delete from mainspring.claim")
        completed = await complete_attempts(connection, worker.id, [completion])
        assert completed.refused == {(item.task_id, item.term): "superseded"}
        await connection.execute(
            "insert into mainspring.claim values ($1, $2, now(), $3, $4)",
            *(item.claim_id, worker.id, [item.task_id], [item.term]),
        )
    assert await run_state(connection, run_id) == "running"


async def test_a_completion_in_the_name_of_another_worker_is_refused(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, ONE)
    worker, stranger = [await BareWorker.join(connection, ONE) for _ in range(2)]
    [item] = await worker.claim()
    completed = await stranger.end(item)
    assert completed.refused == {(item.task_id, item.term): "superseded"}
    assert await run_state(connection, run_id) == "running"


async def test_a_stale_and_a_current_term_in_one_batch_are_told_apart(
    connection: Connection,
) -> None:
    await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    [stale] = await worker.claim()
    await worker.end(stale, HandedBack("drained"))
    [current] = await worker.claim()
    completed = await worker.end_all([(stale, None), (current, None)])
    assert completed.refused == {(stale.task_id, stale.term): "already_yours"}


async def test_a_renewal_tells_of_claims_that_the_worker_does_not_know(
    connection: Connection,
) -> None:
    for _ in range(2):
        await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    [known], [unknown] = await worker.claim(1), await worker.claim(1)
    known_claims = [known.claim_id]
    assert await renew(connection, worker, known_claims, age=timedelta(hours=1)) == []
    assert await renew(connection, worker, known_claims) == [unknown.claim_id]
    [held] = await read_claims(connection, worker.id, [unknown.claim_id], 10)
    assert (held.task_id, held.term) == (unknown.task_id, unknown.term)


async def renew(
    connection: Connection,
    worker: BareWorker,
    known: Sequence[UUID] = (),
    *,
    age: timedelta = timedelta(0),
) -> list[UUID]:
    """The claims that the worker is told of."""
    renewed = await renew_lease(
        connection, worker.id, known, draining=False, claims_known_after=age
    )
    return renewed.unknown_claims


async def test_a_child_is_not_granted_past_somebody_more_urgent(connection: Connection) -> None:
    chain = dag_of([(0, 1)], tasks=2)
    run_id = await start_dag(connection, chain)
    worker = await BareWorker.join(connection, chain)
    [root] = await worker.claim()
    urgent = await start_dag(connection, of_priority(9))
    completed = await worker.end(root, grant={DEFAULT_LANE: 5})
    assert completed.grants == []
    assert completed.lanes == {DEFAULT_LANE}
    order = [item.run_id for _ in range(2) for item in await worker.claim(1)]
    assert order == [urgent, run_id]


async def test_children_of_a_stopped_run_are_not_granted(connection: Connection) -> None:
    chain = dag_of([(0, 1)], tasks=2)
    run_id = await start_dag(connection, chain)
    worker = await BareWorker.join(connection, chain)
    [root] = await worker.claim()
    await stop_runs(connection, [run_id], "cancel")
    assert (await worker.end(root, grant={DEFAULT_LANE: 5})).grants == []
