"""What jobs cost depends on the jobs that are asked for, not on how many there are or were.

Counted in rows that EXPLAIN ANALYZE saw pass, on a database that nobody has analyzed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from mainspring.domain.errors import NotFoundError
from mainspring.schedule.specs import IntervalSpec, ScheduleSpec
from mainspring.store.connection import Connection, connect, fetch
from mainspring.store.history import archive_runs
from mainspring.store.jobs import NewJobRun, columns_of, trigger_job
from tests.conftest import Server
from tests.plans.conftest import undone
from tests.plans.plan import explain, explain_call
from tests.support.job_stage import COMMAND_LANE, JobStage, command

JOBS = 3_000
RUNS = 400
"""Of one of them."""
NO_ID = 2**62
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
TABLES = {"job", "run", "task", "run_history_1", "task_history_1", "schedule", "progress"}


@pytest.fixture(scope="session")
def with_jobs(server: Server, filled: str) -> str:
    name = asyncio.run(server.create(filled))
    asyncio.run(_fill(server.url(name)))
    return name


@pytest.fixture(params=[True, False], ids=["stable plans", "plain"])
async def connection(
    server: Server, with_jobs: str, request: pytest.FixtureRequest
) -> AsyncIterator[Connection]:
    async with undone(server.url(with_jobs), stable_plans=request.param) as connection:
        yield connection


async def _fill(url: str) -> None:
    """Jobs of which most are over, and one that ran often."""
    connection = await connect(url, name="fill", stable_plans=True)
    stage = JobStage(connection)
    for start in range(0, JOBS, 1000):
        await stage.create(*[command(f"job-{n}") for n in range(start, start + 1000)])
    hourly = ScheduleSpec(when=(IntervalSpec(3600),))
    await stage.create(*[command(f"hourly-{n}", schedule=hourly) for n in range(300)])
    often = await stage.make(command("often"))
    for _ in range(RUNS - 1):
        await stage.trigger(often)
    worker = await stage.worker()
    while claimed := await worker.claim(500, lane=COMMAND_LANE):
        await worker.end_all([(each, None) for each in claimed])
    above = 0
    while True:
        async with connection.transaction():
            done = await archive_runs(connection, above, 5000, LAST)
        if done.last is None:
            break
        above = done.last
    await stage.trigger(often)
    await connection.close()


async def _often(connection: Connection) -> int:
    rows = await fetch(connection, "select id from mainspring.job where name = 'often'")
    job_id: int = rows[0]["id"]
    return job_id


async def test_a_page_of_runs_of_a_job_reads_as_many_as_it_looks_at(
    connection: Connection,
) -> None:
    job_id = await _often(connection)
    plan = await explain(
        connection, "page_job_runs", job_id, FIRST, LAST, NO_ID, 20, None, 20, run=True
    )
    assert not plan.read_whole() & TABLES, plan.text
    read = [node.handled for node in plan.root.walk() if node.relation in TABLES]
    assert max(read) <= 20, plan.text
    plan = await explain(connection, "last_seen_job_run", job_id, FIRST, LAST, NO_ID, 20, run=True)
    assert not plan.read_whole() & TABLES, plan.text
    read = [node.handled for node in plan.root.walk() if node.relation in TABLES]
    assert max(read) <= 20, plan.text


async def test_a_job_and_a_page_of_jobs_are_read_by_key(connection: Connection) -> None:
    job_id = await _often(connection)
    plan = await explain(connection, "read_jobs", 1, [job_id], run=True)
    assert not plan.read_whole() & TABLES, plan.text
    assert max(n.handled for n in plan.root.walk() if n.relation in TABLES) <= 2, plan.text
    plan = await explain(connection, "page_jobs", 1, NO_ID, 20, None, "", run=True)
    assert not plan.read_whole() & TABLES, plan.text
    assert max(n.handled for n in plan.root.walk() if n.relation in TABLES) <= 20, plan.text


async def _ask_to_trigger(connection: Connection, run: NewJobRun) -> None:
    """Nobody answers here, so that the job seems not to be there."""
    with contextlib.suppress(NotFoundError):
        await trigger_job(connection, run)


async def test_making_and_triggering_reads_nothing_of_other_jobs(
    server: Server, with_jobs: str
) -> None:
    async with undone(server.url(with_jobs), stable_plans=True) as connection:
        stage = JobStage(connection)
        new = await stage.new(*[command(f"new-{n}", retries=1) for n in range(200)])
        asked = columns_of(new, [None] * len(new))
        plan = await explain(connection, "create_jobs", *asked, run=True)
        assert not plan.read_whole() & TABLES, plan.text
        assert max(n.handled for n in plan.root.walk()) <= len(new) * 2, plan.text
        run = await stage.new_run(await _often(connection))
        plan = await explain_call(connection, "trigger_jobs", _ask_to_trigger, run)
        assert not plan.read_whole() & TABLES, plan.text
        assert max(n.handled for n in plan.root.walk()) <= 10, plan.text


async def test_a_slice_of_jobs_to_forget_looks_once_for_each(connection: Connection) -> None:
    plan = await explain(connection, "lock_old_jobs", LAST, 0, 100, run=True)
    assert not plan.read_whole() & TABLES, plan.text
    assert max(n.handled for n in plan.root.walk() if n.relation in TABLES) <= 100, plan.text
