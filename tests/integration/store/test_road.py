"""The road of a run through the store: created, claimed, completed, ended."""

from __future__ import annotations

from uuid import uuid4

from mainspring.domain.outcomes import HandedBack, Skipped, Succeeded
from mainspring.domain.specs import RetrySpec
from mainspring.store.connection import Connection, fetch
from tests.support.factory import (
    DEFAULT_LANE,
    BareWorker,
    dag_of,
    failure,
    run_state,
    start_dag,
    task_states,
)

DIAMOND = dag_of([(0, 1), (0, 2), (1, 3), (2, 3)], tasks=4)


async def test_a_run_of_one_task_goes_from_queued_to_succeeded(connection: Connection) -> None:
    spec = dag_of()
    run_id = await start_dag(connection, spec, parameters=b'{"a":1}')
    worker = await BareWorker.join(connection, spec)
    assert await run_state(connection, run_id) == "queued"
    [claimed] = await worker.claim()
    assert claimed.parameters == b'{"a":1}'
    assert await run_state(connection, run_id) == "running"
    completed = await worker.end(claimed, Succeeded(b"42"))
    assert completed.refused == {}
    assert await run_state(connection, run_id) == "succeeded"
    assert await worker.claim() == []


async def test_children_become_ready_when_all_their_parents_succeeded(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, DIAMOND)
    worker = await BareWorker.join(connection, DIAMOND)
    [root] = await worker.claim()
    assert (await worker.end(root)).lanes == {DEFAULT_LANE}
    left, right = await worker.claim()
    await worker.end(left)
    assert (await task_states(connection, run_id))["t3"] == "waiting"
    await worker.end(right)
    assert (await task_states(connection, run_id))["t3"] == "ready"
    [join] = await worker.claim()
    await worker.end(join)
    assert await run_state(connection, run_id) == "succeeded"


async def test_children_are_granted_to_the_completing_worker_up_to_its_free_slots(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, DIAMOND)
    worker = await BareWorker.join(connection, DIAMOND)
    [root] = await worker.claim()
    completed = await worker.end(root, grant={DEFAULT_LANE: 1})
    assert [grant.node for grant in completed.grants] == [1]
    assert await task_states(connection, run_id) == {
        "t0": "succeeded",
        "t1": "running",
        "t2": "ready",
        "t3": "waiting",
    }
    [other] = await worker.claim()
    completed = await worker.end_all(
        [(completed.grants[0], None), (other, None)], grant={DEFAULT_LANE: 5}
    )
    assert [grant.node for grant in completed.grants] == [3]
    await worker.end(completed.grants[0])
    assert await run_state(connection, run_id) == "succeeded"


async def test_a_failed_task_fails_its_descendants_and_the_run(connection: Connection) -> None:
    run_id = await start_dag(connection, DIAMOND)
    worker = await BareWorker.join(connection, DIAMOND)
    [root] = await worker.claim()
    await worker.end(root)
    left, right = await worker.claim()
    await worker.end_all([(left, failure()), (right, None)])
    assert await task_states(connection, run_id) == {
        "t0": "succeeded",
        "t1": "failed",
        "t2": "succeeded",
        "t3": "upstream_failed",
    }
    assert await run_state(connection, run_id) == "failed"


async def test_a_skipped_task_skips_its_descendants_and_the_run_succeeds(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, DIAMOND)
    worker = await BareWorker.join(connection, DIAMOND)
    [root] = await worker.claim()
    await worker.end(root, Skipped("nothing to do"))
    assert set((await task_states(connection, run_id)).values()) == {"skipped"}
    assert await run_state(connection, run_id) == "succeeded"


async def test_a_failed_attempt_rests_and_keeps_its_history(connection: Connection) -> None:
    spec = dag_of(retry=RetrySpec(attempts=2, first_seconds=60))
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [claimed] = await worker.claim()
    await worker.end(claimed, failure("first"))
    assert await task_states(connection, run_id) == {"t0": "backoff"}
    assert await run_state(connection, run_id) == "running"
    assert await worker.claim() == []
    [attempt] = await fetch(connection, "select * from mainspring.attempt")
    assert (attempt["term"], attempt["attempt"], attempt["state"]) == (1, 1, "failed")


async def test_a_stale_term_cannot_complete(connection: Connection) -> None:
    spec = dag_of()
    run_id = await start_dag(connection, spec)
    stale, fresh = [await BareWorker.join(connection, spec) for _ in range(2)]
    [claimed] = await stale.claim()
    await stale.end(claimed, HandedBack("draining"))
    [again] = await fresh.claim()
    assert again.term == claimed.term + 1
    completed = await stale.end(claimed)
    assert completed.refused == {(claimed.task_id, claimed.term): "already_yours"}
    assert await run_state(connection, run_id) == "running"
    await fresh.end(again)
    assert await run_state(connection, run_id) == "succeeded"


async def test_a_claim_repeated_with_its_id_returns_the_same_tasks(connection: Connection) -> None:
    spec = dag_of()
    for _ in range(3):
        await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    claim_id = uuid4()
    first = await worker.claim(2, claim_id=claim_id)
    again = await worker.claim(2, claim_id=claim_id)
    assert {c.task_id for c in again} == {c.task_id for c in first}
    assert len(await worker.claim()) == 1


async def test_a_completion_repeated_after_a_lost_answer_returns_its_grants_again(
    connection: Connection,
) -> None:
    await start_dag(connection, DIAMOND)
    worker = await BareWorker.join(connection, DIAMOND)
    [root] = await worker.claim()
    grant_claim = uuid4()
    first = await worker.end(root, grant={DEFAULT_LANE: 2}, grant_claim=grant_claim)
    again = await worker.end(root, grant={DEFAULT_LANE: 2}, grant_claim=grant_claim)
    assert again.refused == {(root.task_id, root.term): "already_yours"}
    assert {g.task_id for g in again.grants} == {g.task_id for g in first.grants}
    assert len(again.grants) == 2
