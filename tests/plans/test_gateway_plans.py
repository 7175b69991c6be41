"""The plans of what a gateway asks for many workers, as its connections make them."""

from __future__ import annotations

from uuid import uuid4

from mainspring.domain.lanes import SlotKind
from mainspring.store.connection import Connection
from mainspring.store.gateway import (
    Beating,
    Joining,
    Seat,
    claim_together,
    ended_tokens,
    join_together,
    read_hands,
    read_stops,
    renew_together,
)
from tests.plans.conftest import DIAMOND
from tests.plans.plan import explain, explain_call
from tests.plans.test_hot_plans import assert_bounded, reads_of
from tests.support.factory import DEFAULT_LANE, BareWorker

_FROM_THE_START = (0,) * 10


async def _workers(connection: Connection, count: int) -> list[BareWorker]:
    return [await BareWorker.join(connection, DIAMOND) for _ in range(count)]


async def test_claims_of_many_read_their_lane_in_order_and_only_what_they_take(
    connection: Connection,
) -> None:
    workers = await _workers(connection, 20)
    claims = {worker.id: uuid4() for worker in workers}
    seats = [Seat(claims[worker.id], worker.id) for _ in range(5) for worker in workers]
    plan = await explain_call(
        connection, "claim_together", claim_together, seats, DEFAULT_LANE, _FROM_THE_START
    )
    assert_bounded(plan)
    assert plan.scanned("ready") == {"Index Scan", "Tid Scan"}, plan.text
    assert [read.handled for read in reads_of(plan, "ready_order")] == [100]
    assert sum(read.loops for read in reads_of(plan, "task_pkey")) == 200, plan.text
    assert [read.handled for read in reads_of(plan, "epoch_pkey")] == [1], "once, not for each task"


async def test_renewals_of_many_read_the_claims_of_their_workers(connection: Connection) -> None:
    workers = await _workers(connection, 10)
    for worker in workers:
        await worker.claim(3)
    beats = [Beating(worker.id, [], False, 5.0) for worker in workers]
    plan = await explain_call(connection, "renew_together", renew_together, beats)
    assert_bounded(plan)
    assert plan.indexes() == {"lease_pkey", "claim_worker", "task_pkey", "remark_pkey"}, plan.text
    assert sum(read.loops for read in reads_of(plan, "task_pkey", "remark_pkey")) <= 60, plan.text


async def test_hands_and_stops_are_read_by_worker(connection: Connection) -> None:
    workers = await _workers(connection, 10)
    for worker in workers:
        await worker.claim(3)
    ids = [worker.id for worker in workers]
    plan = await explain_call(connection, "read_hands", read_hands, ids)
    assert_bounded(plan)
    assert plan.indexes() == {"claim_worker", "task_pkey", "run_pkey", "epoch_pkey"}, plan.text
    assert sum(read.handled for read in reads_of(plan, "task_pkey", "run_pkey")) == 60, plan.text
    plan = await explain_call(connection, "read_stops", read_stops, ids)
    assert_bounded(plan)
    assert plan.indexes() == {"lease_pkey", "claim_worker", "task_pkey", "remark_pkey"}, plan.text


async def test_joins_and_tokens_are_looked_up_by_key(connection: Connection) -> None:
    slots = {SlotKind.ASYNC: 1}
    joining = [Joining(uuid4(), "far", "", 0, ["default"], slots, 15.0) for _ in range(50)]
    plan = await explain_call(connection, "join_together", join_together, joining)
    assert_bounded(plan)
    assert plan.indexes() == {"lease_pkey"}, plan.text
    plan = await explain_call(connection, "ended_tokens", ended_tokens, [1, 2, 3])
    assert_bounded(plan)
    assert plan.indexes() == {"token_pkey"}, plan.text
    plan = await explain(connection, "find_worker", uuid4(), run=True)
    assert_bounded(plan)
    assert plan.indexes() == {"worker_incarnation_key", "lease_pkey"}, plan.text
