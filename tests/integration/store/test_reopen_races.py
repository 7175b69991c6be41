"""What a rerun and others do to each other, in lock step where an order matters.

A rerun locks as everybody does: the run, then its tasks by id. What it decides, it decides by what
was committed while it waited.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.errors import ConflictError, NotFoundError
from mainspring.domain.specs import DagSpec, RetrySpec
from mainspring.store import history
from mainspring.store.connection import Connection, connect, fetch
from mainspring.store.duties import due_deadlines, wake_backoff
from mainspring.store.history import archive_runs, drop_old_period, forget_runs
from mainspring.store.payloads import read_parameters
from mainspring.store.runs import read_standing, reopen_run, stop_runs
from tests.integration.store.lockstep import until_waiting
from tests.integration.store.test_races import Reaping
from tests.support.factory import (
    DEFAULT_LANE,
    BareWorker,
    dag_of,
    failure,
    run_state,
    start_dag,
    task_states,
)

ONE = dag_of(name="one")
PAIR = dag_of([(0, 1)], tasks=2, name="pair")
JOIN = dag_of([(0, 2), (1, 2)], tasks=3, name="join")
BESIDE = dag_of(tasks=2, name="beside")
TWO_CHAINS = dag_of([(0, 1), (2, 3)], tasks=4, name="two_chains")
LARGE = b'{"text":"%s"}' % (b"x" * 2000)
FAR = datetime(2100, 1, 1, tzinfo=UTC)
PERIOD_IDS = 10_000_000
ROUNDS = 30

each_shape = pytest.mark.parametrize("spec", [ONE, PAIR], ids=["one task", "two tasks"])
each_end = pytest.mark.parametrize("spec", [ONE, PAIR, BESIDE], ids=["one", "all", "some"])
"""Of the tasks, these are opened again."""


@pytest.fixture
async def third(database_url: str) -> AsyncIterator[Connection]:
    connection = await connect(database_url, name="third", stable_plans=True)
    yield connection
    await connection.close()


def first_seen(*nodes: int) -> dict[int, int]:
    return dict.fromkeys(nodes, 1)


async def failed_run(connection: Connection, spec: DagSpec, **options: object) -> int:
    """Its first task failed, and what does not come after that succeeded."""
    run_id = await start_dag(connection, spec, **options)
    worker = await BareWorker.join(connection, spec)
    while items := await worker.claim():
        await worker.end_all([(item, None if item.node else failure()) for item in items])
    return run_id


async def archive(connection: Connection) -> int:
    return (await archive_runs(connection, 0, 1000, FAR)).moved


# --- completions --------------------------------------------------------------------------


@each_shape
async def test_a_rerun_that_meets_the_last_completion_waits_and_opens_what_it_closed(
    connection: Connection, other: Connection, observer: Connection, spec: DagSpec
) -> None:
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [root] = await worker.claim()
    ending = connection.transaction()
    await ending.start()
    await worker.end(root, failure())
    reopening = asyncio.create_task(reopen_run(other, run_id, first_seen(0)))
    await until_waiting(observer, other)
    await ending.commit()
    assert (await reopening).nodes == list(range(len(spec.tasks)))
    assert (await task_states(connection, run_id))["t0"] == "ready"


@each_shape
async def test_a_completion_of_the_generation_before_that_meets_a_rerun_is_refused(
    connection: Connection, other: Connection, observer: Connection, spec: DagSpec
) -> None:
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [root] = await worker.claim()
    await worker.end(root, failure())
    reopening = other.transaction()
    await reopening.start()
    await reopen_run(other, run_id, first_seen(0))
    ending = asyncio.create_task(worker.end(root, grant={DEFAULT_LANE: 5}))
    if spec is PAIR:
        # A task by itself is not even waited for: the snapshot shows that it has ended.
        await until_waiting(observer, connection)
    await reopening.commit()
    completed = await ending
    assert completed.refused == {(root.task_id, root.term): "already_yours"}
    assert (completed.grants, completed.lanes) == ([], set())
    assert (await task_states(connection, run_id))["t0"] == "ready"


async def test_a_completion_beside_a_rerun_under_way_waits_and_counts(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    run_id = await start_dag(connection, TWO_CHAINS)
    worker = await BareWorker.join(connection, TWO_CHAINS)
    failed, running = await worker.claim()
    await worker.end(failed, failure())
    reopening = other.transaction()
    await reopening.start()
    await reopen_run(other, run_id, first_seen(0, 1))
    ending = asyncio.create_task(worker.end(running, failure()))
    await until_waiting(observer, connection)
    await reopening.commit()
    assert (await ending).refused == {}
    assert list((await task_states(connection, run_id)).values()) == [
        "ready",
        "waiting",
        "failed",
        "upstream_failed",
    ]
    while items := await worker.claim():
        await worker.end_all([(item, None) for item in items])
    assert await run_state(connection, run_id) == "failed"


async def test_a_rerun_that_meets_the_end_of_the_other_branch_waits_and_counts_it(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    """Had it not waited for the run, the join would wait for a parent that has succeeded."""
    run_id = await start_dag(connection, JOIN)
    worker = await BareWorker.join(connection, JOIN)
    failed, running = await worker.claim()
    await worker.end(failed, failure())
    with pytest.raises(ConflictError, match="`t1`, which has not ended"):
        await reopen_run(other, run_id, first_seen(0, 2))
    ending = connection.transaction()
    await ending.start()
    await worker.end(running)
    reopening = asyncio.create_task(reopen_run(other, run_id, first_seen(0, 2)))
    await until_waiting(observer, other)
    await ending.commit()
    assert (await reopening).nodes == [0, 2]
    for _ in range(2):
        [item] = await worker.claim()
        await worker.end(item)
    assert await run_state(connection, run_id) == "succeeded"


# --- claims and the reaper ----------------------------------------------------------------


async def test_a_claim_takes_nothing_of_a_rerun_that_is_not_committed(
    connection: Connection, other: Connection
) -> None:
    run_id = await failed_run(connection, PAIR)
    worker = await BareWorker.join(connection, PAIR)
    reopening = other.transaction()
    await reopening.start()
    await reopen_run(other, run_id, first_seen(0))
    assert await worker.claim() == []
    await reopening.commit()
    assert [item.generation for item in await worker.claim()] == [2]


async def test_a_reaper_that_meets_a_rerun_takes_only_what_its_worker_holds(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    run_id = await start_dag(connection, TWO_CHAINS)
    worker = await BareWorker.join(connection, TWO_CHAINS)
    failed, _ = await worker.claim()
    await worker.end(failed, failure())
    reopening = other.transaction()
    await reopening.start()
    await reopen_run(other, run_id, first_seen(0, 1))
    reaping = Reaping(connection, worker)
    await reaping.lock()
    taking = asyncio.create_task(reaping.take_back())
    await until_waiting(observer, connection)
    await reopening.commit()
    assert (await taking).refused == {}
    await reaping.commit()
    rows = await fetch(
        connection, "select node, term, generation, lost from mainspring.task order by node"
    )
    assert [tuple(row) for row in rows] == [(0, 2, 2, 0), (1, 2, 2, 0), (2, 2, 1, 1), (3, 1, 1, 0)]


async def test_a_rerun_that_meets_a_reaper_opens_what_it_gave_up(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    run_id = await start_dag(connection, ONE)
    worker = await BareWorker.join(connection, ONE)
    await worker.claim()
    # Lost twice before: once more is too often.
    await connection.execute("update mainspring.task set lost = 2")
    await connection.execute(
        "insert into mainspring.attempt (task_id, term, attempt, generation, state, finished_at)"
        " select $1, -n, 1, 1, 'lost', now() from generate_series(1, 2) as n",
        run_id,
    )
    reaping = Reaping(connection, worker)
    await reaping.lock()
    await reaping.take_back()
    reopening = asyncio.create_task(reopen_run(other, run_id, first_seen(0)))
    await until_waiting(observer, other)
    await reaping.commit()
    assert (await reopening).nodes == [0]
    [row] = await fetch(connection, "select state::text, term, lost from mainspring.task")
    assert tuple(row) == ("ready", 2, 0)


# --- stops and deadlines ------------------------------------------------------------------


@each_shape
async def test_a_stop_that_meets_a_rerun_waits_and_stops_it(
    connection: Connection, other: Connection, observer: Connection, spec: DagSpec
) -> None:
    run_id = await failed_run(connection, spec)
    reopening = other.transaction()
    await reopening.start()
    await reopen_run(other, run_id, first_seen(0))
    stopping = asyncio.create_task(stop_runs(connection, [run_id], "cancel"))
    await until_waiting(observer, connection)
    await reopening.commit()
    assert await stopping == 0
    assert set((await task_states(connection, run_id)).values()) == {"cancelled"}
    assert await run_state(connection, run_id) == "cancelled"


@each_shape
async def test_a_rerun_that_meets_a_stop_waits_and_opens_what_it_closed(
    connection: Connection, other: Connection, observer: Connection, spec: DagSpec
) -> None:
    run_id = await start_dag(connection, spec)
    stopping = connection.transaction()
    await stopping.start()
    await stop_runs(connection, [run_id], "cancel")
    reopening = asyncio.create_task(reopen_run(other, run_id, first_seen(0)))
    await until_waiting(observer, other)
    await stopping.commit()
    assert 0 in (await reopening).nodes
    assert await run_state(connection, run_id) == "running"
    assert len(await (await BareWorker.join(connection, spec)).claim()) == 1


@pytest.mark.parametrize("archived", [False, True], ids=["hot", "history"])
@pytest.mark.parametrize("tasks", [1, 2])
async def test_a_deadline_that_meets_a_rerun_under_way_stops_nothing(
    connection: Connection, other: Connection, observer: Connection, tasks: int, archived: bool
) -> None:
    run_id = await failed_run(connection, dag_of(tasks=tasks, timeout_seconds=60))
    if archived:
        assert await archive(connection) == 1
    later = datetime.now(UTC) + timedelta(seconds=90)

    async def stop_overdue() -> list[int]:
        async with connection.transaction():
            overdue = await due_deadlines(connection, later, 10)
            assert overdue.due == 1
            await stop_runs(connection, overdue.runs, "deadline", now=later)
            return overdue.runs

    reopening = other.transaction()
    await reopening.start()
    await reopen_run(other, run_id, first_seen(0), now=later)
    stopping = asyncio.create_task(stop_overdue())
    if not archived:
        await until_waiting(observer, connection)
        await reopening.commit()
    assert await stopping == []
    if archived:
        await reopening.commit()
    assert await run_state(connection, run_id) == "running"


async def test_a_rerun_that_meets_a_deadline_under_way_comes_after_it(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    run_id = await failed_run(connection, dag_of(timeout_seconds=60))
    later = datetime.now(UTC) + timedelta(seconds=90)
    stopping = connection.transaction()
    await stopping.start()
    overdue = await due_deadlines(connection, later, 10)
    assert overdue.runs == [run_id]
    reopening = asyncio.create_task(reopen_run(other, run_id, first_seen(0), now=later))
    await until_waiting(observer, other)
    await stop_runs(connection, overdue.runs, "deadline", now=later)
    await stopping.commit()
    await reopening
    assert await run_state(connection, run_id) == "running"
    assert (await due_deadlines(connection, later, 10)).due == 0


# --- history ------------------------------------------------------------------------------


@each_end
async def test_a_rerun_that_meets_the_archive_waits_and_brings_the_run_back(
    connection: Connection, other: Connection, observer: Connection, spec: DagSpec
) -> None:
    run_id = await failed_run(connection, spec)
    archiving = connection.transaction()
    await archiving.start()
    assert await archive(connection) == 1
    reopening = asyncio.create_task(reopen_run(other, run_id, first_seen(0)))
    await until_waiting(observer, other)
    await archiving.commit()
    assert 0 in (await reopening).nodes
    assert await fetch(connection, "select 1 from mainspring.run_history") == []
    assert await run_state(connection, run_id) == "running"


@each_end
async def test_the_archive_passes_by_a_run_that_is_being_opened(
    connection: Connection, other: Connection, spec: DagSpec
) -> None:
    run_id = await failed_run(connection, spec)
    async with other.transaction():
        await reopen_run(other, run_id, first_seen(0))
        assert await archive(connection) == 0
    assert await archive(connection) == 0
    assert await run_state(connection, run_id) == "running"


@each_end
async def test_the_archive_leaves_a_run_that_was_opened_after_it_began_to_look(
    connection: Connection,
    other: Connection,
    third: Connection,
    observer: Connection,
    spec: DagSpec,
) -> None:
    """It is held up at the first run, and the second is opened meanwhile, or right after."""
    first, second = await failed_run(connection, spec), await failed_run(connection, spec)
    holding = third.transaction()
    await holding.start()
    await third.execute("select 1 from mainspring.task where id = $1 for update", first)
    archiving = asyncio.create_task(archive(connection))
    await until_waiting(observer, connection)
    reopening = asyncio.create_task(reopen_run(other, second, first_seen(0)))
    waits = "select cardinality(pg_blocking_pids($1)) > 0"
    while not reopening.done() and not await observer.fetchval(waits, other.get_server_pid()):
        pass
    committed_meanwhile = reopening.done()
    await holding.rollback()
    assert await archiving == (1 if committed_meanwhile else 2)
    await reopening
    assert await run_state(connection, first) == "failed"
    assert await run_state(connection, second) == "running"
    [row] = await fetch(connection, "select id from mainspring.run_history")
    assert row["id"] == first


@each_end
async def test_two_who_bring_a_run_back_at_once_open_one_generation(
    connection: Connection, other: Connection, observer: Connection, spec: DagSpec
) -> None:
    """Also one who repeats itself while its first try is still under way."""
    run_id = await failed_run(connection, spec)
    assert await archive(connection) == 1
    first = other.transaction()
    await first.start()
    answer = await reopen_run(other, run_id, first_seen(0))
    repeating = asyncio.create_task(reopen_run(connection, run_id, first_seen(0)))
    await until_waiting(observer, connection)
    await first.commit()
    assert await repeating == answer
    assert await connection.fetchval("select max(generation) from mainspring.task") == 2


@each_end
async def test_the_second_brings_the_run_back_when_the_first_gives_up(
    connection: Connection, other: Connection, observer: Connection, spec: DagSpec
) -> None:
    run_id = await failed_run(connection, spec)
    assert await archive(connection) == 1
    first = other.transaction()
    await first.start()
    answer = await reopen_run(other, run_id, first_seen(0))
    repeating = asyncio.create_task(reopen_run(connection, run_id, first_seen(0)))
    await until_waiting(observer, connection)
    await first.rollback()
    assert await repeating == answer
    assert await run_state(connection, run_id) == "running"


async def test_retention_passes_by_a_run_that_is_being_brought_back(
    connection: Connection, other: Connection
) -> None:
    run_id = await failed_run(connection, PAIR, parameters=LARGE)
    assert await archive(connection) == 1
    reopening = other.transaction()
    await reopening.start()
    await reopen_run(other, run_id, first_seen(0))
    assert await forget_runs(connection, FAR, 10) == 0
    await reopening.commit()
    assert await read_parameters(connection, [run_id]) == {run_id: LARGE}
    assert await connection.fetchval("select count(*) from mainspring.attempt") == 1


async def test_a_rerun_that_meets_retention_finds_nothing(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    run_id = await failed_run(connection, PAIR, parameters=LARGE)
    assert await archive(connection) == 1
    forgetting = connection.transaction()
    await forgetting.start()
    assert await forget_runs(connection, FAR, 10) == 1
    reopening = asyncio.create_task(reopen_run(other, run_id, first_seen(0)))
    await until_waiting(observer, other)
    await forgetting.commit()
    with pytest.raises(NotFoundError):
        await reopening


async def test_a_period_stays_if_a_run_of_it_went_to_history_in_the_last_moment(
    connection: Connection,
    other: Connection,
    observer: Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Old ids that end today are kept as long as any: those of reopened runs, above all."""
    monkeypatch.setattr(history, "_LOCK_TIMEOUT", "1h")
    run_id = await failed_run(connection, PAIR)
    await connection.execute("select setval('mainspring.id_block', $1)", PERIOD_IDS + 1)
    archiving = connection.transaction()
    await archiving.start()
    assert await archive(connection) == 1
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    dropping = asyncio.create_task(drop_old_period(other, long_ago))
    await until_waiting(observer, other)
    await archiving.commit()
    assert not await dropping
    assert await run_state(connection, run_id) == "failed"
    assert (await reopen_run(connection, run_id, first_seen(0))).nodes == [0, 1]


