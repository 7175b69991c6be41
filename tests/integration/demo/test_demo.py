"""A demo, seeded small: the promises hold of its past, and each view has something to show."""

from __future__ import annotations

from pathlib import Path

from mainspring.demo.home import Marker, dags_of
from mainspring.demo.seeding import seed_database
from mainspring.store.connection import Connection, fetch
from mainspring.store.invariants import broken_promises

RUNS = 1_500


async def test_a_seeded_past_keeps_all_promises_and_fills_every_view(
    database_url: str, connection: Connection, tmp_path: Path
) -> None:
    marker = Marker(seed=7, runs=RUNS, whole=False)
    told: list[str] = []

    def hear(words: str, done: int, total: int) -> None:
        told.append(words)

    seeded = await seed_database(connection, database_url, tmp_path, marker, hear)

    assert await broken_promises(connection) == {}
    assert "runs of the past" in told
    assert (dags_of(tmp_path) / "shop.py").exists()
    assert seeded.dags == 50
    count = connection.fetchval
    assert await count("select count(*) from mainspring.run_history") == RUNS

    # Statistics say what history says.
    by_dag = "select dag_id, count(*) as runs, sum(tasks) as tasks, sum(failed_tasks) as failed"
    counted = "select dag_id, sum(succeeded + failed + cancelled) as runs, sum(tasks) as tasks,"
    assert set(await fetch(connection, f"{by_dag} from mainspring.run_history group by 1")) == set(
        await fetch(
            connection,
            f"{counted} sum(failed_tasks) as failed from mainspring.rollup where dag_id > 0"
            " group by 1",
        )
    )
    assert await count("select sum(succeeded) from mainspring.rollup where dag_id = 0") == (
        await count("select count(*) from mainspring.run_history where state = 'succeeded'")
    )
    widths = await fetch(connection, "select distinct width::text from mainspring.rollup")
    assert {row["width"] for row in widths} == {"minute", "hour", "day"}

    # Of everything there is something.
    for what in (
        "select 1 from mainspring.run_history where tasks = 10000",
        "select 1 from mainspring.version where number = 2",
        "select 1 from mainspring.task_history where state = 'skipped'",
        "select 1 from mainspring.task_history where attempt > 1 and state = 'succeeded'",
        "select 1 from mainspring.problem where discarded_at is null",
        "select 1 from mainspring.problem where discarded_at is not null",
        "select 1 from mainspring.fire where reason = 'exclusion'",
        "select 1 from mainspring.log",
        "select 1 from mainspring.job where schedule_id is not null",
        "select 1 from mainspring.backfill where state = 'running'",
        "select 1 from mainspring.backfill where state = 'paused'",
        "select 1 from mainspring.queue where paused_at is not null",
        "select 1 from mainspring.dag where paused_at is not null",
        "select 1 from mainspring.ready",
        "select 1 from mainspring.token",
    ):
        assert await count(f"select exists ({what})"), what
    assert await count("select count(*) from mainspring.file_problem") == 0
