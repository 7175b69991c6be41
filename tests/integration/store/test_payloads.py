"""Parameters and results of any size come back as they were given."""

from __future__ import annotations

import msgspec
import pytest

from mainspring.domain.outcomes import Succeeded
from mainspring.store.connection import Connection, fetch
from mainspring.store.payloads import read_parameters, read_results
from tests.support.factory import BareWorker, dag_of, start_dag

# Beside the limit for what a row holds itself, and near the most that is accepted.
SIZES = [2, 1024, 1025, 50_000, 3 * 1024 * 1024]


def json_of(size: int) -> bytes:
    return b'"' + b"x" * (size - 2) + b'"'


@pytest.mark.parametrize("size", SIZES)
async def test_parameters_reach_the_worker(connection: Connection, size: int) -> None:
    spec = dag_of()
    run_id = await start_dag(connection, spec, parameters=json_of(size))
    [item] = await (await BareWorker.join(connection, spec)).claim()
    large = await read_parameters(connection, [run_id])
    assert (large[run_id] if item.parameters == b"" else item.parameters) == json_of(size)
    assert bool(large) == (size > 1024)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("tasks", [1, 2])
async def test_results_can_be_read_back(connection: Connection, size: int, tasks: int) -> None:
    spec = dag_of([(0, 1)] if tasks == 2 else [], tasks=tasks)
    await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [item] = await worker.claim()
    await worker.end(item, Succeeded(json_of(size)))
    assert await read_results(connection, [item.task_id]) == {item.task_id: json_of(size)}
    [row] = await fetch(
        connection, "select octet_length(result) as bytes from mainspring.task where id = $1",
        item.task_id,
    )  # fmt: skip
    assert row["bytes"] == (0 if size > 1024 else size)


async def test_a_run_without_parameters_has_none(connection: Connection) -> None:
    spec = dag_of()
    run_id = await start_dag(connection, spec)
    [item] = await (await BareWorker.join(connection, spec)).claim()
    assert item.parameters is None
    assert await read_parameters(connection, [run_id]) == {}


async def test_the_results_of_many_tasks_are_read_at_once(connection: Connection) -> None:
    spec = dag_of(tasks=50)
    await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    items = await worker.claim()
    results = {item.task_id: msgspec.json.encode(["x" * 100] * item.node) for item in items}
    await worker.end_all([(item, Succeeded(results[item.task_id])) for item in items])
    assert await read_results(connection, sorted(results)) == results


async def test_a_repeated_creation_keeps_the_first_parameters(connection: Connection) -> None:
    from mainspring.store.dags import register_dag
    from mainspring.store.ids import Ids
    from mainspring.store.runs import NewRun, create_runs

    dag = await register_dag(connection, dag_of(), "snapshot")
    run_id = await Ids().take(connection, 1)
    for size in (2000, 3000):
        run = NewRun(run_id, dag.version_id, dag.snapshot_id, parameters=json_of(size))
        await create_runs(connection, [run])
    assert await read_parameters(connection, [run_id]) == {run_id: json_of(2000)}
