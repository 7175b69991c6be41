"""What two sessions do to each other, in lock step where an order matters.

There is one lock order: lease, claim, run, tasks by id. So nobody waits in a circle, and a
deadlock that reaches a test is a failure although callers would try again.
"""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

import pytest

from mainspring.domain.outcomes import Error, HandedBack, Lost, decide
from mainspring.domain.specs import DagSpec
from mainspring.store.attempts import (
    Claimed,
    Completed,
    Completion,
    Held,
    Reaped,
    complete_attempts,
    drop_claims,
    end_worker,
    mark_started,
    read_claims,
)
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import register_dag
from mainspring.store.duties import lock_lease, wake_backoff
from mainspring.store.ids import Ids
from mainspring.store.runs import NewRun, create_runs, stop_runs
from tests.integration.store.lockstep import until_waiting
from tests.support.factory import (
    DEFAULT_LANE,
    NOW_US,
    BareWorker,
    dag_of,
    failure,
    run_state,
    start_dag,
    task_states,
)

ROUNDS = 60
WIDTH = 8
FAN_IN = dag_of([(number, WIDTH) for number in range(WIDTH)], tasks=WIDTH + 1)
PAIR = dag_of([(0, 1)], tasks=2)
LOST = Lost(Error("WorkerLost", "gone"))


async def start_many(connection: Connection, spec: DagSpec, runs: int) -> list[int]:
    dag = await register_dag(connection, spec, "snapshot")
    ids = Ids()
    new = [
        NewRun(await ids.take(connection, len(spec.tasks)), dag.version_id, dag.snapshot_id)
        for _ in range(runs)
    ]
    return (await create_runs(connection, new)).ids


class Reaping:
    """The reaper's transaction, one step at a time."""

    def __init__(self, connection: Connection, worker: BareWorker) -> None:
        self.connection = connection
        self.worker = worker
        self.transaction = connection.transaction()

    async def lock(self) -> None:
        await self.transaction.start()
        beat = await self.connection.fetchval(
            "select beat from mainspring.lease where worker_id = $1", self.worker.id
        )
        assert await lock_lease(self.connection, self.worker.id, beat)

    async def take_back(self) -> Completed:
        held = await read_claims(self.connection, self.worker.id, None, 1000)
        completed = await complete_attempts(
            self.connection,
            self.worker.id,
            [self._lost(item) for item in held],
        )
        await drop_claims(self.connection, self.worker.id, None)
        await end_worker(self.connection, self.worker.id, "reaped")
        return completed

    def _lost(self, held: Held) -> Completion:
        task = self.worker.spec.tasks[held.node]
        decision = decide(LOST, task, held.attempt, held.lost, 0.0)
        run_id = held.run_id if held.many else None
        return Completion(held.task_id, held.term, held.claim_id, run_id, decision, None, NOW_US)

    async def commit(self) -> None:
        await self.transaction.commit()


# --- completers ---------------------------------------------------------------------------


