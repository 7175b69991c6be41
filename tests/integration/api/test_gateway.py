"""Many workers at one gateway: nobody loses by being one of a set."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring import worker_protocol as protocol
from mainspring.api.gateway.gateway import Gateway
from mainspring.api.gateway.sets import Asked, Sets
from mainspring.domain.errors import InputError, NotFoundError
from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Error, Failed, Succeeded
from mainspring.domain.roles import Role
from mainspring.domain.specs import DagSpec
from mainspring.logs.places import Places
from mainspring.store.attempts import Claimed, Reaped
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import register_dag
from mainspring.store.duties import wake_backoff
from mainspring.store.tokens import Caller
from tests.support.factory import dag_of, run_state, start_dag, start_run, task_states
from tests.support.job_stage import JobStage, command


def caller(*queues: str, token: int = 1) -> Caller:
    return Caller(token, 1, "token", Role.WORKER, queues, "far")


class Far:
    """A remote worker, without the way in between."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.id = uuid4()
        self.caller = caller("default")

    async def join(
        self, slots: int = 10, *, lease_seconds: float = 15.0, kind: SlotKind = SlotKind.ASYNC
    ) -> Far:
        asked = protocol.Join(
            name="far",
            queues=["default"],
            slots={kind: slots},
            lease_seconds=lease_seconds,
        )
        await self.gateway.join(self.id, asked, self.caller)
        return self

    async def claim(
        self, slots: int = 10, *, claim: UUID | None = None, wait_seconds: float = 30.0
    ) -> list[Claimed]:
        wish = protocol.Wish(
            claim=claim or uuid4(), slots={SlotKind.ASYNC: slots}, wait_seconds=wait_seconds
        )
        return (await self.gateway.claim(self.id, wish, self.caller)).tasks

    async def end(
        self, tasks: Sequence[Claimed], offer: protocol.Offer | None = None
    ) -> protocol.Ended:
        ends = [
            protocol.End(task=task.task_id, term=task.term, outcome=Succeeded(), chained=True)
            for task in tasks
        ]
        return await self.complete(protocol.Ends(ends=ends, offer=offer))

    async def complete(self, ends: protocol.Ends) -> protocol.Ended:
        return await self.gateway.complete(self.id, ends, self.caller)

    async def renew(self, *claims: UUID) -> protocol.Renewed:
        beat = protocol.Beat(claims=list(claims))
        return await self.gateway.renew(self.id, beat, self.caller)


@pytest.fixture
async def gateways(database_url: str, tmp_path: Path) -> AsyncIterator[list[Gateway]]:
    """Two of them, as behind a load balancer."""
    made = [Gateway(database_url, Places(tmp_path)) for _ in range(2)]
    running = [asyncio.create_task(gateway.run()) for gateway in made]
    yield made
    for each in running:
        each.cancel()
    await asyncio.gather(*running, return_exceptions=True)


@pytest.fixture
def gateway(gateways: list[Gateway]) -> Gateway:
    return gateways[0]


async def _runs(connection: Connection, count: int, spec: DagSpec | None = None) -> list[int]:
    dag = await register_dag(connection, spec or dag_of(), "snapshot")
    return [await start_run(connection, dag) for _ in range(count)]


async def _waiting(gateway: Gateway, count: int) -> None:
    await _until(lambda: len(gateway._waiting._waiters) == count)


async def _until(is_so: Callable[[], bool]) -> None:
    while True:
        if is_so():
            return
        await asyncio.sleep(0)


async def test_everybody_who_waits_has_one_before_anybody_has_a_second(
    gateway: Gateway, connection: Connection
) -> None:
    workers = [await Far(gateway).join() for _ in range(8)]
    waiting = [asyncio.create_task(worker.claim()) for worker in workers]
    # All of them wait before there is anything to claim.
    await _waiting(gateway, len(workers))
    async with connection.transaction():
        await _runs(connection, 12)
    counts = sorted([len(await tasks) for tasks in waiting])
    assert counts == [1, 1, 1, 1, 2, 2, 2, 2]


