"""The plans of the hot statements, read as the hot connections make them.

A plan has to be right for an empty table and for a full one, because it stays: no moment may
leave one behind that is wrong at the next.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from mainspring.store.attempts import Claimed, claim_attempts, complete_attempts
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from mainspring.store.ids import Ids
from mainspring.store.pauses import pause_dag, shift_slice
from mainspring.store.runs import NewRun, create_runs
from tests.plans.conftest import DIAMOND, ONE
from tests.plans.plan import Node, Plan, explain, explain_call
from tests.support.factory import DEFAULT_LANE, NOW_US, BareWorker, start_dag

LATER = datetime.now(UTC) + timedelta(days=1)


def assert_bounded(plan: Plan) -> None:
    assert not plan.read_whole(), plan.text
    assert not plan.kinds() & {"Hash Join", "Merge Join"}, plan.text


def reads_of(plan: Plan, *indexes: str) -> list[Node]:
    return [node for node in plan.root.walk() if node.index in indexes]


async def claim_in_parts(worker: BareWorker, *, each: int) -> list[Claimed]:
    claimed: list[Claimed] = []
    while part := await worker.claim(each):
        claimed += part
    return claimed


async def test_a_claim_reads_its_lane_in_order_and_only_what_it_takes(
    connection: Connection,
) -> None:
    worker = await BareWorker.join(connection, DIAMOND)
    plan = await explain_call(
        connection, "claim_attempts", claim_attempts, uuid4(), worker.id, DEFAULT_LANE, 100
    )
    assert_bounded(plan)
    assert plan.scanned("ready") == {"Index Scan", "Tid Scan"}, plan.text
    versions = {index for index in plan.indexes() if index.startswith("version_dag_id_")}
    assert plan.indexes() - versions == {
        "ready_order",
        "claim_pkey",
        "task_pkey",
        "run_pkey",
        "epoch_pkey",
        "lease_pkey",
        "dag_paused",
        "queue_pkey",
    }, plan.text
    assert "Sort" not in plan.kinds(), plan.text
    assert [read.handled for read in reads_of(plan, "ready_order")] == [100]
    assert [read.handled for read in reads_of(plan, "epoch_pkey")] == [1], "once, not for each task"
    # Who pauses nothing pays for one look: no version, and no task before it is taken.
    assert not any(read.loops for index in versions for read in reads_of(plan, index)), plan.text
    assert sum(read.loops for read in reads_of(plan, "task_pkey")) == 200, plan.text


async def test_a_claim_looks_at_the_versions_of_its_tasks_only_while_a_dag_is_paused(
    connection: Connection,
) -> None:
    worker = await BareWorker.join(connection, DIAMOND)
    await pause_dag(connection, "dag7")
    plan = await explain_call(
        connection, "claim_attempts", claim_attempts, uuid4(), worker.id, DEFAULT_LANE, 100
    )
    assert_bounded(plan)
    assert [read.handled for read in reads_of(plan, "ready_order")] == [100]
    assert sum(read.loops for read in reads_of(plan, "task_pkey")) == 300, plan.text


async def test_a_claim_does_not_read_what_stands_aside(connection: Connection) -> None:
    worker = await BareWorker.join(connection, DIAMOND)
    paused = await pause_dag(connection, ONE.name)
    after: int | None = 0
    while after is not None:
        after = (await shift_slice(connection, paused.id, after)).last
    aside = await connection.fetchval("select count(*) from mainspring.ready where priority < 0")
    ready = await connection.fetchval("select count(*) from mainspring.ready where priority >= 0")
    assert aside > 0
    plan = await explain_call(
        connection, "claim_attempts", claim_attempts, uuid4(), worker.id, DEFAULT_LANE, 10_000
    )
    assert_bounded(plan)
    assert [read.handled for read in reads_of(plan, "ready_order")] == [ready]


async def test_moving_tasks_aside_reads_the_open_runs_of_their_dag(connection: Connection) -> None:
    paused = await pause_dag(connection, DIAMOND.name)
    plan = await explain(connection, "lock_astray", 1, paused.id, 0, True, 50, 10_000, run=True)
    assert_bounded(plan)
    assert plan.indexes() == {"run_list", "version_pkey", "task_pkey"}, plan.text
    assert [read.handled for read in reads_of(plan, "run_list")] == [50]
    assert sum(read.handled for read in reads_of(plan, "task_pkey")) == 200
    run_id = await connection.fetchval("select max(id) from mainspring.run")
    plan = await explain(connection, "shift_tasks", [run_id, run_id + 1], run=True)
    assert_bounded(plan)
    assert plan.indexes() == {"task_pkey", "ready_order"}, plan.text
    plan = await explain(connection, "change_priority", [run_id, run_id + 1], 7, run=True)
    assert_bounded(plan)
    assert plan.indexes() == {"task_pkey", "ready_order"}, plan.text


async def test_a_completion_finds_everything_by_key(connection: Connection) -> None:
    worker = await BareWorker.join(connection, DIAMOND)
    claimed = [item for item in await claim_in_parts(worker, each=7) if item.many]
    await start_dag(connection, DIAMOND)
    plan = await explain_call(
        connection,
        "complete_attempts",
        complete_attempts,
        worker.id,
        [worker.completion(item) for item in claimed],
        emptied=[item.claim_id for item in claimed],
        grant_claim=uuid4(),
        grant_slots={DEFAULT_LANE: 50},
    )
    assert_bounded(plan)
    # Not `claim_worker`: it is full of the worker's claims that are gone.
    versions = {index for index in plan.indexes() if index.startswith("version_dag_id_")}
    assert plan.indexes() - versions == {
        "lease_pkey",
        "claim_pkey",
        "run_pkey",
        "task_pkey",
        "edge_pkey",
        "ready_order",
        "epoch_pkey",
        "version_pkey",
        "node_pkey",
        "queue_pkey",
        "dag_paused",
    }, plan.text
    # The last two are for what failed, and nothing did.
    assert not any(read.loops for read in reads_of(plan, "version_pkey", "node_pkey")), plan.text
    # One look at the queue's head per lane, to see whether somebody is more urgent.
    assert [read.handled for read in reads_of(plan, "ready_order")] == [1]


async def test_a_completion_updates_tasks_in_the_order_of_their_ids(
    connection: Connection,
) -> None:
    """Which is the order of the items, so the items must be the outer side of the join."""
    worker = await BareWorker.join(connection, DIAMOND)
    claimed = await claim_in_parts(worker, each=7)
    plan = await explain_call(
        connection,
        "complete_attempts",
        complete_attempts,
        worker.id,
        [worker.completion(item) for item in claimed],
    )
    join = next(node for node in plan.cte("moved").walk() if node.kind == "Nested Loop")
    outer, inner = join.nodes
    assert (outer.kind, outer.cte, outer.loops) == ("CTE Scan", "item", 1), plan.text
    assert inner.index == "task_pkey", plan.text


async def test_creating_runs_reads_no_run_and_no_task(connection: Connection) -> None:
    dag = await register_dag(connection, DIAMOND, "snapshot")
    first = await Ids().take(connection, 400)
    runs = [NewRun(first + 4 * number, dag.version_id, dag.snapshot_id) for number in range(100)]
    plan = await explain_call(connection, "create_runs", create_runs, runs)
    assert_bounded(plan)
    history = {index for index in plan.indexes() if index.startswith("run_history_")}
    assert all(index.endswith("_pkey") for index in history), plan.text
    assert plan.indexes() - history == {"version_pkey", "node_pkey", "run_pkey"}, plan.text
    # The last one is for reruns, and there is none.
    assert not any(read.loops for read in reads_of(plan, "run_pkey")), plan.text


async def test_a_renewal_reads_the_claims_of_its_worker(connection: Connection) -> None:
    worker = await BareWorker.join(connection, DIAMOND)
    for _ in range(3):
        await worker.claim(10)
    plan = await explain(
        connection, "renew_lease", worker.id, [], False, timedelta(seconds=5), None, run=True
    )
    assert_bounded(plan)
    assert plan.indexes() == {"lease_pkey", "claim_worker", "task_pkey", "remark_pkey"}, plan.text
    assert sum(read.handled for read in reads_of(plan, "task_pkey", "remark_pkey")) <= 30, plan.text


async def test_marking_starts_finds_tasks_by_key_in_order(connection: Connection) -> None:
    worker = await BareWorker.join(connection, DIAMOND)
    claimed = sorted(await worker.claim(100), key=lambda item: item.task_id)
    plan = await explain(
        connection,
        "mark_started",
        [worker.id for _ in claimed],
        [item.task_id for item in claimed],
        [item.term for item in claimed],
        [NOW_US for _ in claimed],
        run=True,
    )
    assert_bounded(plan)
    assert plan.indexes() == {"task_pkey"}, plan.text
    join = next(node for node in plan.root.walk() if node.kind == "Nested Loop")
    assert join.nodes[0].kind == "Function Scan", plan.text


@pytest.mark.parametrize(
    ("name", "indexes"),
    [
        ("wake_backoff", {"timer_pkey", "task_pkey"}),
        ("wake_starts", {"timer_pkey", "run_pkey", "version_pkey", "task_pkey"}),
        ("due_deadlines", {"timer_pkey"}),
    ],
)
@pytest.mark.parametrize(("now", "expected"), [(None, 0), (LATER, 100)])
async def test_waking_reads_due_timers_only(
    connection: Connection, name: str, indexes: set[str], now: datetime | None, expected: int
) -> None:
    plan = await explain(connection, name, now, 100, run=True)
    assert_bounded(plan)
    assert plan.indexes() == indexes, plan.text
    assert [read.handled for read in reads_of(plan, "timer_pkey")] == [expected], plan.text


async def test_stopping_a_run_reads_its_own_tasks(connection: Connection) -> None:
    run_id = await connection.fetchval("select max(id) from mainspring.run")
    plan = await explain(connection, "lock_tasks", [run_id], run=True)
    assert_bounded(plan)
    assert plan.indexes() == {"run_pkey", "version_pkey", "task_pkey"}, plan.text
    assert sum(read.handled for read in reads_of(plan, "task_pkey")) == 4
    task_ids = list(range(run_id, run_id + 4))
    plan = await explain(connection, "stop_tasks", [run_id], "cancel", task_ids, None, run=True)
    assert_bounded(plan)
    assert plan.indexes() == {"task_pkey", "ready_order", "run_pkey"}, plan.text
