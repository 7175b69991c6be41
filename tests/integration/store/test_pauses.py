"""Paused dags and queues: nothing is handed out, nothing is lost; and priorities of what waits."""

from __future__ import annotations

import asyncio

import pytest

from mainspring.domain.errors import NotFoundError, UnavailableError
from mainspring.domain.specs import RetrySpec
from mainspring.engine.shift import Shift
from mainspring.store import pauses
from mainspring.store.connection import Connection, Line
from mainspring.store.dags import register_dag
from mainspring.store.duties import wake_backoff, wake_starts
from mainspring.store.pauses import (
    Pause,
    change_priority,
    pause_dag,
    pause_queue,
    resume_dag,
    resume_queue,
    shift_slice,
)
from mainspring.store.reading import list_lanes, read_clock
from mainspring.store.runs import reopen_run, stop_runs
from mainspring.store.wakeups import Bell
from tests.integration.store.lockstep import until_waiting
from tests.support.factory import (
    DEFAULT_LANE,
    BareWorker,
    dag_of,
    failure,
    run_state,
    start_dag,
    start_run,
    task_states,
)

ONE = dag_of(name="one")
OTHER = dag_of(name="other")
PAIR = dag_of([(0, 1)], tasks=2, name="pair", retry=RetrySpec(attempts=3))


async def hold(connection: Connection, dag: str) -> Pause | None:
    """As the command does: the pause, then all slices."""
    paused = await pause_dag(connection, dag)
    await walk(connection, paused.id)
    return paused.now


async def let_go(connection: Connection, dag: str) -> None:
    await walk(connection, (await resume_dag(connection, dag)).id)


async def walk(connection: Connection, dag_id: int, *, runs: int = 2) -> int:
    done, moved = await shift_slice(connection, dag_id, 0, runs=runs), 0
    while done.last is not None:
        moved += done.tasks
        done = await shift_slice(connection, dag_id, done.last, runs=runs)
    return moved


async def claimed_runs(worker: BareWorker, limit: int = 100) -> list[int]:
    """One at a time, so that their order can be seen."""
    found: list[int] = []
    while len(found) < limit and (batch := await worker.claim(1)):
        found.append(batch[0].run_id)
    return found


