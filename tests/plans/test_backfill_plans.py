"""The plans of a backfill's step: what it reads depends on what it deals with, not on what was.

Counted in rows that EXPLAIN ANALYZE saw pass, on a database that nobody has analyzed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.states import BackfillState
from mainspring.schedule.backfilling import Outcome
from mainspring.store.backfill_orders import BackfillOrder, create_backfill, reserve_backfill
from mainspring.store.backfilling import Stepper
from mainspring.store.backfills import (
    BackfillMove,
    Kin,
    MadeRun,
    going_backfills,
    move_backfill,
    read_kin,
    standing_backfill,
)
from mainspring.store.connection import Connection, connect, fetch
from mainspring.store.dags import read_dag
from mainspring.store.ids import Ids
from mainspring.store.runs import stop_runs
from tests.conftest import Server
from tests.plans.conftest import ONE, undone
from tests.plans.plan import explain, explain_call

FIRES = 4_000
OPEN = 50
UNTIL = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture(scope="session")
def backfilled(server: Server, filled: str) -> str:
    name = asyncio.run(server.create(filled))
    asyncio.run(_fill(server.url(name)))
    return name


@pytest.fixture
async def connection(server: Server, backfilled: str) -> AsyncIterator[Connection]:
    async with undone(server.url(backfilled), stable_plans=True) as connection:
        yield connection


async def _fill(url: str) -> None:
    """Thirty that are over, one of them long, and one that has runs open and much before it."""
    connection = await connect(url, name="fill", stable_plans=True)
    for minutes in (FIRES, *[10] * 29):
        backfill_id = await _make(connection, UNTIL - timedelta(minutes=minutes), UNTIL)
        stepper = Stepper()
        while (await stepper.step(connection, backfill_id)).moved:
            rows = await fetch(
                connection,
                "select run_id from mainspring.backfill_fire where verdict is null"
                " and outcome = 'made'",
            )
            await stop_runs(connection, [row["run_id"] for row in rows], "cancel")
    going = await _make(connection, UNTIL, UNTIL + timedelta(days=10), concurrency=OPEN)
    await Stepper().step(connection, going)
    await connection.close()


async def _make(
    connection: Connection, since: datetime, until: datetime, *, concurrency: int = 1000
) -> int:
    order = BackfillOrder(
        since=since, until=until, dag=ONE.name, spec="every 1m", concurrency=concurrency
    )
    backfill_id = await reserve_backfill(connection)
    await create_backfill(connection, backfill_id, order)
    return backfill_id


async def _kin(connection: Connection) -> Kin:
    return await read_kin(connection, (await read_dag(connection, ONE.name)).id, None, None)


async def test_those_that_are_going_are_found_by_index(connection: Connection) -> None:
    plan = await explain(connection, "going_backfills", 0, 100, run=True)
    assert plan.indexes() == {"backfill_going"}, plan.text
    assert plan.rows_handled() <= 3, plan.text


async def test_how_one_stands_costs_as_many_rows_as_runs_are_open(connection: Connection) -> None:
    [backfill_id] = await going_backfills(connection, 0, 10)
    plan = await explain(connection, "standing_backfill", backfill_id, run=True)
    assert "backfill_fire_open" in plan.indexes(), plan.text
    assert not plan.read_whole(), plan.text
    read = [node.handled for node in plan.root.walk() if node.relation == "backfill_fire"]
    assert read == [OPEN, OPEN], plan.text


async def test_runs_that_have_closed_are_looked_up_by_key(connection: Connection) -> None:
    [backfill_id] = await going_backfills(connection, 0, 10)
    standing = await standing_backfill(connection, backfill_id)
    assert standing is not None
    plan = await explain(connection, "closed_runs", standing.open_runs, run=True)
    assert not plan.read_whole(), plan.text
    assert plan.rows_handled() < 40 * OPEN, plan.text


async def test_what_exists_is_looked_up_instant_by_instant(connection: Connection) -> None:
    kin = await _kin(connection)
    assert len(kin.backfills) == 31
    handled = {}
    for count in (100, 1000):
        fires = [UNTIL - timedelta(minutes=number + 1) for number in range(count)]
        plan = await explain(
            connection, "existing_fires", fires, kin.schedules, kin.backfills, run=True
        )
        assert not plan.read_whole(), plan.text
        handled[count] = plan.rows_handled()
    assert handled[1000] < 15 * handled[100]


async def test_a_step_costs_what_it_makes(connection: Connection) -> None:
    [backfill_id] = await going_backfills(connection, 0, 10)
    standing = await standing_backfill(connection, backfill_id)
    assert standing is not None
    ids, handled = Ids(), {}
    for count in (10, 100):
        fires = [UNTIL + timedelta(days=1, minutes=number) for number in range(3 * count)]
        move = BackfillMove(
            backfill_id,
            standing.turn,
            fires[-1],
            BackfillState.RUNNING,
            runs=[
                MadeRun(
                    await ids.take(connection, 1),
                    standing.version_id,
                    standing.snapshot_id,
                    None,
                    fire,
                    fire - timedelta(minutes=1),
                )
                for fire in fires[:count]
            ],
            passed_by=[(fire, Outcome.EXISTS, 1) for fire in fires[count:]],
            over=[(fire, "succeeded") for fire in standing.open_fires],
        )
        savepoint = connection.transaction()
        await savepoint.start()
        plan = await explain_call(connection, "move_backfill", move_backfill, move, None)
        await savepoint.rollback()
        assert not plan.read_whole(), plan.text
        handled[count] = plan.rows_handled()
    assert handled[100] < 12 * handled[10]
