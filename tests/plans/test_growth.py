"""Work grows with the batch and no faster.

Counted in rows that EXPLAIN ANALYZE saw pass, not in seconds. With hash joins off a join of two
sets inside a statement is quadratic, and four times the batch would show as sixteen times the rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from mainspring.domain.outcomes import Failed, Outcome, Skipped
from mainspring.domain.specs import DagSpec
from mainspring.store.attempts import Claimed, claim_attempts, complete_attempts
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from mainspring.store.ids import Ids
from mainspring.store.runs import NewRun, create_runs
from tests.conftest import Server
from tests.plans.conftest import undone
from tests.plans.plan import Plan, explain, explain_call
from tests.support.factory import DEFAULT_LANE, BareWorker, dag_of, failure, start_dag

SMALL, LARGE = 100, 400
# Quadratic would be 16, and a plan that changes on the way costs a little.
LINEAR = LARGE / SMALL * 2
SOON = datetime.now(UTC) + timedelta(minutes=1)


@pytest.fixture
async def connection(server: Server, filled: str) -> AsyncIterator[Connection]:
    async with undone(server.url(filled), stable_plans=True) as connection:
        yield connection


def assert_linear(small: Plan, large: Plan) -> None:
    growth = large.rows_handled() / small.rows_handled()
    assert growth < LINEAR, f"{growth:.1f} times the rows\n{large.text}"


async def new_runs(connection: Connection, count: int, *, parameters: bytes) -> list[NewRun]:
    dag = await register_dag(connection, dag_of(name="grown"), "snapshot")
    first = await Ids().take(connection, count)
    return [
        NewRun(first + number, dag.version_id, dag.snapshot_id, parameters=parameters)
        for number in range(count)
    ]


async def take(worker: BareWorker, count: int, *, each: int) -> list[Claimed]:
    return [item for _ in range(count // each) for item in await worker.claim(each)]


async def completing(worker: BareWorker, items: list[Claimed], outcome: Outcome | None) -> Plan:
    return await explain_call(
        worker.connection,
        "complete_attempts",
        complete_attempts,
        worker.id,
        [worker.completion(item, outcome) for item in items],
        emptied=list({item.claim_id for item in items}),
        grant_claim=uuid4(),
        grant_slots={DEFAULT_LANE: 50},
    )


async def empty_queue(worker: BareWorker) -> None:
    while await worker.claim(1000):
        pass


@pytest.mark.parametrize("each", [1, 50], ids=["a claim each", "claims of 50"])
@pytest.mark.parametrize("outcome", [None, failure()], ids=["succeeded", "failed"])
async def test_completing_runs_of_one_task(
    connection: Connection, each: int, outcome: Failed | None
) -> None:
    worker = await BareWorker.join(connection, dag_of())
    await empty_queue(worker)
    await create_runs(connection, await new_runs(connection, SMALL + LARGE, parameters=b"{}"))
    small = await completing(worker, await take(worker, SMALL, each=each), outcome)
    large = await completing(worker, await take(worker, LARGE, each=each), outcome)
    assert_linear(small, large)


def fan(width: int) -> DagSpec:
    """One task, then `width` of them, then one that joins them."""
    middle = range(1, width + 1)
    edges = [(0, number) for number in middle] + [(number, width + 1) for number in middle]
    return dag_of(edges, tasks=width + 2, name=f"fan{width}")


@pytest.mark.parametrize(
    "outcome", [None, failure(), Skipped()], ids=["succeeded", "failed", "skipped"]
)
async def test_completing_the_many_parents_of_a_join(
    connection: Connection, outcome: Outcome | None
) -> None:
    plans = []
    for width in (SMALL, LARGE):
        worker = await BareWorker.join(connection, fan(width))
        await empty_queue(worker)
        await start_dag(connection, fan(width))
        [root] = await worker.claim()
        await worker.end(root)
        plans.append(await completing(worker, await worker.claim(width), outcome))
    assert_linear(*plans)


@pytest.mark.parametrize("outcome", [None, failure()], ids=["succeeded", "failed"])
async def test_completing_the_one_parent_of_many(
    connection: Connection, outcome: Outcome | None
) -> None:
    plans = []
    for width in (SMALL, LARGE):
        worker = await BareWorker.join(connection, fan(width))
        await empty_queue(worker)
        await start_dag(connection, fan(width))
        plans.append(await completing(worker, await worker.claim(1), outcome))
    assert_linear(*plans)


async def test_completing_one_task_costs_the_same_however_wide_its_run_is(
    connection: Connection,
) -> None:
    plans = []
    for width in (SMALL, 2000):
        worker = await BareWorker.join(connection, fan(width))
        await empty_queue(worker)
        await start_dag(connection, fan(width))
        [root] = await worker.claim()
        await worker.end(root)
        plans.append(await completing(worker, await worker.claim(20), None))
    assert plans[1].rows_handled() == pytest.approx(plans[0].rows_handled(), rel=0.1)


@pytest.mark.parametrize("size", [10, 2000], ids=["small parameters", "large parameters"])
async def test_creating_runs(connection: Connection, size: int) -> None:
    parameters = b'"' + b"x" * size + b'"'
    plans = [
        await explain_call(
            connection,
            "create_runs",
            create_runs,
            await new_runs(connection, count, parameters=parameters),
        )
        for count in (SMALL, LARGE)
    ]
    assert_linear(*plans)


async def test_creating_wide_runs(connection: Connection) -> None:
    plans = []
    for width in (SMALL, LARGE):
        dag = await register_dag(connection, fan(width), "snapshot")
        run = NewRun(await Ids().take(connection, width + 2), dag.version_id, dag.snapshot_id)
        plans.append(await explain_call(connection, "create_runs", create_runs, [run]))
    assert_linear(*plans)


async def test_claiming(connection: Connection) -> None:
    worker = await BareWorker.join(connection, dag_of())
    await create_runs(connection, await new_runs(connection, SMALL + LARGE, parameters=b"{}"))
    plans = [
        await explain_call(
            connection, "claim_attempts", claim_attempts, uuid4(), worker.id, DEFAULT_LANE, count
        )
        for count in (SMALL, LARGE)
    ]
    assert_linear(*plans)


async def test_stopping_a_wide_run(connection: Connection) -> None:
    plans = []
    for width in (SMALL, LARGE):
        run_id = await start_dag(connection, fan(width))
        tasks = list(range(run_id, run_id + width + 2))
        lock = await explain(connection, "lock_tasks", [run_id], run=True)
        stop = await explain(connection, "stop_tasks", [run_id], "cancel", tasks, None, run=True)
        plans.append((lock, stop))
    for small, large in zip(*plans, strict=True):
        assert_linear(small, large)


async def test_stopping_many_runs(connection: Connection) -> None:
    plans = []
    for count in (SMALL, LARGE):
        runs = [await start_dag(connection, fan(3)) for _ in range(count)]
        tasks = [run_id + node for run_id in runs for node in range(5)]
        lock = await explain(connection, "lock_tasks", runs, run=True)
        stop = await explain(connection, "stop_tasks", runs, "cancel", tasks, None, run=True)
        plans.append((lock, stop))
    for small, large in zip(*plans, strict=True):
        assert_linear(small, large)


async def test_starting_wide_runs(connection: Connection) -> None:
    plans = []
    for width in (SMALL, LARGE):
        await start_dag(connection, dag_of(tasks=width, name=f"row{width}"), due_at=SOON)
        plans.append(await explain(connection, "wake_starts", SOON, 100, run=True))
    assert_linear(*plans)
