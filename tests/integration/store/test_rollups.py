"""Statistics hold what ended, once for each end, however they are folded and cut."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.histograms import PLACES, bounds_seconds
from mainspring.domain.outcomes import Succeeded
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import register_dag
from mainspring.store.history import archive_runs
from mainspring.store.rollups import ALL_DAGS, Rollup, Width, fold_rollups, read_rollups
from mainspring.store.runs import reopen_run, stop_runs
from tests.support.factory import BareWorker, dag_of, failure, start_run

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
FAR = datetime(2100, 1, 1, tzinfo=UTC)
SINGLE = dag_of(name="single")
PAIR = dag_of([(0, 1)], tasks=2, name="pair")


async def archive(connection: Connection) -> int:
    return (await archive_runs(connection, 0, 10_000, FAR)).moved


async def rollups(
    connection: Connection, dag_id: int = ALL_DAGS, step: Width = Width.DAY
) -> list[Rollup]:
    return await read_rollups(connection, dag_id=dag_id, since=LONG_AGO, until=FAR, step=step)


def ends(found: Sequence[Rollup]) -> tuple[int, int, int]:
    return (
        sum(each.succeeded for each in found),
        sum(each.failed for each in found),
        sum(each.cancelled for each in found),
    )


async def end_some(connection: Connection, count: int, *, failing: int = 0) -> int:
    """Runs of one task, some of which fail; tells the dag."""
    dag = await register_dag(connection, SINGLE, "snapshot")
    worker = await BareWorker.join(connection, SINGLE)
    for _ in range(count):
        await start_run(connection, dag)
    claimed = await worker.claim(count)
    outcomes = [failure(retry=False)] * failing + [Succeeded()] * (count - failing)
    await worker.end_all(list(zip(claimed, outcomes, strict=True)))
    return dag.dag_id


async def test_each_end_is_counted_once_for_its_dag_and_for_all(connection: Connection) -> None:
    single = await end_some(connection, 5, failing=2)
    assert await rollups(connection) == []
    assert await archive(connection) == 5
    assert await archive(connection) == 0
    await end_some(connection, 3)
    assert await archive(connection) == 3
    for dag_id in (single, ALL_DAGS):
        found = await rollups(connection, dag_id)
        assert ends(found) == (6, 2, 0)
        assert sum(each.tasks for each in found) == 8
        assert sum(each.failed_tasks for each in found) == 2
        assert sum(sum(each.durations) for each in found) == 8
    assert await rollups(connection, single + 1) == []


async def test_sums_and_histograms_are_those_of_the_history(connection: Connection) -> None:
    """Against what is computed from the runs themselves."""
    dag = await register_dag(connection, SINGLE, "snapshot")
    worker = await BareWorker.join(connection, SINGLE)
    for _ in range(60):
        await start_run(connection, dag)
    claimed = await worker.claim(60)
    await worker.end_all([(each, None) for each in claimed])
    await connection.execute(
        "update mainspring.run set due_at = due_at - (id % 7) * interval '1 s';"
        "update mainspring.task t set"
        " started_at = r.due_at + (2 ^ (t.id % 30) - 0.5) * interval '1 ms',"
        " finished_at = r.due_at + (2 ^ (t.id % 30) - 0.5) * interval '1 ms'"
        "   + (3 ^ (t.id % 19)) * interval '1 ms'"
        " from mainspring.run r where r.id = t.id"
    )
    assert await archive(connection) == 60
    expected: dict[datetime, list[tuple[timedelta, timedelta]]] = {}
    for row in await fetch(
        connection, "select due_at, started_at, finished_at from mainspring.run_history"
    ):
        minute = row["finished_at"].replace(second=0, microsecond=0)
        times = row["finished_at"] - row["started_at"], row["started_at"] - row["due_at"]
        expected.setdefault(minute, []).append(times)
    found = await rollups(connection, dag.dag_id, Width.MINUTE)
    assert [each.at for each in found] == sorted(expected)
    for each in found:
        durations, lags = zip(*expected[each.at], strict=True)
        for sums, most, histogram, times in (
            (each.duration_sum, each.duration_max, each.durations, durations),
            (each.lag_sum, each.lag_max, each.lags, lags),
        ):
            seconds = [time.total_seconds() for time in times]
            assert sums == pytest.approx(sum(seconds))
            assert most == max(seconds)
            assert histogram == histogram_of(seconds)
    assert await rollups(connection, ALL_DAGS, Width.MINUTE) == found


def histogram_of(seconds: Sequence[float]) -> list[int]:
    bounds = [bounds_seconds(place) for place in range(PLACES)]
    return [sum(low <= each < high for each in seconds) for low, high in bounds]


async def test_a_run_that_never_started_has_an_end_but_no_duration(connection: Connection) -> None:
    dag = await register_dag(connection, SINGLE, "snapshot")
    await stop_runs(connection, [await start_run(connection, dag)], "cancel")
    assert await archive(connection) == 1
    [found] = await rollups(connection)
    assert ends([found]) == (0, 0, 1)
    assert (sum(found.durations), sum(found.lags)) == (0, 0)
    assert (found.duration_sum, found.lag_max) == (0.0, 0.0)


async def test_folding_changes_no_sum(connection: Connection) -> None:
    """Minutes of three years become hours and days; what is asked for by the day stays the same."""
    single = await end_some(connection, 90, failing=30)
    await connection.execute(
        "update mainspring.task set started_at = due_at, finished_at = clock_timestamp()"
        " - (id % 90) * interval '20 hours' - (id % 4) * interval '7 minutes'"
    )
    await connection.execute("update mainspring.task set started_at = finished_at - interval '3 s'")
    assert await archive(connection) == 90
    now: datetime = await connection.fetchval("select clock_timestamp()")
    before = {dag_id: await rollups(connection, dag_id) for dag_id in (single, ALL_DAGS)}
    steps = 0
    while await fold_rollups(connection, now, 7):
        steps += 1
    assert steps > 1
    assert {dag_id: await rollups(connection, dag_id) for dag_id in (single, ALL_DAGS)} == before
    widths = await fetch(
        connection,
        "select width::text, min(at) as first, max(at) as last from mainspring.rollup group by 1",
    )
    found = {row["width"]: (row["first"], row["last"]) for row in widths}
    assert found["minute"][0] >= Width.HOUR.begin(now - Width.MINUTE.kept)
    assert found["hour"][0] >= Width.DAY.begin(now - Width.HOUR.kept)
    assert found["day"][1] < Width.DAY.begin(now - Width.HOUR.kept)
    assert found["hour"][1] < found["minute"][0]


async def test_days_go_in_the_end(connection: Connection) -> None:
    await end_some(connection, 2)
    assert await archive(connection) == 2
    [found] = await rollups(connection)
    while await fold_rollups(connection, found.at + Width.DAY.kept, 100):
        pass
    assert ends(await rollups(connection)) == (2, 0, 0)
    assert await fold_rollups(connection, found.at + Width.DAY.kept + timedelta(days=1), 100) > 0
    assert await rollups(connection) == []


async def test_a_minute_that_comes_late_is_added_to_its_hour(connection: Connection) -> None:
    for _ in range(2):
        await end_some(connection, 3)
        await connection.execute(
            "update mainspring.task set started_at = timestamptz '2026-01-01 10:00:30Z',"
            " finished_at = timestamptz '2026-01-01 10:07:30Z'"
        )
        assert await archive(connection) == 3
        assert await fold_rollups(connection, datetime(2026, 1, 9, tzinfo=UTC), 100) > 0
    [found] = await rollups(connection, step=Width.HOUR)
    assert found.at == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert (ends([found]), found.duration_sum) == ((6, 0, 0), 6 * 420.0)
    assert await rollups(connection, step=Width.MINUTE) == []


async def test_a_run_that_is_run_again_ends_again_but_is_measured_once(
    connection: Connection,
) -> None:
    dag = await register_dag(connection, PAIR, "snapshot")
    worker = await BareWorker.join(connection, PAIR)
    run_id = await start_run(connection, dag, 2)
    await worker.end((await worker.claim())[0], failure(retry=False))
    assert await archive(connection) == 1
    await reopen_run(connection, run_id, {0: 1})
    while claimed := await worker.claim():
        await worker.end_all([(each, None) for each in claimed])
    assert await archive(connection) == 1
    found = await rollups(connection)
    assert ends(found) == (1, 1, 0)
    assert sum(each.again for each in found) == 1
    assert sum(sum(each.durations) for each in found) == 1
