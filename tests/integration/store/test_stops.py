"""Cancelling and running out of time: what is unclaimed closes, what is claimed gets a note."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.outcomes import Cancelled, Error, HandedBack, Lost, Outcome
from mainspring.domain.specs import DagSpec, RetrySpec
from mainspring.store.attempts import renew_lease
from mainspring.store.connection import Connection, fetch
from mainspring.store.duties import due_deadlines, wake_backoff, wake_starts
from mainspring.store.runs import Stop, stop_runs
from tests.support.factory import BareWorker, dag_of, failure, run_state, start_dag, task_states

ONE = dag_of(retry=RetrySpec(attempts=3))
TRIPLE = dag_of([(0, 2), (1, 2)], tasks=3, retry=RetrySpec(attempts=3))
NOW = datetime(2026, 1, 1, tzinfo=UTC)

COMING_BACK: list[Outcome] = [failure(), HandedBack("drained"), Lost(Error("WorkerLost", "gone"))]


async def test_a_run_that_nobody_claimed_closes_at_once(connection: Connection) -> None:
    run_id = await start_dag(connection, TRIPLE)
    assert await stop_runs(connection, [run_id], "cancel") == 0
    assert set((await task_states(connection, run_id)).values()) == {"cancelled"}
    assert await run_state(connection, run_id) == "cancelled"
    assert await (await BareWorker.join(connection, TRIPLE)).claim() == []


async def test_a_claimed_task_gets_a_note_that_the_next_renewal_brings(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, TRIPLE)
    worker = await BareWorker.join(connection, TRIPLE)
    [item] = await worker.claim(1)
    assert await stop_runs(connection, [run_id], "cancel") == 1
    renewed = await renew_lease(
        connection, worker.id, [item.claim_id], draining=False, claims_known_after=timedelta(1)
    )
    assert renewed.stops == [(item.task_id, item.term, "cancel")]
    assert await task_states(connection, run_id) == {
        "t0": "running",
        "t1": "cancelled",
        "t2": "cancelled",
    }
    assert await run_state(connection, run_id) == "running"
    await worker.end(item, Cancelled("asked to"))
    assert await run_state(connection, run_id) == "cancelled"


@pytest.mark.parametrize("outcome", COMING_BACK, ids=lambda outcome: type(outcome).__name__)
@pytest.mark.parametrize("spec", [ONE, TRIPLE], ids=["one task", "many"])
async def test_a_stopped_task_that_would_come_back_is_closed_instead(
    connection: Connection, spec: DagSpec, outcome: Outcome
) -> None:
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    items = await worker.claim()
    await stop_runs(connection, [run_id], "cancel")
    completed = await worker.end_all([(item, outcome) for item in items])
    assert (completed.refused, completed.lanes) == ({}, set())
    assert set((await task_states(connection, run_id)).values()) == {"cancelled"}
    assert await run_state(connection, run_id) == "cancelled"
    assert await worker.claim() == []
    assert await fetch(connection, "select 1 from mainspring.timer where kind = 'backoff'") == []


async def test_a_stopped_task_may_still_succeed(connection: Connection) -> None:
    run_id = await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    [item] = await worker.claim()
    await stop_runs(connection, [run_id], "cancel")
    await worker.end(item)
    assert await run_state(connection, run_id) == "succeeded"


async def test_a_task_in_backoff_is_closed_and_its_timer_wakes_nobody(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    [item] = await worker.claim()
    await worker.end(item, failure())
    await stop_runs(connection, [run_id], "cancel")
    woken = await wake_backoff(connection, datetime.now(UTC) + timedelta(days=1), 100)
    assert (woken.due, woken.lanes) == (1, set())
    assert await run_state(connection, run_id) == "cancelled"


async def test_a_run_whose_start_lies_ahead_can_be_cancelled(connection: Connection) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    run_id = await start_dag(connection, TRIPLE, due_at=later)
    await stop_runs(connection, [run_id], "cancel")
    woken = await wake_starts(connection, later, 100)
    assert (woken.due, woken.lanes) == (1, set())
    assert await run_state(connection, run_id) == "cancelled"


@pytest.mark.parametrize("tasks", [1, 3])
async def test_a_run_that_takes_too_long_fails(connection: Connection, tasks: int) -> None:
    spec = dag_of(tasks=tasks, timeout_seconds=60)
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [item] = await worker.claim(1)
    soon, later = [datetime.now(UTC) + timedelta(seconds=delay) for delay in (30, 90)]
    assert (await due_deadlines(connection, soon, 100)).due == 0
    assert (await due_deadlines(connection, later, 100)).runs == [run_id]
    assert await stop_runs(connection, [run_id], "deadline") == 1
    await worker.end(item, Cancelled("run timeout"))
    assert await run_state(connection, run_id) == "failed"
    assert (await due_deadlines(connection, later, 100)).due == 0


async def test_the_deadline_counts_from_the_start_that_was_asked_for(
    connection: Connection,
) -> None:
    start = datetime.now(UTC) + timedelta(hours=1)
    run_id = await start_dag(connection, dag_of(timeout_seconds=60), due_at=start)
    assert (await due_deadlines(connection, start + timedelta(seconds=59), 100)).due == 0
    overdue = await due_deadlines(connection, start + timedelta(seconds=60), 100)
    assert overdue.runs == [run_id]
    await stop_runs(connection, overdue.runs, "deadline")


async def test_the_deadline_of_a_finished_run_changes_nothing(connection: Connection) -> None:
    spec = dag_of([(0, 1)], tasks=2, timeout_seconds=60)
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    while items := await worker.claim():
        await worker.end_all([(item, None) for item in items])
    late = datetime.now(UTC) + timedelta(days=1)
    assert (await due_deadlines(connection, late, 100)).runs == [run_id]
    assert await stop_runs(connection, [run_id], "deadline") == 0
    assert await run_state(connection, run_id) == "succeeded"


@pytest.mark.parametrize(("first", "second", "state"), [
    ("cancel", "deadline", "cancelled"),
    ("deadline", "cancel", "failed"),
])  # fmt: skip
async def test_the_first_reason_to_stop_is_the_one_that_is_told(
    connection: Connection, first: Stop, second: Stop, state: str
) -> None:
    for spec in (ONE, TRIPLE):
        run_id = await start_dag(connection, spec)
        worker = await BareWorker.join(connection, spec)
        items = await worker.claim()
        for stop in (first, second):
            await stop_runs(connection, [run_id], stop)
        await worker.end_all([(item, Cancelled("asked to")) for item in items])
        assert await run_state(connection, run_id) == state


async def test_a_failure_outweighs_a_cancel(connection: Connection) -> None:
    run_id = await start_dag(connection, TRIPLE)
    worker = await BareWorker.join(connection, TRIPLE)
    first, second = await worker.claim()
    await worker.end(first, failure(retry=False))
    await stop_runs(connection, [run_id], "cancel")
    await worker.end(second, Cancelled("asked to"))
    assert await run_state(connection, run_id) == "failed"


async def test_stopping_again_changes_nothing(connection: Connection) -> None:
    run_id = await start_dag(connection, TRIPLE)
    await stop_runs(connection, [run_id], "cancel", now=NOW)
    before = await fetch(connection, "select * from mainspring.task order by id")
    assert await stop_runs(connection, [run_id], "cancel") == 0
    assert await stop_runs(connection, [12345], "cancel") == 0
    assert await fetch(connection, "select * from mainspring.task order by id") == before
