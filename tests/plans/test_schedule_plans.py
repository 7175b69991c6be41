"""The plans of what a tick asks, and of what people ask about schedules.

A tick may meet a million schedules. What it reads must depend on how many are due, and on nothing
else: counted in rows that EXPLAIN ANALYZE saw pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from mainspring.bench.lines import Line
from mainspring.bench.stored_schedules import store_schedules
from mainspring.schedule.specs import CronSpec, Overlap, ScheduleSpec
from mainspring.store import settling
from mainspring.store.connection import Connection, connect
from mainspring.store.dags import read_dag
from mainspring.store.schedules import Move, Moved, due_schedules, move_schedules, next_due
from mainspring.store.settling import Settler
from mainspring.store.shards import ALL_SHARDS
from tests.conftest import Server
from tests.plans.conftest import ONE, undone
from tests.plans.plan import Node, Plan, explain, explain_call

SCHEDULES = 4_000
DUE = datetime(2031, 5, 1, 12, tzinfo=UTC)
"""Of all schedules; the database's own time lies before it."""
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="session")
def scheduled(server: Server, filled: str) -> str:
    name = asyncio.run(server.create(filled))
    asyncio.run(_fill(server.url(name)))
    return name


@pytest.fixture
async def connection(server: Server, scheduled: str) -> AsyncIterator[Connection]:
    async with undone(server.url(scheduled), stable_plans=True) as connection:
        yield connection


@pytest.fixture
async def plain_connection(server: Server, scheduled: str) -> AsyncIterator[Connection]:
    async with undone(server.url(scheduled), stable_plans=False) as connection:
        yield connection


