"""Large graphs go through the same door as small ones."""

from __future__ import annotations

from mainspring.domain.outcomes import Skipped
from mainspring.domain.specs import DagSpec
from mainspring.store.connection import Connection
from mainspring.store.runs import stop_runs
from tests.support.factory import DEFAULT_LANE, BareWorker, dag_of, failure, run_state, start_dag

WIDTH = 9_998
"""With the first and the last task, as many as a dag may have."""
DEPTH = 1_000
BATCH = 500


def fan(width: int) -> DagSpec:
    middle = range(1, width + 1)
    edges = [(0, number) for number in middle] + [(number, width + 1) for number in middle]
    return dag_of(edges, tasks=width + 2)


async def test_a_fan_of_ten_thousand_tasks_and_its_join(connection: Connection) -> None:
    spec = fan(WIDTH)
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [root] = await worker.claim()
    await worker.end(root)
    done = 0
    while items := await worker.claim(BATCH):
        assert {item.node for item in items} != {WIDTH + 1} or done == WIDTH
        await worker.end_all([(item, None) for item in items])
        done += len(items)
    assert done == WIDTH + 1
    assert await run_state(connection, run_id) == "succeeded"


async def test_a_failure_before_ten_thousand_tasks_closes_them_all(connection: Connection) -> None:
    spec = fan(WIDTH)
    failed, skipped = await start_dag(connection, spec), await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    roots = {item.run_id: item for item in await worker.claim()}
    await worker.end_all([(roots[failed], failure()), (roots[skipped], Skipped())])
    assert await counts(connection, failed) == {"failed": 1, "upstream_failed": WIDTH + 1}
    assert await counts(connection, skipped) == {"skipped": WIDTH + 2}
    assert await run_state(connection, failed) == "failed"
    assert await run_state(connection, skipped) == "succeeded"


async def test_a_run_of_ten_thousand_tasks_is_cancelled(connection: Connection) -> None:
    spec = fan(WIDTH)
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [root] = await worker.claim()
    await worker.end(root)
    held = await worker.claim(BATCH)
    assert await stop_runs(connection, [run_id], "cancel") == BATCH
    await worker.end_all([(item, None) for item in held])
    assert await counts(connection, run_id) == {
        "succeeded": BATCH + 1,
        "cancelled": WIDTH + 1 - BATCH,
    }
    assert await run_state(connection, run_id) == "cancelled"


async def test_a_chain_of_a_thousand_tasks(connection: Connection) -> None:
    spec = dag_of([(number, number + 1) for number in range(DEPTH - 1)], tasks=DEPTH)
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [item] = await worker.claim()
    for number in range(1, DEPTH):
        [item] = (await worker.end(item, grant={DEFAULT_LANE: 1})).grants
        assert item.node == number
    await worker.end(item)
    assert await run_state(connection, run_id) == "succeeded"


async def test_a_failure_before_a_thousand_tasks_in_a_row_closes_them_all(
    connection: Connection,
) -> None:
    spec = dag_of([(number, number + 1) for number in range(DEPTH - 1)], tasks=DEPTH)
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [item] = await worker.claim()
    await worker.end(item, failure())
    assert await counts(connection, run_id) == {"failed": 1, "upstream_failed": DEPTH - 1}
    assert await run_state(connection, run_id) == "failed"


async def counts(connection: Connection, run_id: int) -> dict[str, int]:
    rows = await connection.fetch(
        "select state, count(*) from mainspring.task_view where run_id = $1 group by state", run_id
    )
    return {row["state"]: row["count"] for row in rows}