async def test_racing_completers_of_one_join_lose_no_decrement(
    connection: Connection, other: Connection
) -> None:
    first = await BareWorker.join(connection, FAN_IN)
    second = await BareWorker.join(other, FAN_IN)
    for _ in range(ROUNDS):
        run_id = await start_dag(connection, FAN_IN)
        left, right = await first.claim(WIDTH // 2), await second.claim(WIDTH // 2)
        answers = await asyncio.gather(
            *(_in_parts(worker, items) for worker, items in ((first, left), (second, right[::-1])))
        )
        assert sum(answers) == 1, "the join was readied once"
        [join] = await first.claim()
        assert join.node == WIDTH
        await first.end(join)
        assert await run_state(connection, run_id) == "succeeded"


async def _in_parts(worker: BareWorker, items: list[Claimed]) -> int:
    """How often a lane got rows."""
    half = len(items) // 2
    parts = [items[:half], items[half:]]
    return sum([len((await worker.end_all([(i, None) for i in part])).lanes) for part in parts])


async def test_racing_completers_with_grants_hand_the_join_to_one_of_them(
    connection: Connection, other: Connection
) -> None:
    first = await BareWorker.join(connection, FAN_IN)
    second = await BareWorker.join(other, FAN_IN)
    for _ in range(ROUNDS):
        run_id = await start_dag(connection, FAN_IN)
        left, right = await first.claim(WIDTH // 2), await second.claim(WIDTH // 2)
        one, two = await asyncio.gather(
            first.end_all([(i, None) for i in left], grant={DEFAULT_LANE: 5}),
            second.end_all([(i, None) for i in right], grant={DEFAULT_LANE: 5}),
        )
        [join] = one.grants + two.grants
        await (first if one.grants else second).end(join)
        assert await run_state(connection, run_id) == "succeeded"


async def test_a_failure_and_a_success_race_for_one_join(
    connection: Connection, other: Connection
) -> None:
    first = await BareWorker.join(connection, FAN_IN)
    second = await BareWorker.join(other, FAN_IN)
    for _ in range(ROUNDS // 2):
        run_id = await start_dag(connection, FAN_IN)
        left, right = await first.claim(WIDTH // 2), await second.claim(WIDTH // 2)
        await asyncio.gather(
            first.end_all([(item, failure()) for item in left]),
            second.end_all([(item, None) for item in right]),
        )
        assert (await task_states(connection, run_id))[f"t{WIDTH}"] == "upstream_failed"
        assert await run_state(connection, run_id) == "failed"


async def test_completers_of_many_runs_at_once_do_not_wait_in_a_circle(
    connection: Connection, other: Connection
) -> None:
    first = await BareWorker.join(connection, FAN_IN)
    second = await BareWorker.join(other, FAN_IN)
    for _ in range(ROUNDS // 4):
        runs = await start_many(connection, FAN_IN, 10)
        left, right = await first.claim(5 * WIDTH), await second.claim(5 * WIDTH)
        await asyncio.gather(
            first.end_all([(item, None) for item in left]),
            second.end_all([(item, None) for item in reversed(right)]),
        )
        joins = await first.claim()
        assert len(joins) == len(runs)
        await first.end_all([(item, None) for item in joins])


async def test_starts_and_ends_of_the_same_tasks_do_not_wait_in_a_circle(
    connection: Connection, other: Connection
) -> None:
    """Their order is that of the ids, also when each task came with a claim of its own."""
    spec = dag_of()
    worker = await BareWorker.join(connection, spec)
    for _ in range(ROUNDS // 2):
        await start_many(connection, spec, 60)
        items = [item for _ in range(60) for item in await worker.claim(1)]
        items.sort(key=lambda item: item.claim_id)
        started = [(item.task_id, item.term, NOW_US) for item in items]
        await asyncio.gather(
            worker.end_all([(item, None) for item in items]),
            mark_started(other, worker.id, started),
        )


# --- claimers -----------------------------------------------------------------------------


async def test_two_claimers_get_different_tasks(connection: Connection, other: Connection) -> None:
    spec = dag_of()
    workers = [await BareWorker.join(each, spec) for each in (connection, other)]
    await start_many(connection, spec, 500)
    taken: list[int] = []
    while parts := await asyncio.gather(*(worker.claim(7) for worker in workers)):
        if not any(parts):
            break
        taken += [item.task_id for part in parts for item in part]
    assert len(taken) == len(set(taken)) == 500


async def test_a_claimer_passes_by_what_another_is_taking(
    connection: Connection, other: Connection
) -> None:
    spec = dag_of()
    first, second = await BareWorker.join(connection, spec), await BareWorker.join(other, spec)
    await start_many(connection, spec, 10)
    async with connection.transaction():
        mine = await first.claim(6)
        theirs = await second.claim(10)
    assert len(mine) == 6
    assert len(theirs) == 4
    assert not {item.task_id for item in mine} & {item.task_id for item in theirs}


# --- stops --------------------------------------------------------------------------------


async def test_a_stop_that_meets_a_claim_under_way_waits_and_leaves_a_note(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    run_id = await start_dag(connection, PAIR)
    worker = await BareWorker.join(connection, PAIR)
    claiming = connection.transaction()
    await claiming.start()
    [root] = await worker.claim()
    stopping = asyncio.create_task(stop_runs(other, [run_id], "cancel"))
    await until_waiting(observer, other)
    await claiming.commit()
    assert await stopping == 1
    assert await task_states(connection, run_id) == {"t0": "running", "t1": "cancelled"}
    await worker.end(root)
    assert await run_state(connection, run_id) == "cancelled"


async def test_a_claim_that_meets_a_stop_under_way_takes_nothing(
    connection: Connection, other: Connection
) -> None:
    run_id = await start_dag(connection, PAIR)
    worker = await BareWorker.join(connection, PAIR)
    async with other.transaction():
        assert await stop_runs(other, [run_id], "cancel") == 0
        assert await worker.claim() == []
    assert await run_state(connection, run_id) == "cancelled"


async def test_a_completion_that_meets_a_stop_under_way_readies_nothing(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    run_id = await start_dag(connection, PAIR)
    worker = await BareWorker.join(connection, PAIR)
    [root] = await worker.claim()
    stopping = other.transaction()
    await stopping.start()
    assert await stop_runs(other, [run_id], "cancel") == 1
    ending = asyncio.create_task(worker.end(root, grant={DEFAULT_LANE: 5}))
    await until_waiting(observer, connection)
    await stopping.commit()
    completed = await ending
    assert (completed.refused, completed.grants, completed.lanes) == ({}, [], set())
    assert await task_states(connection, run_id) == {"t0": "succeeded", "t1": "cancelled"}
    assert await run_state(connection, run_id) == "cancelled"


@pytest.mark.parametrize("spec", [dag_of(), PAIR], ids=["one task", "two tasks"])
async def test_a_task_handed_back_while_a_stop_is_under_way_is_closed(
    connection: Connection, other: Connection, observer: Connection, spec: DagSpec
) -> None:
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [root] = await worker.claim()
    stopping = other.transaction()
    await stopping.start()
    assert await stop_runs(other, [run_id], "deadline") == 1
    ending = asyncio.create_task(worker.end(root, LOST))
    await until_waiting(observer, connection)
    await stopping.commit()
    assert (await ending).refused == {}
    assert set((await task_states(connection, run_id)).values()) == {"cancelled"}
    assert await run_state(connection, run_id) == "failed"
    assert await worker.claim() == []


async def test_a_stop_that_meets_a_completion_under_way_closes_what_it_readied(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    run_id = await start_dag(connection, PAIR)
    worker = await BareWorker.join(connection, PAIR)
    [root] = await worker.claim()
    ending = connection.transaction()
    await ending.start()
    await worker.end(root)
    stopping = asyncio.create_task(stop_runs(other, [run_id], "cancel"))
    await until_waiting(observer, other)
    await ending.commit()
    assert await stopping == 0
    assert await task_states(connection, run_id) == {"t0": "succeeded", "t1": "cancelled"}
    assert await worker.claim() == []


async def test_a_wake_up_that_meets_a_stop_under_way_wakes_nothing(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    spec = dag_of()
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [item] = await worker.claim()
    await worker.end(item, HandedBack("soon", delay_seconds=0.000001))
    stopping = other.transaction()
    await stopping.start()
    await stop_runs(other, [run_id], "cancel")
    waking = asyncio.create_task(wake_backoff(connection, None, 100))
    await until_waiting(observer, connection)
    await stopping.commit()
    assert (await waking).lanes == set()
    assert await run_state(connection, run_id) == "cancelled"


# --- the reaper ---------------------------------------------------------------------------


async def test_a_claim_that_meets_its_reaper_raises_and_gives_everything_back(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    spec = dag_of()
    await start_many(connection, spec, 3)
    worker = await BareWorker.join(connection, spec)
    reaping = Reaping(other, worker)
    await reaping.lock()
    claiming = asyncio.create_task(worker.claim())
    await until_waiting(observer, connection)
    await reaping.take_back()
    await reaping.commit()
    with pytest.raises(Reaped):
        await claiming
    fresh = await BareWorker.join(connection, spec)
    assert len(await fresh.claim()) == 3


async def test_a_completion_that_meets_its_reaper_is_refused(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    run_id = await start_dag(connection, PAIR)
    worker = await BareWorker.join(connection, PAIR)
    [root] = await worker.claim()
    reaping = Reaping(other, worker)
    await reaping.lock()
    ending = asyncio.create_task(_end(worker, root, emptied=[root.claim_id]))
    await until_waiting(observer, connection)
    taken_back = await reaping.take_back()
    await reaping.commit()
    assert taken_back.refused == {}
    assert (await ending).refused == {(root.task_id, root.term): "superseded"}
    assert await task_states(connection, run_id) == {"t0": "ready", "t1": "waiting"}


async def test_a_reaper_that_meets_a_completion_waits_and_takes_only_what_is_left(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    spec = FAN_IN
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    done, left = await worker.claim(2)
    ending = connection.transaction()
    await ending.start()
    await worker.end(done)
    reaping = Reaping(other, worker)

    async def reap() -> Completed:
        await reaping.lock()
        return await reaping.take_back()

    task = asyncio.create_task(reap())
    await until_waiting(observer, other)
    await ending.commit()
    await task
    await reaping.commit()
    states = await task_states(connection, run_id)
    assert states[f"t{done.node}"] == "succeeded"
    assert states[f"t{left.node}"] == "ready"


async def test_reaper_and_completer_never_wait_in_a_circle(
    connection: Connection, other: Connection
) -> None:
    for _ in range(ROUNDS):
        worker = await BareWorker.join(connection, PAIR)
        runs = await start_many(connection, PAIR, 6)
        items = [item for _ in runs for item in await worker.claim(1)]
        items.sort(key=lambda item: item.claim_id)
        reaping = Reaping(other, worker)

        async def reap(reaping: Reaping = reaping) -> None:
            await reaping.lock()
            await reaping.take_back()
            await reaping.commit()

        await asyncio.gather(
            complete_attempts(
                connection,
                worker.id,
                [worker.completion(item) for item in items],
                emptied=[item.claim_id for item in items],
                grant_claim=uuid4(),
                grant_slots={DEFAULT_LANE: 10},
            ),
            reap(),
        )
        fresh = await BareWorker.join(connection, PAIR)
        while rest := await fresh.claim():
            await fresh.end_all([(item, None) for item in rest])
        for run_id in runs:
            assert await run_state(connection, run_id) == "succeeded"


async def _end(worker: BareWorker, item: Claimed, *, emptied: list[UUID]) -> Completed:
    return await complete_attempts(
        worker.connection,
        worker.id,
        [worker.completion(item)],
        emptied=emptied,
        grant_claim=uuid4(),
        grant_slots={DEFAULT_LANE: 5},
    )


async def test_no_claim_outlives_its_worker(connection: Connection) -> None:
    spec = dag_of()
    await start_many(connection, spec, 2)
    worker = await BareWorker.join(connection, spec)
    await worker.claim(1)
    reaping = Reaping(connection, worker)
    await reaping.lock()
    await reaping.take_back()
    await reaping.commit()
    assert await fetch(connection, "select 1 from mainspring.claim") == []
    with pytest.raises(Reaped):
        await worker.claim(1)
