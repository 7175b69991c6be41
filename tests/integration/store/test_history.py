"""Closed runs move to history and leave with it; open ones are neither pinned nor lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from mainspring.domain.outcomes import Succeeded
from mainspring.domain.specs import RetrySpec
from mainspring.domain.uses import Use
from mainspring.store.connection import Connection, connect, fetch
from mainspring.store.dags import register_dag
from mainspring.store.history import (
    PARTITIONED,
    archive_runs,
    drop_old_period,
    forget_runs,
    open_periods,
    period_ids,
    prune_step,
)
from mainspring.store.logs import append_log
from mainspring.store.runs import stop_runs
from mainspring.store.uses import record_uses
from tests.support.factory import BareWorker, dag_of, failure, start_dag, start_run

LATER = timedelta(days=1)
DIAMOND = dag_of([(0, 1), (0, 2), (1, 3), (2, 3)], tasks=4, name="diamond")
SINGLE = dag_of(name="single")
PERIOD_IDS = 10_000_000


async def _now(connection: Connection) -> datetime:
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return now


async def _archive_all(connection: Connection) -> int:
    archived = await archive_runs(connection, 0, 10_000, await _now(connection) + LATER)
    return archived.moved


async def _seen(connection: Connection) -> tuple[list[asyncpg.Record], list[asyncpg.Record]]:
    return (
        await fetch(connection, "select * from mainspring.run_view order by id"),
        await fetch(
            connection,
            "select id, name, state, term, attempt, lost, result, started_at, finished_at"
            " from mainspring.task_view order by id",
        ),
    )


async def test_history_shows_what_the_hot_tables_showed(connection: Connection) -> None:
    for ending in (None, failure()):
        await start_dag(connection, DIAMOND)
        worker = await BareWorker.join(connection, DIAMOND)
        while claimed := await worker.claim():
            await worker.end_all([(c, ending if c.node == 2 else Succeeded(b"7")) for c in claimed])
    single = await register_dag(connection, SINGLE, "snapshot")
    worker = await BareWorker.join(connection, SINGLE)
    for outcome in (Succeeded(b"1"), failure()):
        await start_run(connection, single)
        await worker.end((await worker.claim())[0], outcome)
    for stop in ("cancel", "deadline"):
        await stop_runs(connection, [await start_run(connection, single)], stop)
    before = await _seen(connection)
    assert {row["state"] for row in before[0]} == {"succeeded", "failed", "cancelled"}
    assert await _archive_all(connection) == 6
    assert await connection.fetchval("select count(*) from mainspring.task") == 0
    assert await _seen(connection) == before


async def test_open_runs_and_those_just_closed_stay(connection: Connection) -> None:
    await start_dag(connection, SINGLE)
    worker = await BareWorker.join(connection, SINGLE)
    [claimed] = await worker.claim()
    assert await _archive_all(connection) == 0
    await worker.end(claimed)
    closed_before = datetime(2020, 1, 1, tzinfo=UTC)
    assert (await archive_runs(connection, 0, 100, closed_before)).moved == 0
    assert await _archive_all(connection) == 1


async def test_a_completion_repeated_after_the_run_was_archived_is_still_ours(
    connection: Connection,
) -> None:
    await start_dag(connection, SINGLE)
    worker = await BareWorker.join(connection, SINGLE)
    [claimed] = await worker.claim()
    await worker.end(claimed)
    await _archive_all(connection)
    refused = (await worker.end(claimed)).refused
    assert refused == {(claimed.task_id, claimed.term): "already_yours"}


async def test_periods_are_opened_ahead_of_the_ids(connection: Connection) -> None:
    assert await open_periods(connection) == 0
    await connection.execute("select setval('mainspring.id_block', 25000001)")
    assert await open_periods(connection) == 1
    for parent in PARTITIONED:
        assert await connection.fetchval(
            "select to_regclass($1)", f"mainspring.{parent}_30000001"
        ), parent
    run_id = await start_dag(connection, SINGLE, parameters=b'"%s"' % (b"x" * 2000))
    assert run_id > 25_000_000


def test_a_period_holds_about_a_day_at_the_pace_of_the_last() -> None:
    assert period_ids(86_400.0) == PERIOD_IDS
    assert period_ids(10 * 86_400.0) == PERIOD_IDS
    assert period_ids(8_640.0) == 10 * PERIOD_IDS
    assert period_ids(0.0) == 100 * PERIOD_IDS


async def test_a_period_is_dropped_whole_and_open_runs_keep_what_they_need(
    connection: Connection,
) -> None:
    spec = dag_of(name="retried", retry=RetrySpec(attempts=2, first_seconds=3600))
    dag = await register_dag(connection, spec, "snapshot")
    large = b'{"text":"%s"}' % (b"x" * 2000)
    closed, open_ = [await start_run(connection, dag, parameters=large) for _ in range(2)]
    worker = await BareWorker.join(connection, spec)
    for claimed in await worker.claim():
        await append_log(connection, [(claimed.task_id, claimed.term, 0, b"long log" * 10_000)])
        await record_uses(connection, [(claimed.task_id, claimed.term, Use(1.0))])
        await worker.end(claimed, failure() if claimed.task_id == open_ else Succeeded(large))
    for run_id in (closed, open_):
        await connection.execute(
            "insert into mainspring.fire"
            " select $1, now(), now(), null, now(), $1, 1, 1, 1, 'fired'",
            run_id,
        )
    await _archive_all(connection)
    cutoff = await _now(connection) + LATER
    assert not await drop_old_period(connection, cutoff), "its ids are still being handed out"
    await connection.execute("select setval('mainspring.id_block', $1)", PERIOD_IDS + 1)
    assert not await drop_old_period(connection, datetime(2020, 1, 1, tzinfo=UTC))
    assert await drop_old_period(connection, cutoff)
    for parent, column in PARTITIONED.items():
        rows = await fetch(connection, f"select distinct {column} as id from mainspring.{parent}")
        kept = set() if parent.endswith("_history") else {open_}
        assert {row["id"] for row in rows} == kept, parent
    # The one that was open ends like any other, in the partitions below all periods.
    await stop_runs(connection, [open_], "cancel")
    assert await _archive_all(connection) == 1
    assert await forget_runs(connection, cutoff, 10) == 1
    for parent in PARTITIONED:
        assert await connection.fetchval(f"select count(*) from mainspring.{parent}") == 0
    assert closed != open_


async def test_a_fire_that_waits_outlives_its_period_and_so_does_a_range_that_grows(
    connection: Connection,
) -> None:
    await connection.execute(
        "insert into mainspring.fire"
        " select n, instant, instant, null, now(), null, 1, 1, 1, outcome, reason"
        " from (values (1, 'buffered'::mainspring.fire_outcome, null::mainspring.skip_reason),"
        "  (2, 'skipped', 'pause'), (3, 'skipped', 'pause')) as u (n, outcome, reason),"
        " lateral (select 'epoch'::timestamptz + n * interval '1 hour' as instant) as i"
    )
    await connection.execute(
        "insert into mainspring.schedule_state (schedule_id, tenant_id, shard, tracked, alone,"
        " cursor_at, range_id, range_reason) values (1, 1, 1, false, false, now(), 3, 'pause')"
    )
    await connection.execute("select setval('mainspring.id_block', $1)", PERIOD_IDS + 1)
    assert await drop_old_period(connection, await _now(connection) + LATER)
    rows = await fetch(connection, "select id from mainspring.fire order by id")
    assert [row["id"] for row in rows] == [1, 3]


async def test_the_ledger_is_kept_as_long_as_runs_though_none_of_its_runs_is_in_history(
    connection: Connection,
) -> None:
    await _ledger(connection, {1: "now()"} | dict.fromkeys(range(2, 1100), _DAYS_AGO))
    await connection.execute("select setval('mainspring.id_block', $1)", PERIOD_IDS + 1)
    cutoff = await _now(connection) - LATER
    assert await drop_old_period(connection, cutoff), "its last entry is old"
    rows = await fetch(connection, "select id from mainspring.fire")
    assert [row["id"] for row in rows] == [1], "and a younger one among the others is kept"
    await forget_runs(connection, cutoff, 10)
    assert await connection.fetchval("select count(*) from mainspring.fire") == 1
    await forget_runs(connection, await _now(connection) + LATER, 10)
    assert await connection.fetchval("select count(*) from mainspring.fire") == 0


async def test_a_period_whose_last_fires_are_young_stays(connection: Connection) -> None:
    await _ledger(connection, {1: _DAYS_AGO, 2: "now()"})
    await connection.execute("select setval('mainspring.id_block', $1)", PERIOD_IDS + 1)
    assert not await drop_old_period(connection, await _now(connection) - LATER)


async def test_the_entry_of_a_fire_that_had_waited_is_kept_as_long_as_its_run(
    connection: Connection,
) -> None:
    dag = await register_dag(connection, SINGLE, "snapshot")
    await connection.execute("select setval('mainspring.id_block', $1)", PERIOD_IDS + 1)
    run_id = await start_run(connection, dag)
    worker = await BareWorker.join(connection, SINGLE)
    await worker.end((await worker.claim())[0])
    await _archive_all(connection)
    await _ledger(connection, {1: _DAYS_AGO}, run_id=run_id)
    assert await drop_old_period(connection, await _now(connection) - LATER)
    assert await connection.fetchval("select run_id from mainspring.fire") == run_id
    await forget_runs(connection, await _now(connection) + LATER, 10)
    assert await connection.fetchval("select count(*) from mainspring.fire") == 0


_DAYS_AGO = "now() - interval '2 days'"


async def _ledger(
    connection: Connection, decided: dict[int, str], *, run_id: int | None = None
) -> None:
    """Entries of a schedule's ledger, by id, as they were decided upon."""
    outcome = "'skipped', 'pause'" if run_id is None else "'fired', null"
    for number, decided_at in decided.items():
        instant = f"'epoch'::timestamptz + {number} * interval '1 hour'"
        await connection.execute(
            "insert into mainspring.fire"
            f" select {number}, {instant}, {instant}, {instant} + interval '1 hour', {decided_at},"
            f"  $1, 1, 1, 1, {outcome}",
            run_id,
        )