async def test_a_reopened_run_of_a_dropped_period_keeps_what_it_needs(
    connection: Connection,
) -> None:
    run_id = await failed_run(connection, PAIR, parameters=LARGE)
    assert await archive(connection) == 1
    await reopen_run(connection, run_id, first_seen(0))
    await connection.execute("select setval('mainspring.id_block', $1)", PERIOD_IDS + 1)
    assert await drop_old_period(connection, FAR)
    assert await read_parameters(connection, [run_id]) == {run_id: LARGE}
    worker = await BareWorker.join(connection, PAIR)
    await worker.end((await worker.claim())[0], failure("again"))
    assert await archive(connection) == 1
    await reopen_run(connection, run_id, dict.fromkeys((0, 1), 2))
    while items := await worker.claim():
        await worker.end_all([(item, None) for item in items])
    assert await run_state(connection, run_id) == "succeeded"
    rows = await fetch(connection, "select term, generation from mainspring.attempt order by term")
    assert [tuple(row) for row in rows] == [(1, 1), (2, 2)]


# --- all at once --------------------------------------------------------------------------


async def test_many_who_open_the_same_run_open_it_once(database_url: str) -> None:
    callers = [
        await connect(database_url, name=f"caller {number}", stable_plans=True)
        for number in range(4)
    ]
    for round_ in range(ROUNDS):
        run_id = await failed_run(callers[0], (ONE, PAIR, JOIN)[round_ % 3])
        if round_ % 2:
            assert await archive(callers[0]) == 1
        answers = await asyncio.gather(
            *(reopen_run(caller, run_id, first_seen(0)) for caller in callers)
        )
        assert answers == [answers[0]] * len(callers)
        highest = await callers[0].fetchval(
            "select max(generation) from mainspring.task where run_id = $1", run_id
        )
        assert highest == 2
        await stop_runs(callers[0], [run_id], "cancel")
        assert await archive(callers[0]) == 1
    for caller in callers:
        await caller.close()


