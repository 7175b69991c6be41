"""A task is closed by hand, whatever it was doing, and what comes after it goes on."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

import pytest

from mainspring.domain.errors import ConflictError, InputError
from mainspring.domain.outcomes import Outcome, Skipped
from mainspring.domain.specs import DagSpec, RetrySpec
from mainspring.store.attempts import renew_lease
from mainspring.store.connection import Connection, fetch
from mainspring.store.history import archive_runs
from mainspring.store.marks import Mark, Marked, mark_task
from mainspring.store.reading import read_clock
from mainspring.store.runs import Deed, read_standing, reopen_run, stop_runs
from tests.support.factory import BareWorker, dag_of, failure, run_state, start_dag, task_states

CHAIN = dag_of([(0, 1), (1, 2)], tasks=3)
JOIN = dag_of([(0, 2), (1, 2)], tasks=3)
BRIDGE = dag_of([(0, 1), (1, 3), (2, 3)], tasks=4)
"""t3 comes after t1, which comes after t0, and after t2."""
ME = Deed("me", "because")


async def mark(
    connection: Connection,
    run_id: int,
    node: int,
    state: Mark = "succeeded",
    result: bytes | None = None,
) -> Marked:
    standing = await read_standing(connection, run_id)
    return await mark_task(
        connection, run_id, node, standing.tasks[node].term, state, ME, result=result
    )


async def play(connection: Connection, dag: DagSpec, failing: Collection[int] = ()) -> list[int]:
    """Work off what is ready; the nodes that ran."""
    worker, ran = await BareWorker.join(connection, dag), []
    while items := await worker.claim():
        ran += [item.node for item in items]
        await worker.end_all(
            [(item, failure() if item.node in failing else None) for item in items]
        )
    return ran


async def states(connection: Connection, run_id: int) -> list[str]:
    return list((await task_states(connection, run_id)).values())


async def test_a_ready_task_is_closed_and_its_child_is_ready(connection: Connection) -> None:
    run_id = await start_dag(connection, CHAIN)
    marked = await mark(connection, run_id, 0, result=b'{"a":1}')
    assert (marked.claimed, len(marked.lanes)) == (False, 1)
    assert await states(connection, run_id) == ["succeeded", "ready", "waiting"]
    assert await play(connection, CHAIN) == [1, 2]
    assert await run_state(connection, run_id) == "succeeded"
    result = await connection.fetchval("select result from mainspring.task where id = $1", run_id)
    assert result == b'{"a":1}'


async def test_a_waiting_task_is_closed_and_its_child_waits_for_the_others(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, BRIDGE)
    await mark(connection, run_id, 1)
    assert await states(connection, run_id) == ["ready", "succeeded", "ready", "waiting"]
    assert sorted(await play(connection, BRIDGE)) == [0, 2, 3]
    assert await run_state(connection, run_id) == "succeeded"


async def test_a_failure_before_a_task_that_was_closed_by_hand_does_not_reach_past_it(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, BRIDGE)
    await mark(connection, run_id, 1)
    worker = await BareWorker.join(connection, BRIDGE)
    first, second = sorted(await worker.claim(), key=lambda item: item.node)
    await worker.end(first, failure())
    assert await states(connection, run_id) == ["failed", "succeeded", "running", "waiting"]
    await worker.end(second)
    assert await play(connection, BRIDGE) == [3]
    assert await run_state(connection, run_id) == "failed"


@pytest.mark.parametrize("outcome", [None, failure(), Skipped("no")])
async def test_an_attempt_in_hand_is_fenced_and_its_worker_is_told(
    connection: Connection, outcome: Outcome | None
) -> None:
    run_id = await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    [item] = await worker.claim()
    assert (await mark(connection, run_id, 0)).claimed
    await archive(connection)
    renewed = await renew_lease(
        connection, worker.id, [], draining=False, claims_known_after=timedelta(days=1)
    )
    assert renewed.stops == [(run_id, item.term, "mark")]
    completed = await worker.end(item, outcome)
    assert completed.refused == {(run_id, item.term): "superseded"}
    assert await states(connection, run_id) == ["succeeded", "ready", "waiting"]
    [attempt] = await fetch(connection, "select * from mainspring.attempt")
    assert (attempt["state"], attempt["term"], attempt["worker_id"]) == (
        "cancelled",
        item.term,
        worker.id,
    )
    assert b"because" in attempt["error"]


async def test_a_task_of_a_run_in_history_is_stopped_as_well(connection: Connection) -> None:
    one = dag_of()
    run_id = await start_dag(connection, one)
    worker = await BareWorker.join(connection, one)
    [item] = await worker.claim()
    await mark(connection, run_id, 0)
    assert await run_state(connection, run_id) == "succeeded"
    assert await archive(connection) == 1
    renewed = await renew_lease(
        connection, worker.id, [], draining=False, claims_known_after=timedelta(days=1)
    )
    assert renewed.stops == [(run_id, item.term, "mark")]
    assert set((await worker.end(item)).refused.values()) == {"superseded"}


async def test_a_task_that_rests_is_closed_and_its_timer_wakes_nothing(
    connection: Connection,
) -> None:
    dag = dag_of([(0, 1)], tasks=2, retry=RetrySpec(attempts=3, first_seconds=60))
    run_id = await start_dag(connection, dag)
    worker = await BareWorker.join(connection, dag)
    [item] = await worker.claim()
    await worker.end(item, failure())
    assert await states(connection, run_id) == ["backoff", "waiting"]
    await mark(connection, run_id, 0, "skipped")
    assert await states(connection, run_id) == ["skipped", "skipped"]
    assert await run_state(connection, run_id) == "succeeded"


@pytest.mark.parametrize("archived", [False, True])
async def test_a_failed_task_is_closed_and_what_comes_after_it_goes_on(
    connection: Connection, archived: bool
) -> None:
    run_id = await start_dag(connection, CHAIN)
    await play(connection, CHAIN, [1])
    if archived:
        assert await archive(connection) == 1
    marked = await mark(connection, run_id, 1)
    assert marked.opened == ["t2"]
    assert await states(connection, run_id) == ["succeeded", "succeeded", "ready"]
    assert await fetch(connection, "select 1 from mainspring.problem") == []
    assert await play(connection, CHAIN) == [2]
    assert await run_state(connection, run_id) == "succeeded"


async def test_a_failed_task_that_is_skipped_skips_what_comes_after_it(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, CHAIN)
    await play(connection, CHAIN, [1])
    await mark(connection, run_id, 1, "skipped")
    assert await states(connection, run_id) == ["succeeded", "skipped", "skipped"]
    assert await run_state(connection, run_id) == "succeeded"


async def test_of_two_failed_tasks_before_a_join_each_can_be_closed(
    connection: Connection,
) -> None:
    run_id = await start_dag(connection, JOIN)
    await play(connection, JOIN, [0, 1])
    assert (await mark(connection, run_id, 0)).opened == []
    assert await states(connection, run_id) == ["succeeded", "failed", "upstream_failed"]
    assert await run_state(connection, run_id) == "failed"
    assert await archive(connection) == 1
    assert (await mark(connection, run_id, 1)).opened == ["t2"]
    assert await play(connection, JOIN) == [2]
    assert await run_state(connection, run_id) == "succeeded"


async def test_the_only_task_of_a_run_that_failed_is_closed(connection: Connection) -> None:
    one = dag_of()
    run_id = await start_dag(connection, one)
    await play(connection, one, [0])
    await mark(connection, run_id, 0)
    assert await run_state(connection, run_id) == "succeeded"


async def test_asked_twice_it_is_done_once(connection: Connection) -> None:
    run_id = await start_dag(connection, CHAIN)
    answers = [await mark_task(connection, run_id, 0, 1, "succeeded", ME) for _ in range(2)]
    assert [answer.repeated for answer in answers] == [False, True]
    assert await states(connection, run_id) == ["succeeded", "ready", "waiting"]
    assert len(await fetch(connection, "select 1 from mainspring.remark")) == 1
    assert await play(connection, CHAIN) == [1, 2]


async def test_what_has_moved_on_since_it_was_seen_is_left_alone(connection: Connection) -> None:
    run_id = await start_dag(connection, CHAIN)
    await play(connection, CHAIN, [0])
    await reopen_run(connection, run_id, {0: 1})
    with pytest.raises(ConflictError, match="has moved on in the meantime"):
        await mark_task(connection, run_id, 0, 1, "succeeded", ME)
    assert await states(connection, run_id) == ["ready", "waiting", "waiting"]


async def test_what_has_ended_otherwise_is_refused_with_a_way_out(connection: Connection) -> None:
    run_id = await start_dag(connection, CHAIN)
    await play(connection, CHAIN, [1])
    for node, state, hint in (
        (0, "succeeded", "rerun"),
        (0, "skipped", "rerun"),
        (2, "succeeded", "mark what failed before it: `t1`"),
    ):
        with pytest.raises(ConflictError) as caught:
            await mark(connection, run_id, node, state)  # type: ignore[arg-type]
        assert hint in caught.value.hint
    assert await states(connection, run_id) == ["succeeded", "failed", "upstream_failed"]


async def test_a_mark_is_undone_by_a_rerun(connection: Connection) -> None:
    run_id = await start_dag(connection, CHAIN)
    await mark(connection, run_id, 0)
    await play(connection, CHAIN)
    await reopen_run(connection, run_id, {0: 1})
    attempts = await fetch(connection, "select task_id from mainspring.attempt order by 1")
    assert [row["task_id"] - run_id for row in attempts] == [1, 2]
    assert await play(connection, CHAIN) == [0, 1, 2]


async def test_a_task_that_was_asked_to_stop_may_be_closed(connection: Connection) -> None:
    run_id = await start_dag(connection, CHAIN)
    worker = await BareWorker.join(connection, CHAIN)
    await worker.claim()
    await stop_runs(connection, [run_id], "cancel")
    await mark(connection, run_id, 0)
    assert await states(connection, run_id) == ["succeeded", "cancelled", "cancelled"]
    assert await run_state(connection, run_id) == "cancelled"


async def test_a_large_result_is_kept(connection: Connection) -> None:
    run_id = await start_dag(connection, CHAIN)
    large = b'"' + b"x" * 5000 + b'"'
    await mark(connection, run_id, 0, result=large)
    content = await connection.fetchval("select content from mainspring.payload")
    assert content == large


def test_a_note_is_bounded() -> None:
    with pytest.raises(InputError, match="at most 1,000"):
        Deed("me", "n" * 1001)
    with pytest.raises(InputError, match="NUL"):
        Deed("me", "\x00")


async def archive(connection: Connection) -> int:
    later = await read_clock(connection) + timedelta(days=1)
    async with connection.transaction():
        return (await archive_runs(connection, 0, 1000, later)).moved
