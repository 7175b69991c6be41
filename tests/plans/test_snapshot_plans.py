"""What it costs to let go of code: nothing of the runs, unless there is something to let go of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mainspring.store.connection import Connection
from mainspring.store.snapshots import VERSIONS_KEPT, keep_snapshot
from tests.plans.plan import Plan, explain


async def _plan(connection: Connection) -> Plan:
    later = datetime.now(UTC) + timedelta(days=1)
    return await explain(connection, "forget_snapshots", later, VERSIONS_KEPT, 10, run=True)


def _runs_read(plan: Plan) -> list[float]:
    return [node.loops for node in plan.root.walk() if node.relation == "run"]


async def test_open_runs_are_not_read_when_all_code_is_needed(plain_connection: Connection) -> None:
    await keep_snapshot(plain_connection, "snapshot", b"in use")
    plan = await _plan(plain_connection)
    assert _runs_read(plan) == [0], plan.text


async def test_open_runs_are_read_once_however_much_code_may_go(
    plain_connection: Connection,
) -> None:
    for number in range(30):
        await keep_snapshot(plain_connection, f"idle {number}", b"x")
    plan = await _plan(plain_connection)
    assert _runs_read(plan) == [1], plan.text
    assert plan.root.rows == 10, plan.text


async def test_history_is_asked_by_its_index(plain_connection: Connection) -> None:
    await keep_snapshot(plain_connection, "idle", b"x")
    await plain_connection.execute("set local enable_seqscan = off")
    plan = await _plan(plain_connection)
    assert any("snapshot_id" in index for index in plan.indexes()), plan.text
