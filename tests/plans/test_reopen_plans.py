"""A rerun reads one run, however many there are; on clients' connections, with any statistics."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from mainspring.store.connection import Connection
from mainspring.store.history import archive_runs
from mainspring.store.reading import read_clock
from tests.conftest import Server
from tests.plans.conftest import undone
from tests.plans.plan import explain

LARGE = {"run", "task", "timer", "ready", "edge"}


@pytest.fixture(params=["never analyzed", "analyzed"])
async def connection(
    server: Server, filled: str, analyzed: str, request: pytest.FixtureRequest
) -> AsyncIterator[Connection]:
    name = analyzed if request.param == "analyzed" else filled
    async with undone(server.url(name), stable_plans=False) as connection:
        yield connection


@pytest.fixture
async def run_id(server: Server, filled: str) -> int:
    """A closed run of four tasks, each after the other or beside."""
    async with undone(server.url(filled), stable_plans=False) as connection:
        found: int = await connection.fetchval(
            "select id from mainspring.run where open_tasks = 0 order by id limit 1"
        )
    return found


async def test_opening_a_run_reads_its_own_rows(connection: Connection, run_id: int) -> None:
    tasks = list(range(run_id, run_id + 4))
    for name, arguments in (
        ("read_standing", [run_id]),
        ("lock_standing", [run_id]),
        ("reopen_tasks", [run_id, tasks, [0, 1, 1, 2], None]),
        ("ready_tasks", [tasks]),
        ("overdue_runs", [[run_id], [4]]),
    ):
        plan = await explain(connection, name, *arguments, run=True)
        assert not plan.read_whole() & LARGE, plan.text
        assert plan.rows_handled() < 200, plan.text
    assert await connection.fetchval(
        "select count(*) from mainspring.ready where task_id = $1", run_id
    )


async def test_marking_a_task_reads_its_own_run(connection: Connection) -> None:
    run_id = await connection.fetchval(
        "select id from mainspring.run where open_tasks = 4 order by id desc limit 1"
    )
    for name, arguments in (
        ("unqueue_task", [run_id]),
        ("mark_task", [run_id, run_id, "succeeded", None, "me", "", True, b"{}", None]),
        ("mark_task", [run_id, run_id + 1, "skipped", None, "me", "", True, b"{}", None]),
        ("find_mark", [run_id, 2, "succeeded"]),
    ):
        plan = await explain(connection, name, *arguments, run=True)
        assert not plan.read_whole() & LARGE, plan.text
        assert plan.rows_handled() < 200, plan.text
    states = await connection.fetch(
        "select state::text from mainspring.task where run_id = $1 order by id", run_id
    )
    assert [row["state"] for row in states] == ["succeeded", "skipped", "ready", "skipped"]


async def test_bringing_a_run_back_reads_its_own_history(
    server: Server, filled: str, run_id: int
) -> None:
    async with undone(server.url(await server.create(filled)), stable_plans=False) as connection:
        later = await read_clock(connection)
        while (archived := await archive_runs(connection, 0, 1000, later)).moved:
            assert archived.last
        await connection.execute("analyze mainspring.run_history, mainspring.task_history")
        await connection.execute("set local enable_seqscan = on; set local enable_mergejoin = on")
        plan = await explain(connection, "bring_back_run", run_id, run=True)
    scanned = {node.relation: node.handled for node in plan.root.walk() if node.relation}
    assert max(scanned.values()) <= 4, plan.text
