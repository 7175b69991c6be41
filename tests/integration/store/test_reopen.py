"""Opening a run again: what failed runs once more, what succeeded is kept, nothing is confused."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from mainspring.domain.errors import ConflictError, NotFoundError
from mainspring.domain.outcomes import (
    Cancelled,
    Error,
    HandedBack,
    Lost,
    Outcome,
    Skipped,
    Succeeded,
)
from mainspring.domain.reruns import undone_tasks
from mainspring.domain.specs import DagSpec, RetrySpec
from mainspring.engine.archive import Archive
from mainspring.store.attempts import read_claims
from mainspring.store.connection import Connection, fetch
from mainspring.store.duties import due_deadlines, wake_backoff, wake_starts
from mainspring.store.history import archive_runs, bring_back_run, forget_runs
from mainspring.store.logs import append_log
from mainspring.store.payloads import read_parameters, read_results
from mainspring.store.runs import Reopened, read_standing, reopen_run, stop_runs
from mainspring.store.statements import statement
from tests.support.factory import (
    DEFAULT_LANE,
    BareWorker,
    dag_of,
    failure,
    run_state,
    start_dag,
    task_states,
)
from tests.support.invariants import violations

ONE = dag_of(name="one")
CHAIN = dag_of([(0, 1), (1, 2), (2, 3)], tasks=4, name="chain")
DIAMOND = dag_of([(0, 1), (0, 2), (1, 3), (2, 3)], tasks=4, name="diamond")
FAN = dag_of(
    [(0, node) for node in range(1, 5)] + [(node, 5) for node in range(1, 5)], tasks=6, name="fan"
)
TWO_CHAINS = dag_of([(0, 1), (2, 3)], tasks=4, name="two_chains")

SOON = datetime(2030, 1, 1, tzinfo=UTC)
LARGE = b'"' + b"x" * 2000 + b'"'
TABLES = (
    "run", "task", "ready", "timer", "attempt", "problem", "payload", "idempotency", "claim",
    "run_history", "task_history", "log",
)  # fmt: skip


async def dump(connection: Connection) -> dict[str, list[str]]:
    """Everything that runs have left in the database, byte for byte."""
    return {
        table: [
            row["text"]
            for row in await fetch(
                connection, f"select t::text as text from mainspring.{table} t order by 1"
            )
        ]
        for table in TABLES
    }


async def seen(connection: Connection, run_id: int, *nodes: int) -> dict[int, int]:
    """The generations of these tasks, or of what is undone."""
    standing = await read_standing(connection, run_id)
    chosen = nodes or undone_tasks(standing)
    return {node: standing.tasks[node].generation for node in chosen}


async def reopen(
    connection: Connection, run_id: int, *nodes: int, now: datetime | None = None
) -> Reopened:
    return await reopen_run(connection, run_id, await seen(connection, run_id, *nodes), now=now)


async def work_off(worker: BareWorker, failing: Collection[int] = ()) -> list[int]:
    """Run all that is ready, and what follows; the nodes that ran, in order."""
    ran: list[int] = []
    while claimed := await worker.claim():
        ran += [item.node for item in claimed]
        await worker.end_all(
            [(item, failure() if item.node in failing else None) for item in claimed]
        )
    return sorted(ran)


async def ended_run(
    connection: Connection, spec: DagSpec, failing: Collection[int] = (), **options: object
) -> tuple[int, BareWorker]:
    run_id = await start_dag(connection, spec, **options)
    worker = await BareWorker.join(connection, spec)
    await work_off(worker, failing)
    return run_id, worker


async def archive(connection: Connection) -> int:
    later = await connection.fetchval("select clock_timestamp() + interval '1 day'")
    return (await archive_runs(connection, 0, 10_000, later)).moved


async def row_of(connection: Connection, task_id: int) -> dict[str, Any]:
    [row] = await fetch(connection, "select * from mainspring.task where id = $1", task_id)
    return dict(row)


# --- what is opened -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "failing", "again"),
    [
        (CHAIN, [0], [0, 1, 2, 3]),
        (CHAIN, [2], [2, 3]),
        (CHAIN, [3], [3]),
        (DIAMOND, [1], [1, 3]),
        (DIAMOND, [1, 2], [1, 2, 3]),
        (FAN, [2, 3], [2, 3, 5]),
        (FAN, [5], [5]),
        (TWO_CHAINS, [0], [0, 1]),
        (ONE, [0], [0]),
    ],
    ids=lambda value: value.name if isinstance(value, DagSpec) else str(value),
)
@pytest.mark.parametrize("archived", [False, True], ids=["hot", "history"])
async def test_what_failed_and_what_comes_after_it_runs_again_and_nothing_else(
    connection: Connection, spec: DagSpec, failing: list[int], again: list[int], archived: bool
) -> None:
    run_id, worker = await ended_run(connection, spec, failing)
    assert await run_state(connection, run_id) == "failed"
    if archived:
        assert await archive(connection) == 1
    assert await reopen(connection, run_id) == Reopened(again, {DEFAULT_LANE})
    assert await run_state(connection, run_id) == "running"
    assert await work_off(worker) == again
    assert await run_state(connection, run_id) == "succeeded"
    assert set((await task_states(connection, run_id)).values()) == {"succeeded"}
    rows = await fetch(
        connection, "select node from mainspring.task where generation = 2 order by node"
    )
    assert [row["node"] for row in rows] == again


async def test_from_a_task_that_succeeded_everything_after_it_runs_again(
    connection: Connection,
) -> None:
    run_id, worker = await ended_run(connection, DIAMOND)
    assert (await reopen(connection, run_id, 2)).nodes == [2, 3]
    assert await task_states(connection, run_id) == {
        "t0": "succeeded",
        "t1": "succeeded",
        "t2": "ready",
        "t3": "waiting",
    }
    assert await work_off(worker) == [2, 3]
    assert (await reopen(connection, run_id, *range(4))).nodes == [0, 1, 2, 3]
    assert await work_off(worker) == [0, 1, 2, 3]
    assert await run_state(connection, run_id) == "succeeded"


@pytest.mark.parametrize(
    "outcome",
    [Succeeded(LARGE), failure(), Skipped("no")],
    ids=lambda outcome: type(outcome).__name__,
)
async def test_a_run_of_one_task_is_told_by_its_task_alone(
    connection: Connection, outcome: Outcome
) -> None:
    run_id = await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    await worker.end((await worker.claim())[0], outcome)
    before = await fetch(connection, "select * from mainspring.run")
    for round_ in range(2, 5):
        await reopen(connection, run_id, 0)
        assert await fetch(connection, "select * from mainspring.run") == before
        assert await run_state(connection, run_id) == "running"
        [item] = await worker.claim()
        assert item.generation == round_
        await worker.end(item, outcome)


async def test_a_run_that_failed_again_can_be_opened_again(connection: Connection) -> None:
    run_id, worker = await ended_run(connection, CHAIN, [1])
    for generation in range(2, 5):
        await reopen(connection, run_id)
        assert await work_off(worker, [1]) == [1]
        assert await run_state(connection, run_id) == "failed"
        assert (await row_of(connection, run_id + 3))["generation"] == generation
    await reopen(connection, run_id)
    assert await work_off(worker, [2]) == [1, 2]
    await reopen(connection, run_id)
    assert await work_off(worker) == [2, 3]
    assert await run_state(connection, run_id) == "succeeded"


async def test_skipped_tasks_are_opened_when_they_are_chosen(connection: Connection) -> None:
    run_id = await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    await worker.end((await worker.claim())[0], Skipped("not today"))
    assert await run_state(connection, run_id) == "succeeded"
    with pytest.raises(ConflictError, match="no task of run"):
        await reopen(connection, run_id)
    await reopen(connection, run_id, 0)
    assert await work_off(worker) == [0, 1, 2, 3]


async def test_a_failed_branch_runs_again_while_another_still_runs(connection: Connection) -> None:
    run_id = await start_dag(connection, TWO_CHAINS)
    worker = await BareWorker.join(connection, TWO_CHAINS)
    failed, running = await worker.claim()
    await worker.end(failed, failure())
    assert (await reopen(connection, run_id)).nodes == [0, 1]
    [line] = await fetch(connection, "select * from mainspring.run")
    assert (line["open_tasks"], line["failed_tasks"], line["state"]) == (4, 0, "running")
    await worker.end(running)
    assert await work_off(worker) == [0, 1, 3]
    assert await run_state(connection, run_id) == "succeeded"


# --- as new -------------------------------------------------------------------------------


async def test_an_opened_task_is_as_new_but_for_its_term_and_generation(
    connection: Connection,
) -> None:
    spec = dag_of([(0, 1)], tasks=2, retry=RetrySpec(attempts=2, first_seconds=0))
    run_id = await start_dag(connection, spec)
    fresh = [await row_of(connection, run_id + node) for node in (0, 1)]
    worker = await BareWorker.join(connection, spec)
    for outcome in (Lost(Error("WorkerLost", "gone")), failure(), failure()):
        await wake_backoff(connection, None, 10)
        await worker.end((await worker.claim())[0], outcome)
    failed = await row_of(connection, run_id)
    assert (failed["state"], failed["attempt"], failed["lost"]) == ("failed", 2, 1)
    assert await fetch(connection, "select 1 from mainspring.problem")
    await reopen(connection, run_id, now=SOON)
    for node in (0, 1):
        row = await row_of(connection, run_id + node)
        position = row["position"]
        assert row == fresh[node] | {
            "term": (failed if node == 0 else fresh[1])["term"] + 1,
            "generation": 2,
            "due_at": SOON,
            "position": position,
        }
        assert (position is None) == (node == 1)
    assert await fetch(connection, "select 1 from mainspring.problem") == []
    [queued] = await fetch(connection, "select task_id, term from mainspring.ready")
    assert tuple(queued) == (run_id, failed["term"] + 1)
    # The policy begins anew as well.
    for outcome in (Lost(Error("WorkerLost", "gone")), failure(), failure()):
        await wake_backoff(connection, None, 10)
        await worker.end((await worker.claim())[0], outcome)
    assert await run_state(connection, run_id) == "failed"


async def test_results_of_opened_tasks_go_and_those_of_others_stay(connection: Connection) -> None:
    run_id = await start_dag(connection, DIAMOND, parameters=b'{"text":%s}' % LARGE)
    worker = await BareWorker.join(connection, DIAMOND)
    while claimed := await worker.claim():
        await worker.end_all([(item, Succeeded(LARGE)) for item in claimed])
    await archive(connection)
    await reopen(connection, run_id, 1)
    tasks = range(run_id, run_id + 4)
    results = await read_results(connection, tasks)
    assert [results[task] for task in tasks] == [LARGE, None, LARGE, None]
    owners = await fetch(
        connection, "select owner_id, kind::text from mainspring.payload order by 1, 2"
    )
    assert [tuple(row) for row in owners] == [
        (run_id, "parameters"),
        (run_id, "result"),
        (run_id + 2, "result"),
    ]
    assert await read_parameters(connection, [run_id])


async def test_earlier_attempts_and_logs_stay_and_a_plain_success_is_written_down(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    [first] = await worker.claim()
    await append_log(connection, [(first.task_id, first.term, 0, b"hello")])
    await worker.end(first)
    success = await row_of(connection, run_id)
    [second] = await worker.claim()
    await worker.end(second, failure())
    await reopen(connection, run_id, 0)
    rows = await fetch(
        connection,
        "select task_id, term, generation, attempt, state::text, worker_id, started_at, finished_at"
        " from mainspring.attempt order by task_id",
    )
    assert [tuple(row)[:6] for row in rows] == [
        (run_id, 1, 1, 1, "succeeded", worker.id),
        (run_id + 1, 1, 1, 1, "failed", worker.id),
    ]
    assert rows[0]["started_at"] == success["started_at"]
    assert rows[0]["finished_at"] == success["finished_at"]
    assert await connection.fetchval("select content from mainspring.log") == b"hello"
    # Who reported them is told so, should it ask again.
    assert set((await worker.end(first)).refused.values()) == {"already_yours"}
    assert set((await worker.end(second, failure())).refused.values()) == {"already_yours"}
    assert (await task_states(connection, run_id))["t0"] == "ready"


async def test_a_claim_of_the_generation_before_holds_nothing_of_the_next(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    claim_id = uuid4()
    [item] = await worker.claim(claim_id=claim_id)
    await worker.end(item, failure())
    await reopen(connection, run_id)
    assert await worker.claim(claim_id=claim_id) == []
    assert await read_claims(connection, worker.id, None, 10) == []
    [again] = await worker.claim()
    assert (again.term, again.generation, again.attempt) == (item.term + 1, 2, 1)


async def test_timers_of_the_generation_before_wake_nobody(connection: Connection) -> None:
    spec = dag_of([(0, 1)], tasks=2, retry=RetrySpec(attempts=3, first_seconds=60))
    later = datetime.now(UTC) + timedelta(days=1)
    resting = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    await worker.end((await worker.claim())[0], HandedBack("later", delay_seconds=60))
    delayed = await start_dag(connection, spec, due_at=later)
    await stop_runs(connection, [resting, delayed], "cancel")
    for run_id in (resting, delayed):
        await reopen(connection, run_id)
    assert len(await worker.claim()) == 2, "both are due now"
    for wake in (wake_backoff, wake_starts):
        woken = await wake(connection, later, 10)
        assert (woken.due, woken.lanes) == (1, set())


# --- stopped runs -------------------------------------------------------------------------


async def test_a_cancelled_run_goes_on_where_it_was(connection: Connection) -> None:
    run_id = await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    await worker.end((await worker.claim())[0])
    [item] = await worker.claim()
    await stop_runs(connection, [run_id], "cancel")
    with pytest.raises(ConflictError):
        await reopen(connection, run_id)
    await worker.end(item, Cancelled("asked to"))
    assert await run_state(connection, run_id) == "cancelled"
    assert (await reopen(connection, run_id)).nodes == [1, 2, 3]
    assert await connection.fetchval("select stop from mainspring.run_view") is None
    assert await work_off(worker) == [1, 2, 3]
    assert await run_state(connection, run_id) == "succeeded"


@pytest.mark.parametrize("archived", [False, True], ids=["hot", "history"])
async def test_what_stays_cancelled_beside_a_rerun_makes_the_run_cancelled(
    connection: Connection, archived: bool
) -> None:
    spec = dag_of(tasks=2, timeout_seconds=60)
    run_id = await start_dag(connection, spec)
    await stop_runs(connection, [run_id], "deadline")
    assert await run_state(connection, run_id) == "failed"
    if archived:
        await archive(connection)
    await reopen(connection, run_id, 0)
    assert await work_off(await BareWorker.join(connection, spec)) == [0]
    assert await run_state(connection, run_id) == "cancelled"
    # The promise that history's verdict follows from its tasks is asked after the test.
    await archive(connection)
    assert await run_state(connection, run_id) == "cancelled"


# --- deadlines ----------------------------------------------------------------------------


@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("archived", [False, True], ids=["hot", "history"])
async def test_a_rerun_has_the_whole_time_again(
    connection: Connection, tasks: int, archived: bool
) -> None:
    spec = dag_of(tasks=tasks, timeout_seconds=60)
    run_id, _ = await ended_run(connection, spec, [0])
    if archived:
        await archive(connection)
    start = datetime.now(UTC) + timedelta(seconds=30)
    await reopen(connection, run_id, now=start)
    # The first deadline passes and means nothing any more.
    overdue = await due_deadlines(connection, start + timedelta(seconds=59), 10)
    assert (overdue.due, overdue.runs) == (1, [])
    overdue = await due_deadlines(connection, start + timedelta(seconds=60), 10)
    assert (overdue.due, overdue.runs) == (1, [run_id])
    await stop_runs(connection, overdue.runs, "deadline")
    assert await run_state(connection, run_id) == "failed"
    # And once more, after having run out of time.
    await reopen(connection, run_id, now=start)
    assert await run_state(connection, run_id) == "running"


async def test_deadlines_before_and_after_a_rerun_that_are_found_together_stop_it_once(
    connection: Connection,
) -> None:
    run_id, _ = await ended_run(connection, dag_of(timeout_seconds=60), [0])
    await reopen(connection, run_id)
    overdue = await due_deadlines(connection, datetime.now(UTC) + timedelta(days=1), 10)
    assert (overdue.due, overdue.runs) == (2, [run_id])
    await stop_runs(connection, overdue.runs, "deadline")


# --- history ------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [ONE, CHAIN], ids=lambda spec: spec.name)
async def test_a_run_brought_back_is_the_run_that_went(
    connection: Connection, spec: DagSpec
) -> None:
    """All but the count of parents, which nobody reads of what is closed."""
    run_id, _ = await ended_run(connection, spec, [0], created_by="somebody", parameters=LARGE)

    async def hot() -> list[asyncpg.Record]:
        return await fetch(
            connection,
            "select r::text, to_jsonb(t) - array['unmet', 'position'] as task"
            " from mainspring.run r, mainspring.task t order by t.id",
        )

    before = await hot()
    await archive(connection)
    assert await hot() == []
    assert await bring_back_run(connection, run_id)
    assert await hot() == before
    assert not await bring_back_run(connection, run_id)


async def test_a_reopened_run_goes_to_history_again(connection: Connection) -> None:
    """Though the archive has passed its id: now and then it begins at the beginning."""
    duty = Archive(linger_seconds=-60.0, rounds_between_rescans=3)
    run_id, worker = await ended_run(connection, CHAIN, [1])
    assert await duty.step(connection, None, 100) == 1
    await start_dag(connection, dag_of(name="later"))
    await worker.claim()
    await duty.step(connection, None, 100)
    await reopen(connection, run_id)
    await work_off(worker)
    for _ in range(3):
        await duty.step(connection, None, 100)
    assert await connection.fetchval("select state from mainspring.run_history") == "succeeded"
    assert await connection.fetchval("select count(*) from mainspring.run") == 1
    generations = await fetch(
        connection, "select generation from mainspring.task_history order by id"
    )
    assert [row["generation"] for row in generations] == [1, 2, 2, 2]


async def test_a_run_that_is_too_old_to_be_kept_is_not_found(connection: Connection) -> None:
    run_id, _ = await ended_run(connection, CHAIN, [1])
    await archive(connection)
    generations = await seen(connection, run_id)
    assert await forget_runs(connection, SOON, 10) == 1
    before = await dump(connection)
    with pytest.raises(NotFoundError, match=f"there is no run {run_id}"):
        await reopen_run(connection, run_id, generations)
    with pytest.raises(NotFoundError, match=f"there is no run {run_id}"):
        await read_standing(connection, run_id)
    assert await dump(connection) == before


# --- refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("archived", [False, True], ids=["hot", "history"])
async def test_a_task_after_one_that_failed_is_not_opened_alone(
    connection: Connection, archived: bool
) -> None:
    run_id, _ = await ended_run(connection, CHAIN, [1])
    if archived:
        await archive(connection)
    before = await dump(connection)
    with pytest.raises(ConflictError, match=r"`t3` of run .* comes after `t2`") as refused:
        await reopen(connection, run_id, 3)
    assert "--from t1" in refused.value.hint
    assert await dump(connection) == before


@pytest.mark.parametrize("state", ["ready", "running", "backoff"])
@pytest.mark.parametrize("spec", [ONE, CHAIN], ids=lambda spec: spec.name)
async def test_what_has_not_ended_is_not_opened(
    connection: Connection, spec: DagSpec, state: str
) -> None:
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    for item in await worker.claim() if state != "ready" else []:
        if state == "backoff":
            await worker.end(item, HandedBack("later", delay_seconds=60))
    assert (await task_states(connection, run_id))["t0"] == state
    before = await dump(connection)
    with pytest.raises(ConflictError, match=r"`t0`.* of run .* not ended"):
        await reopen(connection, run_id, 0)
    assert await dump(connection) == before


async def test_what_waits_for_its_start_is_not_opened(connection: Connection) -> None:
    run_id = await start_dag(connection, CHAIN, due_at=SOON)
    before = await dump(connection)
    with pytest.raises(ConflictError, match=r"tasks .* have not ended"):
        await reopen(connection, run_id, 1)
    assert await dump(connection) == before


async def test_a_join_waits_with_its_rerun_for_the_branch_that_still_runs(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, DIAMOND)
    worker = await BareWorker.join(connection, DIAMOND)
    await worker.end((await worker.claim())[0])
    failed, running = await worker.claim()
    await worker.end(failed, failure())
    before = await dump(connection)
    with pytest.raises(
        ConflictError, match=r"`t3` of run .* comes after `t2`, which has not ended"
    ):
        await reopen(connection, run_id)
    assert await dump(connection) == before
    await worker.end(running)
    assert (await reopen(connection, run_id)).nodes == [1, 3]
    await work_off(worker)
    assert await run_state(connection, run_id) == "succeeded"


async def test_an_unknown_run_is_not_found(connection: Connection) -> None:
    with pytest.raises(NotFoundError, match="there is no run 12345"):
        await reopen_run(connection, 12345, {0: 1})


# --- promises -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "promise"),
    [
        (
            "delete from mainspring.timer where kind = 'deadline' and term > 0",
            "N1_every_open_run_with_a_time_limit_has_its_deadline",
        ),
        (
            "update mainspring.attempt set generation = 3 where term = 1",
            "L2_a_later_generation_has_the_higher_terms",
        ),
        (
            "update mainspring.attempt set generation = 1",
            "T2_lost_attempts_are_counted",
        ),
    ],
)
async def test_what_a_rerun_must_not_do_breaks_a_promise(
    connection: Connection, damage: str, promise: str
) -> None:
    spec = dag_of(timeout_seconds=60, retry=RetrySpec(attempts=2, first_seconds=60))
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    await worker.end((await worker.claim())[0], failure(retry=False))
    await reopen(connection, run_id)
    for outcome in (Lost(Error("WorkerLost", "gone")), failure()):
        await worker.end((await worker.claim())[0], outcome)
    assert await violations(connection) == {}
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute(damage)
    assert await fetch(connection, statement(promise))
    await transaction.rollback()


# --- repeated -----------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [ONE, CHAIN], ids=lambda spec: spec.name)
async def test_a_repetition_changes_nothing_and_answers_the_same(
    connection: Connection, spec: DagSpec
) -> None:
    run_id, worker = await ended_run(connection, spec, [0])
    await archive(connection)
    generations = await seen(connection, run_id)
    answer = await reopen_run(connection, run_id, generations)

    async def repeat() -> None:
        before = await dump(connection)
        assert await reopen_run(connection, run_id, generations) == answer
        assert await dump(connection) == before

    await repeat()
    items = await worker.claim()
    await repeat()
    await stop_runs(connection, [run_id], "cancel")
    await repeat()
    await worker.end_all([(item, Cancelled("asked to")) for item in items])
    await repeat()
    assert await archive(connection) == 1
    await repeat()


async def test_whoever_comes_late_opens_no_third_generation(connection: Connection) -> None:
    run_id, worker = await ended_run(connection, CHAIN, [1])
    generations = await seen(connection, run_id)
    for _ in range(2):
        await reopen(connection, run_id)
        await work_off(worker, [1])
    before = await dump(connection)
    with pytest.raises(ConflictError, match="opened by somebody else"):
        await reopen_run(connection, run_id, generations)
    assert await dump(connection) == before


async def test_two_who_choose_differently_do_not_take_each_other_for_a_repetition(
    connection: Connection,
) -> None:
    run_id, worker = await ended_run(connection, TWO_CHAINS, [0, 2])
    mine, theirs = await seen(connection, run_id, 0, 2), await seen(connection, run_id, 2)
    await reopen_run(connection, run_id, theirs)
    await work_off(worker)
    before = await dump(connection)
    with pytest.raises(ConflictError, match=r"task `t2` of run .* was opened by somebody else"):
        await reopen_run(connection, run_id, mine)
    assert await dump(connection) == before