async def _fill(url: str) -> None:
    """All due in the same second; some have a past, and some of these wait in the buffer."""
    connection = await connect(url, name="fill", stable_plans=True)
    dag = await read_dag(connection, ONE.name)
    line = Line("0 * * * * *", SCHEDULES)
    await store_schedules(connection, dag, [line], DUE - timedelta(minutes=3))
    tracked = msgspec.json.encode(
        ScheduleSpec((CronSpec(line.expression),), overlap=Overlap.BUFFER_ALL)
    )
    await connection.execute(
        "update mainspring.schedule_state set tracked = true, alone = true"
        " where schedule_id % 10 = 0"
    )
    await connection.execute("update mainspring.schedule set spec = $1 where id % 10 = 0", tracked)
    settler = Settler()
    for minute in (3, 2, 1):
        now = DUE - timedelta(minutes=minute)
        for _ in range(SCHEDULES // 500):
            due = await due_schedules(connection, now, list(ALL_SHARDS), BEGINNING, 500)
            await settler.settle(connection, due, now)
    await connection.close()


def reads_of(plan: Plan, *indexes: str) -> list[Node]:
    return [node for node in plan.root.walk() if node.index in indexes]


def handled(plan: Plan, index: str) -> float:
    return sum(read.handled for read in reads_of(plan, index))


def assert_bounded(plan: Plan) -> None:
    assert not plan.read_whole(), plan.text
    assert not plan.kinds() & {"Hash Join", "Merge Join"}, plan.text


async def looking(
    connection: Connection, now: datetime, shards: Sequence[int], limit: int = 100
) -> Plan:
    return await explain_call(
        connection, "due_schedules", due_schedules, now, shards, BEGINNING, limit
    )


async def test_a_look_with_nothing_due_reads_no_schedule(connection: Connection) -> None:
    plan = await looking(connection, DUE - timedelta(seconds=1), list(ALL_SHARDS))
    assert_bounded(plan)
    assert plan.rows_handled() <= 5, plan.text
    asked = await explain(connection, "next_due", DUE - timedelta(seconds=1), run=True)
    assert_bounded(asked)
    assert handled(asked, "schedule_due") == 1, asked.text
    assert (await next_due(connection, DUE - timedelta(seconds=1)))[1] == DUE


async def test_a_look_reads_as_many_as_it_takes_however_many_are_due(
    connection: Connection,
) -> None:
    plan = await looking(connection, DUE, list(ALL_SHARDS))
    assert_bounded(plan)
    assert handled(plan, "schedule_due") == 100, plan.text
    # Each once to see who stands alike, and once more of those that are told.
    assert 100 <= handled(plan, "schedule_pkey") <= 200, plan.text
    assert {"schedule_due", "schedule_pkey", "dag_pkey", "version_pkey"} <= plan.indexes()


async def test_a_look_passes_by_the_shards_of_others_until_they_are_overdue(
    connection: Connection,
) -> None:
    plan = await looking(connection, DUE, [3])
    assert_bounded(plan)
    assert handled(plan, "schedule_due") == 100, plan.text
    assert sum(read.removed_by_filter for read in reads_of(plan, "schedule_due")) == 0, plan.text
    none = await looking(connection, DUE + timedelta(seconds=1), [])
    assert handled(none, "schedule_due") == 0, none.text
    overdue = await looking(connection, DUE + timedelta(seconds=2), [])
    assert handled(overdue, "schedule_due") == 100, overdue.text


async def moving(connection: Connection, count: int, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """The plan of the moves of so many schedules, of which a tenth is tracked."""
    moves: list[Move] = []

    async def keep(
        _: Connection, decided: Sequence[Move], *_args: object, **_more: object
    ) -> Moved:
        moves.extend(decided)
        return Moved(set(), set())

    now = DUE + timedelta(minutes=1)
    due = await due_schedules(connection, now, list(ALL_SHARDS), BEGINNING, count)
    with monkeypatch.context() as patch:
        patch.setattr(settling, "move_schedules", keep)
        await Settler().settle(connection, due, now)
    assert sum(len(move.turns) for move in moves) == count
    return await explain_call(connection, "move_schedules", move_schedules, moves, now)


async def test_a_move_finds_everything_by_key(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = await moving(connection, 100, monkeypatch)
    assert_bounded(plan)
    # Once to lock it, and then by its place.
    assert handled(plan, "schedule_state_pkey") == 100, plan.text
    assert plan.scanned("schedule_state") == {"Index Scan", "Tid Scan"}, plan.text
    history = {index for index in plan.indexes() if index.startswith(("run_history_", "fire_"))}
    assert all(index.endswith("_pkey") for index in history), plan.text
    assert plan.indexes() - history <= {
        "schedule_state_pkey",
        "schedule_pkey",
        "version_pkey",
        "node_pkey",
        "schedule_run_pkey",
        "job_pkey",
    }, plan.text


async def test_moves_grow_with_their_number_and_no_faster(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = await moving(connection, 100, monkeypatch)
    large = await moving(connection, 400, monkeypatch)
    growth = large.rows_handled() / small.rows_handled()
    # Quadratic would be 16.
    assert growth < 8, f"{growth:.1f} times the rows\n{large.text}"


async def test_following_reads_as_many_runs_as_it_is_told(connection: Connection) -> None:
    plan = await explain(connection, "followed_schedules", 0, 0, 50, run=True)
    assert_bounded(plan)
    # And whether a schedule whose fires wait has any.
    assert handled(plan, "schedule_run_pkey") <= 50 + 50, plan.text
    buffered = [node for node in plan.root.walk() if "fire_" in (node.index or "")]
    assert sum(node.handled for node in buffered) <= 50 + 50 + len(buffered), plan.text


async def test_a_page_of_the_ledger_is_read_from_its_place(connection: Connection) -> None:
    schedule_id = await connection.fetchval(
        "select schedule_id from mainspring.fire where outcome = 'fired' limit 1"
    )
    for before, expected in ((None, 2), (DUE - timedelta(minutes=2), 1)):
        plan = await explain(connection, "page_fires", schedule_id, before, 2, run=True)
        assert_bounded(plan)
        assert "Sort" not in plan.kinds(), plan.text
        scans = [node for node in plan.root.walk() if node.relation]
        assert {node.kind for node in scans} == {"Index Scan"}, plan.text
        # One look ahead in each period is the price of merging them.
        assert expected <= sum(node.handled for node in scans) <= expected + 1, plan.text


async def test_what_was_left_out_of_all_schedules_is_read_from_its_place(
    connection: Connection,
) -> None:
    await connection.execute(
        "update mainspring.fire set outcome = 'skipped', reason = 'overlap', run_id = null"
        " where schedule_id % 3 = 0"
    )
    for place in ((None, None), (DUE - timedelta(minutes=2), 2**62)):
        plan = await explain(connection, "page_skipped", 1, *place, 10, run=True)
        assert_bounded(plan)
        assert "Seq Scan" not in plan.kinds(), plan.text
        reads = [node for node in plan.root.walk() if "fire_at_id_idx" in (node.index or "")]
        assert 10 <= sum(node.handled for node in reads) <= 12, plan.text


async def test_a_schedule_is_read_by_its_name(plain_connection: Connection) -> None:
    await plain_connection.execute("analyze mainspring.schedule, mainspring.schedule_state")
    name = await plain_connection.fetchval("select name from mainspring.schedule limit 1")
    plan = await explain(plain_connection, "read_schedules", 1, [name], None, "", 50, run=True)
    assert handled(plan, "schedule_tenant_id_name_key") == 1, plan.text
    assert plan.scanned("schedule_state") == {"Index Scan"}, plan.text
    assert not plan.read_whole() & {"schedule", "schedule_state", "fire"}, plan.text


async def test_a_list_of_schedules_reads_a_page_of_them(plain_connection: Connection) -> None:
    await plain_connection.execute(
        "analyze mainspring.schedule, mainspring.schedule_state, mainspring.fire"
    )
    names = await plain_connection.fetch("select name from mainspring.schedule order by name")
    middle = names[len(names) // 2]["name"]
    plan = await explain(plain_connection, "read_schedules", 1, None, None, middle, 50, run=True)
    assert handled(plan, "schedule_tenant_id_name_key") == 50, plan.text
    assert handled(plan, "schedule_state_pkey") == 50, plan.text
    assert not plan.read_whole() & {"schedule", "schedule_state", "fire"}, plan.text


# --- growth of the table ------------------------------------------------------------------

ROUNDS = 40


async def test_a_schedule_that_fires_again_and_again_takes_no_more_room(
    server: Server, scheduled: str
) -> None:
    """Each move changes the index, so nothing is updated in place; but what died is reused, also
    when no vacuum comes by."""
    connection = await connect(server.url(await server.create(scheduled)), name="growth")
    await connection.execute("alter table mainspring.schedule_state set (autovacuum_enabled = off)")
    before = after = 0
    for number in range(1, ROUNDS + 1):
        await connection.execute(
            "update mainspring.schedule_state set turn = turn + 1,"
            " next_fire_at = next_fire_at + interval '1 minute' where schedule_id % 4 = $1",
            number % 4,
        )
        # As a tick does: dead entries that it meets are marked, and their room is used again.
        await due_schedules(connection, DUE + timedelta(days=1), list(ALL_SHARDS), BEGINNING, 9999)
        if number == ROUNDS // 4:
            before = await connection.fetchval(_SIZE)
    after = await connection.fetchval(_SIZE)
    await connection.close()
    assert after < 2 * before, f"{before:,} bytes became {after:,}"


_SIZE = "select pg_total_relation_size('mainspring.schedule_state')"
