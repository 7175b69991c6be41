"""A database with a past: what plans meet after a while, and what they must not be misled by."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.outcomes import HandedBack
from mainspring.store.connection import Connection, connect
from mainspring.store.dags import register_dag
from mainspring.store.ids import Ids
from mainspring.store.runs import NewRun, create_runs
from tests.conftest import Server
from tests.support.factory import BareWorker, dag_of

FINISHED_RUNS = 20_000
OPEN_RUNS = 300
BATCH = 500
ANALYZE = """
analyze mainspring.run, mainspring.task, mainspring.ready, mainspring.claim, mainspring.timer,
  mainspring.node, mainspring.edge, mainspring.lease, mainspring.version, mainspring.dag
"""

ONE = dag_of(name="one")
DIAMOND = dag_of([(0, 1), (0, 2), (1, 3), (2, 3)], tasks=4, name="diamond", timeout_seconds=3600)


@pytest.fixture(scope="session")
def filled(server: Server) -> str:
    """Finished runs, some that wait in each way, and the dead rows that all of them left.

    A database that nobody has analyzed; it goes with the server.
    """
    name = asyncio.run(server.create())
    asyncio.run(_fill(server.url(name)))
    return name


@pytest.fixture(scope="session")
def analyzed(server: Server, filled: str) -> str:
    """The same, analyzed. Another database, since sizes that were seen stay after a rollback."""
    name = asyncio.run(server.create(filled))
    asyncio.run(_analyze(server.url(name)))
    return name


@pytest.fixture(params=["never analyzed", "analyzed"])
async def connection(
    server: Server, filled: str, analyzed: str, request: pytest.FixtureRequest
) -> AsyncIterator[Connection]:
    """Whatever a test does is undone, so that all see the same past.

    Queue tables are never analyzed by themselves, but a person may do it; the others are at
    first unknown to the planner and later not. The plans must be right in both cases.
    """
    name = analyzed if request.param == "analyzed" else filled
    async with undone(server.url(name), stable_plans=True) as connection:
        yield connection


@pytest.fixture
async def plain_connection(server: Server, analyzed: str) -> AsyncIterator[Connection]:
    """As clients have it, after autovacuum came by."""
    async with undone(server.url(analyzed), stable_plans=False) as connection:
        yield connection


@contextlib.asynccontextmanager
async def undone(url: str, *, stable_plans: bool) -> AsyncIterator[Connection]:
    connection = await connect(url, name="plans", stable_plans=stable_plans)
    transaction = connection.transaction()
    await transaction.start()
    yield connection
    await transaction.rollback()
    await connection.close()


async def _analyze(url: str) -> None:
    connection = await connect(url, name="analyze")
    await connection.execute(ANALYZE)
    await connection.close()


async def _fill(url: str) -> None:
    connection = await connect(url, name="fill", stable_plans=True)
    for number in range(20):
        chain = [(before, before + 1) for before in range(number)]
        await register_dag(connection, dag_of(chain, tasks=number + 1, name=f"dag{number}"), "x")
    one = await register_dag(connection, ONE, "snapshot")
    diamond = await register_dag(connection, DIAMOND, "snapshot")
    worker = await BareWorker.join(connection, DIAMOND)
    ids = Ids()

    async def start(runs: int, tasks: int, due_at: datetime | None = None) -> None:
        dag = one if tasks == 1 else diamond
        first = await ids.take(connection, runs * tasks)
        new = [
            NewRun(first + number * tasks, dag.version_id, dag.snapshot_id, due_at=due_at)
            for number in range(runs)
        ]
        await create_runs(connection, new)

    for _ in range(FINISHED_RUNS // BATCH):
        await start(BATCH, tasks=1)
        await worker.end_all([(claimed, None) for claimed in await worker.claim(BATCH)])
    await start(100, tasks=4)
    while claims := await worker.claim(BATCH):
        await worker.end_all([(claimed, None) for claimed in claims])
    await start(OPEN_RUNS, tasks=1)
    resting = HandedBack("later", delay_seconds=3600)
    await worker.end_all([(claimed, resting) for claimed in await worker.claim(OPEN_RUNS)])
    await start(OPEN_RUNS, tasks=1, due_at=datetime.now(UTC) + timedelta(hours=1))
    await start(OPEN_RUNS, tasks=1)
    # Others hold something, too.
    for _ in range(5):
        other = await BareWorker.join(connection, ONE)
        for _ in range(4):
            await other.claim(5)
    await start(OPEN_RUNS, tasks=1)
    await start(OPEN_RUNS, tasks=4)
    await connection.close()