async def test_a_hundred_workers_cost_at_most_seven_connections_and_few_statements(
    gateway: Gateway, connection: Connection
) -> None:
    workers = await asyncio.gather(*(Far(gateway).join() for _ in range(100)))
    runs = await _runs(connection, 300)
    claimed = 0

    async def work(worker: Far) -> None:
        nonlocal claimed
        while claimed < len(runs):
            tasks = await worker.claim(3, wait_seconds=0.2)
            claimed += len(tasks)
            if tasks:
                await worker.end(tasks)

    await asyncio.gather(*(work(worker) for worker in workers))
    states = await fetch(connection, "select state, count(*) from mainspring.run_view group by 1")
    assert [tuple(row) for row in states] == [("succeeded", 300)]
    assert await fetch(connection, "select * from mainspring.claim") == []
    [row] = await fetch(
        connection,
        "select count(*) from pg_stat_activity where datname = current_database()"
        " and application_name like 'mainspring gateway%'",
    )
    assert row["count"] <= 7


async def test_a_claim_that_is_repeated_brings_the_same_tasks(
    gateways: list[Gateway], connection: Connection
) -> None:
    worker = await Far(gateways[0]).join()
    await _runs(connection, 3)
    claim = uuid4()
    first = await worker.claim(3, claim=claim)
    worker.gateway = gateways[1]
    assert sorted(await worker.claim(3, claim=claim), key=str) == sorted(first, key=str)


async def test_another_gateway_goes_on_where_the_first_one_was(
    gateways: list[Gateway], connection: Connection
) -> None:
    run_id = (await _runs(connection, 1))[0]
    worker = await Far(gateways[0]).join()
    tasks = await worker.claim()
    worker.gateway = gateways[1]
    assert await worker.end(tasks) == protocol.Ended([], protocol.Tasks([]))
    assert await run_state(connection, run_id) == "succeeded"
    await worker.gateway.leave(worker.id, worker.caller)
    assert await fetch(connection, "select * from mainspring.lease") == []


async def test_an_end_that_is_repeated_is_already_yours_and_grants_the_same_again(
    gateways: list[Gateway], connection: Connection
) -> None:
    run_id = await start_dag(connection, dag_of([(0, 1)], tasks=2))
    worker = await Far(gateways[0]).join()
    tasks = await worker.claim()
    offer = protocol.Offer(uuid4(), {SlotKind.ASYNC: 1})
    first = await worker.end(tasks, offer)
    assert [task.node for task in first.granted.tasks] == [1]
    for gateway in gateways:
        worker.gateway = gateway
        again = await worker.end(tasks, offer)
        assert _names(again.granted) == _names(first.granted)
        assert [item.reason for item in again.refused] == ["already_yours"]
    await worker.end(first.granted.tasks)
    assert await task_states(connection, run_id) == {"t0": "succeeded", "t1": "succeeded"}


def _names(tasks: protocol.Tasks) -> list[tuple[UUID, int, int]]:
    return [(task.claim_id, task.task_id, task.term) for task in tasks.tasks]


async def test_children_go_to_the_worker_that_ended_their_parent(
    gateway: Gateway, connection: Connection
) -> None:
    spec = dag_of([(0, 1)], tasks=2)
    workers = [await Far(gateway).join() for _ in range(5)]
    dag = await register_dag(connection, spec, "snapshot")
    runs = [await start_run(connection, dag, 2) for _ in workers]
    hands = [await worker.claim(1) for worker in workers]
    ended = await asyncio.gather(
        *(
            worker.end(tasks, protocol.Offer(uuid4(), {SlotKind.ASYNC: 1}))
            for worker, tasks in zip(workers, hands, strict=True)
        )
    )
    for tasks, answer in zip(hands, ended, strict=True):
        assert [(task.run_id, task.node) for task in answer.granted.tasks] == [(tasks[0].run_id, 1)]
    for worker, answer in zip(workers, ended, strict=True):
        await worker.end(answer.granted.tasks)
    assert {await run_state(connection, run_id) for run_id in runs} == {"succeeded"}