async def test_dropping_does_not_queue_behind_a_reader(
    connection: Connection, database_url: str
) -> None:
    await connection.execute("select setval('mainspring.id_block', $1)", PERIOD_IDS + 1)
    reader = await connect(database_url, name="reader")
    transaction = reader.transaction()
    await transaction.start()
    await reader.fetch("select * from mainspring.run_history")
    cutoff = await _now(connection) + LATER
    with pytest.raises(asyncpg.LockNotAvailableError):
        await drop_old_period(connection, cutoff)
    pruned = await prune_step(connection, finished_before=cutoff, keys_before=cutoff, limit=10)
    assert not pruned
    await transaction.rollback()
    await reader.close()
    assert await drop_old_period(connection, cutoff)


async def test_old_runs_of_a_mixed_period_are_deleted_with_their_problems(
    connection: Connection,
) -> None:
    await start_dag(connection, SINGLE)
    worker = await BareWorker.join(connection, SINGLE)
    await worker.end((await worker.claim())[0], failure())
    await _archive_all(connection)
    cutoff = await _now(connection) + LATER
    assert await forget_runs(connection, datetime(2020, 1, 1, tzinfo=UTC), 10) == 0
    assert await forget_runs(connection, cutoff, 10) == 1
    assert await connection.fetchval("select count(*) from mainspring.problem") == 0