async def test_reruns_among_workers_stops_the_archive_and_each_other_lose_nothing(
    database_url: str,
) -> None:
    """Everything at once, without an order. What is left over then comes to its end."""
    spec = dag_of(
        [(0, 2), (1, 2), (2, 3)],
        tasks=5,
        name="storm",
        retry=RetrySpec(attempts=2, first_seconds=0),
        timeout_seconds=3600,
    )
    connections = [
        await connect(database_url, name=f"storm {number}", stable_plans=True)
        for number in range(7)
    ]
    first, second, stopper, archiver, waker, *reopeners = connections
    runs = [await start_dag(first, spec) for _ in range(12)]
    chance = random.Random(19)
    rounds = range(ROUNDS * 5)
    reopened = 0

    async def work(connection: Connection) -> None:
        worker = await BareWorker.join(connection, spec)
        for _ in rounds:
            ends = [
                (item, failure() if chance.random() < 0.3 else None)
                for item in await worker.claim(chance.randint(1, 6))
            ]
            if ends:
                await worker.end_all(ends, grant={DEFAULT_LANE: 0})

    async def stop() -> None:
        for _ in rounds:
            await stop_runs(stopper, [chance.choice(runs)], "cancel")
            await asyncio.sleep(0)

    async def move() -> None:
        for _ in rounds:
            await archive(archiver)

    async def wake() -> None:
        for _ in rounds:
            await wake_backoff(waker, FAR, 100)

    async def open_again(connection: Connection) -> None:
        nonlocal reopened
        for _ in rounds:
            run_id = chance.choice(runs)
            standing = await read_standing(connection, run_id)
            chosen = chance.sample(range(5), chance.randint(1, 5))
            seen = {node: standing.tasks[node].generation for node in chosen}
            try:
                await reopen_run(connection, run_id, seen)
                reopened += 1
            except ConflictError:
                pass

    await asyncio.gather(
        work(first), work(second), stop(), move(), wake(), *map(open_again, reopeners)
    )
    assert reopened > 0
    worker = await BareWorker.join(first, spec)
    await wake_backoff(waker, FAR, 1000)
    while items := await worker.claim():
        await worker.end_all([(item, None) for item in items])
    await archive(first)
    rows = await fetch(first, "select id, state::text from mainspring.run_history")
    assert {row["id"] for row in rows} == set(runs), "every run has ended, once"
    for connection in connections:
        await connection.close()
