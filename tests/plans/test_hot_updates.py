"""Completing a task changes its row on its own page and touches no index."""

from __future__ import annotations

from mainspring.store.connection import Connection, connect, fetch
from mainspring.store.dags import register_dag
from mainspring.store.ids import Ids
from mainspring.store.runs import NewRun, create_runs
from tests.support.factory import BareWorker, dag_of

TASKS = 2000


async def test_completions_update_tasks_in_place(database_url: str) -> None:
    connection = await connect(database_url, name="hot", stable_plans=True)
    spec = dag_of()
    dag = await register_dag(connection, spec, "snapshot")
    worker = await BareWorker.join(connection, spec)
    ids = Ids()
    for _ in range(TASKS // 500):
        first = await ids.take(connection, 500)
        await create_runs(
            connection,
            [NewRun(first + number, dag.version_id, dag.snapshot_id) for number in range(500)],
        )
    for _ in range(TASKS // 500):
        await worker.end_all([(claimed, None) for claimed in await worker.claim(500)])

    updated, in_place = await updates(connection)
    assert updated == TASKS
    assert in_place >= TASKS * 0.95
    assert (
        await fetch(connection, "select 1 from mainspring.run where finished_at is not null") == []
    )
    await connection.close()


async def updates(connection: Connection) -> tuple[int, int]:
    """Of the tasks: how many updates, and how many of them in place."""
    await connection.execute("select pg_stat_force_next_flush()")
    await connection.execute("select pg_stat_clear_snapshot()")
    [row] = await fetch(
        connection,
        "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables"
        " where schemaname = 'mainspring' and relname = 'task'",
    )
    return row["n_tup_upd"], row["n_tup_hot_upd"]