async def settle(connection: Connection, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's duty, until it says that everything has followed."""
    monkeypatch.setattr("mainspring.engine.shift._SETTLED_SECONDS", 0.0)
    line = Line(url, name="bell")
    duty = Shift(Bell(line))
    while await connection.fetchval(
        "select count(*) from mainspring.dag where shifted_by is not null"
    ):
        async with connection.transaction():
            await duty.step(connection, None, 2)
    await line.close()


# --- dags ---------------------------------------------------------------------------------


async def test_nothing_of_a_paused_dag_is_claimed_and_all_of_it_is_after_the_resume(
    connection: Connection,
) -> None:
    worker = await BareWorker.join(connection, ONE)
    held = [await start_dag(connection, ONE) for _ in range(5)]
    await hold(connection, "one")
    free = await start_dag(connection, OTHER)
    held += [await start_dag(connection, ONE) for _ in range(5)]
    assert await claimed_runs(worker) == [free]
    assert {await run_state(connection, run_id) for run_id in held} == {"queued"}
    await let_go(connection, "one")
    assert await claimed_runs(worker) == held, "in the order that they had"


async def test_a_dag_is_held_from_the_pause_on_and_not_only_when_all_its_tasks_are_aside(
    connection: Connection,
) -> None:
    worker = await BareWorker.join(connection, ONE)
    runs = [await start_dag(connection, ONE) for _ in range(3)]
    await pause_dag(connection, "one")
    free = await start_dag(connection, OTHER)
    assert await claimed_runs(worker) == [free]
    await let_go(connection, "one")
    assert await claimed_runs(worker) == runs


async def test_what_runs_goes_on_and_what_follows_it_stands_aside(connection: Connection) -> None:
    worker = await BareWorker.join(connection, PAIR)
    run_id = await start_dag(connection, PAIR)
    failing_id = await start_dag(connection, PAIR)
    first, failing = await worker.claim()
    await hold(connection, "pair")
    done = await worker.end(first, grant={DEFAULT_LANE: 10})
    assert not done.refused
    assert not done.grants
    assert not (await worker.end(failing, failure())).refused
    now = await read_clock(connection)
    await wake_backoff(connection, now.replace(year=now.year + 1), 10)
    assert await task_states(connection, run_id) == {"t0": "succeeded", "t1": "ready"}
    assert await task_states(connection, failing_id) == {"t0": "ready", "t1": "waiting"}
    assert not await worker.claim()
    await let_go(connection, "pair")
    assert sorted(await claimed_runs(worker)) == sorted([run_id, failing_id])


async def test_a_child_that_was_not_moved_aside_yet_is_not_granted(
    connection: Connection,
) -> None:
    worker = await BareWorker.join(connection, PAIR)
    run_id = await start_dag(connection, PAIR)
    [first] = await worker.claim()
    await pause_dag(connection, "pair")
    assert not (await worker.end(first, grant={DEFAULT_LANE: 10})).grants
    assert not await worker.claim()
    await let_go(connection, "pair")
    assert await claimed_runs(worker) == [run_id]


async def test_what_stands_aside_keeps_nobody_from_a_grant(connection: Connection) -> None:
    worker = await BareWorker.join(connection, PAIR)
    await start_dag(connection, PAIR)
    [first] = await worker.claim()
    await start_dag(connection, ONE)
    await hold(connection, "one")
    done = await worker.end(first, grant={DEFAULT_LANE: 1})
    assert [grant.node for grant in done.grants] == [1]


async def test_a_start_time_that_comes_under_a_pause_starts_nothing(connection: Connection) -> None:
    worker = await BareWorker.join(connection, ONE)
    now = await read_clock(connection)
    run_id = await start_dag(connection, ONE, due_at=now.replace(year=now.year + 1))
    await hold(connection, "one")
    await wake_starts(connection, now.replace(year=now.year + 2), 10)
    assert await task_states(connection, run_id) == {"t0": "ready"}
    assert not await worker.claim()
    await let_go(connection, "one")
    assert await claimed_runs(worker) == [run_id]


async def test_a_version_that_is_read_under_a_pause_is_paused(connection: Connection) -> None:
    worker = await BareWorker.join(connection, ONE)
    await register_dag(connection, ONE, "snapshot")
    await hold(connection, "one")
    run_id = await start_dag(connection, dag_of([(0, 1)], tasks=2, name="one"))
    assert not await worker.claim()
    await let_go(connection, "one")
    assert await claimed_runs(worker) == [run_id]


async def test_a_run_that_stands_aside_can_be_cancelled_and_run_again_later(
    connection: Connection,
) -> None:
    worker = await BareWorker.join(connection, PAIR)
    run_id = await start_dag(connection, PAIR)
    await hold(connection, "pair")
    await stop_runs(connection, [run_id], "cancel")
    assert await run_state(connection, run_id) == "cancelled"
    await let_go(connection, "pair")
    await reopen_run(connection, run_id, {0: 1})
    assert await claimed_runs(worker) == [run_id]


async def test_a_rerun_under_a_pause_waits(connection: Connection) -> None:
    worker = await BareWorker.join(connection, ONE)
    run_id = await start_dag(connection, ONE)
    await stop_runs(connection, [run_id], "cancel")
    await hold(connection, "one")
    await reopen_run(connection, run_id, {0: 1})
    assert not await worker.claim()
    await let_go(connection, "one")
    assert await claimed_runs(worker) == [run_id]


async def test_pausing_and_resuming_twice_is_as_once(connection: Connection) -> None:
    worker = await BareWorker.join(connection, ONE)
    run_id = await start_dag(connection, ONE)
    first = await pause_dag(connection, "one", by="ada", note="bad data")
    again = await pause_dag(connection, "one", by="bob")
    assert first.before is None
    assert again.before == again.now == first.now
    noted = await pause_dag(connection, "one", by="bob", note="worse")
    assert noted.now is not None
    assert (noted.now.by, noted.now.note) == ("ada", "worse")
    await walk(connection, first.id)
    assert await walk(connection, first.id) == 0
    assert (await resume_dag(connection, "one")).before == noted.now
    assert (await resume_dag(connection, "one")).before is None
    await walk(connection, first.id)
    assert await claimed_runs(worker) == [run_id]


async def test_what_is_not_there_cannot_be_paused(connection: Connection) -> None:
    for pause in (pause_dag, pause_queue):
        with pytest.raises(NotFoundError, match="`nothing`"):
            await pause(connection, "nothing")


# --- queues -------------------------------------------------------------------------------


async def test_nothing_of_a_paused_queue_is_claimed_and_all_of_it_is_after_the_resume(
    connection: Connection,
) -> None:
    worker = await BareWorker.join(connection, PAIR)
    early = await start_dag(connection, PAIR)
    [first] = await worker.claim()
    paused = await pause_queue(connection, "default", by="ada", note="the store is full")
    late = await start_dag(connection, ONE)
    done = await worker.end(first, grant={DEFAULT_LANE: 10})
    assert not done.grants, "a grant is a claim, too"
    assert not await worker.claim()
    [line] = [lane for lane in await list_lanes(connection) if lane.ready]
    assert line.pause == paused.now
    await resume_queue(connection, "default")
    assert await claimed_runs(worker) == [late, early]


async def test_a_claim_that_is_repeated_under_a_pause_gives_what_it_held(
    connection: Connection,
) -> None:
    worker = await BareWorker.join(connection, ONE)
    await start_dag(connection, ONE)
    [claimed] = await worker.claim()
    await pause_queue(connection, "default")
    await hold(connection, "one")
    assert await worker.claim(claim_id=claimed.claim_id) == [claimed]


# --- in lock step -------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["dag", "queue"])
async def test_a_pause_is_answered_after_the_claims_under_way(
    connection: Connection, other: Connection, observer: Connection, what: str
) -> None:
    worker = await BareWorker.join(other, ONE)
    await start_dag(connection, ONE)
    await start_dag(connection, ONE)
    claiming = other.transaction()
    await claiming.start()
    assert len(await worker.claim(1)) == 1
    pausing = asyncio.create_task(
        pause_dag(connection, "one") if what == "dag" else pause_queue(connection, "default")
    )
    await until_waiting(observer, connection)
    await claiming.commit()
    await pausing
    assert not await worker.claim()


@pytest.mark.parametrize("what", ["dag", "queue"])
async def test_a_claim_that_had_to_wait_for_a_pause_takes_nothing(
    connection: Connection, other: Connection, observer: Connection, what: str
) -> None:
    worker = await BareWorker.join(other, ONE)
    await start_dag(connection, ONE)
    pausing = connection.transaction()
    await pausing.start()
    if what == "dag":
        await pause_dag(connection, "one")
    else:
        await pause_queue(connection, "default")
    claiming = asyncio.create_task(worker.claim())
    await until_waiting(observer, other)
    await pausing.commit()
    assert await claiming == []


@pytest.mark.parametrize("what", ["dag", "queue"])
async def test_a_completion_that_had_to_wait_for_a_pause_is_granted_nothing(
    connection: Connection, other: Connection, observer: Connection, what: str
) -> None:
    worker = await BareWorker.join(other, PAIR)
    run_id = await start_dag(connection, PAIR)
    [first] = await worker.claim()
    pausing = connection.transaction()
    await pausing.start()
    if what == "dag":
        await hold(connection, "pair")
    else:
        await pause_queue(connection, "default")
    ending = asyncio.create_task(worker.end(first, grant={DEFAULT_LANE: 1}))
    await until_waiting(observer, other)
    await pausing.commit()
    assert not (await ending).grants
    assert await task_states(connection, run_id) == {"t0": "succeeded", "t1": "ready"}
    assert not await worker.claim()


async def test_what_was_being_claimed_is_not_moved_aside_but_its_retry_is(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    worker = await BareWorker.join(other, PAIR)
    run_id = await start_dag(connection, PAIR)
    paused = await pause_dag(connection, "pair")
    await resume_dag(connection, "pair")
    claiming = other.transaction()
    await claiming.start()
    [first] = await worker.claim()
    await connection.execute("update mainspring.dag set paused_at = clock_timestamp()")
    moving = asyncio.create_task(walk(connection, paused.id))
    await until_waiting(observer, connection)
    await claiming.commit()
    assert await moving == 2
    assert await task_states(connection, run_id) == {"t0": "running", "t1": "waiting"}
    await let_go(connection, "pair")
    assert not (await worker.end(first)).refused


async def test_a_run_that_was_being_made_when_its_dag_was_paused_waits_too(
    connection: Connection,
    other: Connection,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = await BareWorker.join(connection, ONE)
    dag = await register_dag(connection, ONE, "snapshot")
    making = other.transaction()
    await making.start()
    run_id = await start_run(other, dag)
    paused = await pause_dag(connection, "one")
    await walk(connection, paused.id)
    await making.commit()
    assert not await worker.claim()
    await settle(connection, database_url, monkeypatch)
    assert await connection.fetchval("select priority from mainspring.ready") == -6
    assert not await worker.claim()
    await let_go(connection, "one")
    assert await claimed_runs(worker) == [run_id]


async def test_a_run_that_was_being_made_when_its_dag_was_resumed_is_not_forgotten(
    connection: Connection,
    other: Connection,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = await BareWorker.join(connection, ONE)
    dag = await register_dag(connection, ONE, "snapshot")
    await hold(connection, "one")
    making = other.transaction()
    await making.start()
    run_id = await start_run(other, dag)
    await let_go(connection, "one")
    await making.commit()
    await settle(connection, database_url, monkeypatch)
    assert await claimed_runs(worker) == [run_id]


async def test_the_net_stays_while_a_transaction_from_before_is_open(
    connection: Connection,
    other: Connection,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mainspring.engine.shift._SETTLED_SECONDS", 0.0)
    dag = await register_dag(connection, ONE, "snapshot")
    making = other.transaction()
    await making.start()
    await start_run(other, dag)
    await hold(connection, "one")
    line = Line(database_url, name="bell")
    duty = Shift(Bell(line))
    for _ in range(5):
        async with connection.transaction():
            assert await duty.step(connection, None, 100) == 0
    marked = "select shifted_by is not null from mainspring.dag where name = 'one'"
    assert await connection.fetchval(marked)
    await making.commit()
    await settle(connection, database_url, monkeypatch)
    assert not await connection.fetchval(marked)
    await line.close()


async def test_an_engine_finishes_what_a_killed_command_left(
    connection: Connection, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await BareWorker.join(connection, ONE)
    runs = [await start_dag(connection, ONE) for _ in range(7)]
    await hold(connection, "one")
    paused = await resume_dag(connection, "one")
    await shift_slice(connection, paused.id, 0, runs=3)
    assert await claimed_runs(worker) == runs[:3]
    await settle(connection, database_url, monkeypatch)
    assert await claimed_runs(worker) == runs[3:]


async def test_a_pause_that_waits_in_vain_says_so_and_pauses_nothing(
    connection: Connection, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses, "_GATE_TRIES", 1)
    monkeypatch.setattr(pauses, "_GATE_PATIENCE", "10ms")
    worker = await BareWorker.join(other, ONE)
    await start_dag(connection, ONE)
    await start_dag(connection, ONE)
    claiming = other.transaction()
    await claiming.start()
    await worker.claim(1)
    with pytest.raises(UnavailableError, match="nothing was paused"):
        await pause_queue(connection, "default")
    await claiming.commit()
    assert len(await worker.claim()) == 1


# --- priorities ---------------------------------------------------------------------------


async def test_the_priority_of_what_waits_can_be_changed(connection: Connection) -> None:
    worker = await BareWorker.join(connection, PAIR)
    first, second, third = [await start_dag(connection, PAIR) for _ in range(3)]
    assert await change_priority(connection, third, 9) == (2, {DEFAULT_LANE})
    assert await change_priority(connection, first, 1) == (2, {DEFAULT_LANE})
    order = [await worker.claim(1) for _ in range(3)]
    assert [claimed[0].run_id for claimed in order] == [third, second, first]
    await worker.end(order[0][0])
    [child] = await worker.claim()
    assert (child.run_id, child.priority) == (third, 9)


async def test_places_among_equals_stay_when_priorities_change(connection: Connection) -> None:
    worker = await BareWorker.join(connection, ONE)
    runs = [await start_dag(connection, ONE) for _ in range(4)]
    for run_id in reversed(runs):
        await change_priority(connection, run_id, 7)
    assert await claimed_runs(worker) == runs


async def test_what_is_claimed_keeps_its_priority(connection: Connection) -> None:
    worker = await BareWorker.join(connection, PAIR)
    run_id = await start_dag(connection, PAIR)
    await worker.claim()
    assert await change_priority(connection, run_id, 8) == (1, set())
    rows = await connection.fetch("select priority from mainspring.task order by id")
    assert [row["priority"] for row in rows] == [5, 8]


async def test_a_priority_changed_under_a_pause_holds_after_it(connection: Connection) -> None:
    worker = await BareWorker.join(connection, ONE)
    first, second = [await start_dag(connection, ONE) for _ in range(2)]
    await hold(connection, "one")
    assert (await change_priority(connection, second, 9))[0] == 1
    assert not await worker.claim()
    await let_go(connection, "one")
    assert await claimed_runs(worker, 1) == [second]
    assert await claimed_runs(worker, 1) == [first]


async def test_a_claim_and_a_change_of_priority_have_one_winner(
    connection: Connection, other: Connection, observer: Connection
) -> None:
    worker = await BareWorker.join(other, ONE)
    run_id = await start_dag(connection, ONE)
    claiming = other.transaction()
    await claiming.start()
    assert await claimed_runs(worker) == [run_id]
    changing = asyncio.create_task(change_priority(connection, run_id, 9))
    await until_waiting(observer, connection)
    await claiming.commit()
    assert await changing == (0, set())