async def test_nobody_ends_what_another_worker_holds(
    gateway: Gateway, connection: Connection
) -> None:
    run_id = (await _runs(connection, 1))[0]
    holder, stranger = await Far(gateway).join(), await Far(gateway).join()
    tasks = await holder.claim()
    answer = await stranger.end(tasks)
    assert [item.reason for item in answer.refused] == ["superseded"]
    with pytest.raises(NotFoundError):
        await gateway.read(
            stranger.id, protocol.Read(versions=[tasks[0].version_id]), stranger.caller
        )
    chunk = protocol.Chunk(tasks[0].task_id, tasks[0].term, 0, b"not mine")
    await gateway.append_log(stranger.id, protocol.Chunks([chunk]), stranger.caller)
    assert await fetch(connection, "select * from mainspring.log") == []
    assert await run_state(connection, run_id) == "running"
    assert (await holder.end(tasks)).refused == []


async def test_a_worker_that_was_reaped_is_told_and_others_are_not_disturbed(
    gateway: Gateway, connection: Connection
) -> None:
    lost, alive = await Far(gateway).join(), await Far(gateway).join()
    await connection.execute(
        "delete from mainspring.lease where worker_id = (select min(id) from mainspring.worker)"
    )
    waiting = [asyncio.create_task(worker.claim()) for worker in (lost, alive)]
    await _runs(connection, 1)
    with pytest.raises(Reaped):
        await waiting[0]
    assert len(await waiting[1]) == 1
    beats = await asyncio.gather(
        *(worker.renew() for worker in (lost, alive)),
        return_exceptions=True,
    )
    assert isinstance(beats[0], Reaped)
    assert isinstance(beats[1], protocol.Renewed)


async def test_a_claim_that_was_not_named_is_told_and_goes_back_if_its_worker_says_so(
    gateway: Gateway, connection: Connection
) -> None:
    """It may have heard of it since it asked, on a way that takes long."""
    await _runs(connection, 1)
    worker = await Far(gateway).join(lease_seconds=1)
    [task] = await worker.claim()
    while not (unknown := (await worker.renew()).unknown):
        pass
    assert unknown == [task.claim_id]
    assert (await worker.renew(task.claim_id)).unknown == []
    assert await fetch(connection, "select 1 from mainspring.ready") == []
    await gateway.give_back(worker.id, protocol.Return(claims=unknown, reason="x"), worker.caller)
    [again] = await worker.claim()
    assert (again.task_id, again.term) == (task.task_id, task.term + 1)


async def test_what_a_gone_caller_waited_for_goes_to_somebody_else(
    gateway: Gateway, connection: Connection
) -> None:
    gone, here = await Far(gateway).join(), await Far(gateway).join()
    poll = asyncio.create_task(gone.claim())
    await _waiting(gateway, 1)
    # What a statement under way finds is kept for it: it may ask again.
    await _until(lambda: not any(each.in_statement for each in gateway._waiting._waiters.values()))
    poll.cancel()
    await asyncio.gather(poll, return_exceptions=True)
    await _runs(connection, 1)
    assert len(await here.claim()) == 1
    assert not gateway._waiting._waiters


async def test_a_gone_caller_that_was_reaped_is_no_error_of_its_own(
    gateway: Gateway, connection: Connection
) -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: complaints.append(about))
    worker = await Far(gateway).join()
    await connection.execute("begin")
    # The next claim waits for us, and finds no lease then.
    await connection.execute("delete from mainspring.lease")
    poll = asyncio.create_task(worker.claim())
    await _until(lambda: any(each.in_statement for each in gateway._waiting._waiters.values()))
    poll.cancel()
    await asyncio.gather(poll, return_exceptions=True)
    await connection.execute("commit")
    await _waiting(gateway, 0)
    gc.collect()
    assert complaints == []


async def test_a_lane_whose_notification_got_lost_is_found_while_others_are_busy(
    gateway: Gateway, connection: Connection
) -> None:
    worker = await Far(gateway).join()
    waiting = asyncio.create_task(worker.claim())
    await _waiting(gateway, 1)
    await _until(lambda: not gateway._waiting._promising)
    await _runs(connection, 1)
    while not waiting.done():
        # Another queue has got tasks, again and again.
        await connection.execute("select pg_notify('mainspring_ready', '99')")
        await asyncio.sleep(0.001)
    assert len(waiting.result()) == 1


