"""Strips, grid, graph and timeline: the same as the long documents tell, in few bytes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mainspring.domain.states import TaskState
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from mainspring.store.grid import arranged
from mainspring.store.history import archive_runs
from tests.contract.conftest import DAILY_SALES, Api, fail_run
from tests.support.factory import BareWorker, dag_of, start_dag, start_run


async def told_long(api: Api, run: int) -> dict[str, str]:
    tasks = (await api.get(f"/runs/{run}")).json()["tasks"]
    return {task["name"]: task["state"] for task in tasks}


async def told_short(api: Api, dag: str) -> dict[int, dict[str, str]]:
    """The states of tasks by run and name, as the grid and the graphs tell them."""
    found: dict[int, dict[str, str]] = {}
    cursor = ""
    while True:
        grid = (await api.get(f"/dags/{dag}/grid?runs=2{cursor}")).json()
        for run in grid["runs"]:
            graph = (await api.get(f"/dags/{dag}/graph?version={run['version']}")).json()
            states = [grid["states"][int(cell, 36)] for cell in run["cells"]]
            found[run["id"]] = dict(zip(graph["tasks"], states, strict=True))
        if grid["next"] is None:
            return found
        cursor = f"&cursor={grid['next']}"


async def test_the_grid_tells_every_run_as_its_document_does(api: Api, finished: int) -> None:
    failed = await fail_run(api.connection, "extract", "no")
    dag = await register_dag(api.connection, DAILY_SALES, "snapshot")
    waiting, running = [await start_run(api.connection, dag, 2) for _ in range(2)]
    worker = await BareWorker.join(api.connection, DAILY_SALES)
    assert len(await worker.claim(1)) == 1
    told = await told_short(api, "daily_sales")
    assert list(told) == [running, waiting, failed, finished]
    for run, states in told.items():
        assert states == await told_long(api, run)
    assert {state for states in told.values() for state in states.values()} == {
        *("succeeded", "failed", "upstream_failed", "waiting", "ready", "running")
    }


async def test_runs_of_history_and_of_older_versions_are_in_the_grid(
    api: Api, finished: int
) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    assert (await archive_runs(api.connection, 0, 100, later)).moved == 1
    # Numbers run against the edges here, and the names are others.
    turned = dag_of([(2, 1), (1, 0)], tasks=3, name="daily_sales")
    newer = await start_dag(api.connection, turned)
    told = await told_short(api, "daily_sales")
    assert told[finished] == {"extract": "succeeded", "load": "succeeded"}
    assert told[newer] == await told_long(api, newer)
    graph = (await api.get("/dags/daily_sales/graph")).json()
    assert graph["tasks"] == [turned.tasks[number].name for number in (2, 1, 0)]
    assert graph["after"] == [[], [0], [1]]


async def test_the_timeline_tells_when_tasks_ran(api: Api, finished: int) -> None:
    told = (await api.get(f"/runs/{finished}/timeline")).json()
    run = (await api.get(f"/runs/{finished}")).json()
    since = datetime.fromisoformat(told["since"])
    for at, task in enumerate(run["tasks"]):
        assert told["states"][int(told["cells"][at], 36)] == task["state"]
        for name, moments in (("started_at", "started"), ("finished_at", "finished")):
            expected = (datetime.fromisoformat(task[name]) - since).total_seconds()
            assert abs(told[moments][at] - expected) < 0.001


async def test_what_has_not_begun_has_no_times_in_the_timeline(api: Api) -> None:
    run = await start_dag(api.connection, DAILY_SALES)
    told = (await api.get(f"/runs/{run}/timeline")).json()
    assert told["started"] == told["finished"] == [None, None]
    [claimed] = await (await BareWorker.join(api.connection, DAILY_SALES)).claim()
    assert claimed.task_id == run
    told = (await api.get(f"/runs/{run}/timeline")).json()
    assert told["started"][0] is not None
    assert told["finished"] == [None, None]


async def test_strips_hold_the_last_runs_of_each_dag(api: Api, finished: int) -> None:
    failed = await fail_run(api.connection, "load", "no")
    await register_dag(api.connection, dag_of(name="never_ran"), "snapshot")
    strips = (await api.get("/strips?runs=1")).json()
    told = {
        strip["dag"]: [(run["id"], run["state"]) for run in strip["runs"]]
        for strip in strips["items"]
    }
    assert told == {"daily_sales": [(failed, "failed")], "never_ran": []}
    both = (await api.get("/strips?runs=5&limit=1")).json()
    assert [run["id"] for run in both["items"][0]["runs"]] == [failed, finished]
    rest = (await api.get(f"/strips?cursor={both['next']}")).json()
    assert [strip["dag"] for strip in rest["items"]] == ["never_ran"]


async def test_a_version_that_is_not_there_is_said_to_be_missing(
    api: Api, finished: int, connection: Connection
) -> None:
    assert (await api.get("/dags/daily_sales/graph?version=99")).status_code == 404
    assert (await api.get("/dags/daily_sale/grid")).status_code == 404


def test_marks_that_do_not_fit_the_order_stay_as_they_are() -> None:
    assert arranged("012", [2, 0, 1]) == "201"
    assert arranged("01", [2, 0, 1]) == "01"
    assert arranged("012", None) == "012"


def test_every_state_has_a_mark() -> None:
    assert len(TaskState) <= 36


async def test_of_a_dag_some_fields_can_be_asked_for(api: Api, finished: int) -> None:
    told = (await api.get("/dags/daily_sales?fields=name,task_count")).json()
    assert told == {"name": "daily_sales", "task_count": 2}
    assert (await api.get("/dags/daily_sales?fields=colour")).status_code == 422


async def test_a_dag_without_its_tasks_tells_the_rest_as_ever(api: Api, finished: int) -> None:
    whole = (await api.get("/dags/daily_sales")).json()
    some = (await api.get("/dags/daily_sales?fields=name,task_count,schedules")).json()
    assert some == {name: whole[name] for name in ("name", "task_count", "schedules")}
    tasks = (await api.get("/dags/daily_sales?fields=name, tasks")).json()
    assert tasks == {"name": "daily_sales", "tasks": whole["tasks"]}
    assert len(tasks["tasks"]) == whole["task_count"] > 0