async def test_who_has_waited_long_enough_is_answered_also_when_the_statement_fails(
    gateway: Gateway, connection: Connection
) -> None:
    worker = await Far(gateway).join()
    await _runs(connection, 1)
    await connection.execute(_CLAIMS_FAIL)
    await connection.execute("select pg_advisory_lock(1)")
    claim = uuid4()
    waiting = asyncio.create_task(worker.claim(claim=claim, wait_seconds=0.2))
    await _waiting(gateway, 1)
    await _until(lambda: gateway._waiting._waiters[claim].over)
    await connection.execute("select pg_advisory_unlock(1)")
    assert await waiting == []
    assert not gateway._waiting._waiters


_CLAIMS_FAIL = """
create function fail() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(1);
  raise exception 'no';
end $$;
create trigger fail before insert on mainspring.claim for each row execute function fail();
"""
"""As soon as whoever holds the lock lets go."""


async def test_a_failure_follows_the_policy_of_its_task_whatever_the_worker_thinks(
    gateway: Gateway, connection: Connection
) -> None:
    run_id = (await _runs(connection, 1))[0]
    worker = await Far(gateway).join()
    [task] = await worker.claim()
    failed = protocol.End(task=task.task_id, term=task.term, outcome=Failed(Error("E", "no")))
    await worker.complete(protocol.Ends(ends=[failed]))
    assert await run_state(connection, run_id) == "failed"


async def test_what_a_run_says_of_attempts_and_timeouts_holds_for_remote_workers(
    gateways: list[Gateway], connection: Connection
) -> None:
    await JobStage(connection).make(command("tidy", retries=1, timeout_seconds=7.5))
    run_id = await connection.fetchval("select id from mainspring.run")
    worker = await Far(gateways[0]).join(kind=SlotKind.COMMAND)
    for gateway, states in zip(gateways, ("running", "failed"), strict=True):
        wish = protocol.Wish(
            claim=uuid4(), slots={SlotKind.COMMAND: 1}, wait_seconds=30, prepared=True
        )
        got = await worker.gateway.claim(worker.id, wish, worker.caller)
        [task] = got.tasks
        assert (task.attempts_max, task.timeout_seconds) == (2, 7.5)
        assert got.work[0].timeout_seconds == 7.5
        # The one that has not seen the claim learns of it from the database.
        worker.gateway = gateway
        failed = Failed(Error("E", "no"), delay_seconds=0)
        end = protocol.End(task=task.task_id, term=task.term, outcome=failed)
        await worker.complete(protocol.Ends(ends=[end]))
        assert await run_state(connection, run_id) == states
        await wake_backoff(connection, datetime.now(UTC) + timedelta(hours=1), 10)


async def test_a_result_that_is_no_json_is_refused_alone(
    gateway: Gateway, connection: Connection
) -> None:
    await _runs(connection, 1)
    worker = await Far(gateway).join()
    [task] = await worker.claim()
    end = protocol.End(task=task.task_id, term=task.term, outcome=Succeeded(b"nope"))
    with pytest.raises(InputError, match="is no JSON"):
        await worker.complete(protocol.Ends(ends=[end]))
    assert (await worker.end([task])).refused == []


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=30))
async def test_a_call_that_fails_spoils_its_own_answer_only(calls: list[tuple[int, int]]) -> None:
    """Calls with a 0 fail, and so does every set that holds one."""
    seen: list[list[int]] = []

    async def answer(asked: Sequence[Asked[int]]) -> Sequence[int | Exception]:
        workers = [one.worker_id for one in asked]
        assert len(workers) == len(set(workers)), "two calls of a worker in one set"
        seen.append(workers)
        await asyncio.sleep(0)
        if any(one.question == 0 for one in asked):
            raise InputError("a zero")
        return [one.question * 2 for one in asked]

    sets: Sets[int, int] = Sets("double", answer, weight=lambda _: 1, weight_max=3)
    running = asyncio.create_task(sets.run())
    answers = await asyncio.gather(
        *(sets.ask(worker, number) for worker, number in calls), return_exceptions=True
    )
    running.cancel()
    for (_, number), given_answer in zip(calls, answers, strict=True):
        if number == 0:
            assert isinstance(given_answer, InputError)
        else:
            assert given_answer == number * 2
    assert all(len(workers) <= 3 for workers in seen)
