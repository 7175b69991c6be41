"""What people look at is bounded, however much there is: one page, one run, one queue."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mainspring.store.connection import Connection
from tests.plans.plan import explain
from tests.support.factory import DEFAULT_LANE

NO_ID = 2**62


@pytest.mark.parametrize("where", ["all", "open", "rare"])
@pytest.mark.parametrize("name", [None, "one"])
async def test_a_page_of_runs_reads_as_many_runs_as_it_looks_at(
    plain_connection: Connection, name: str | None, where: str
) -> None:
    dag_id = name and await plain_connection.fetchval(
        "select id from mainspring.dag where name = $1", name
    )
    state = {"all": None, "open": "queued", "rare": "failed"}[where]
    asked = (1, dag_id and [dag_id], NO_ID, 200, state, 50, None, None, None, where, None)
    plan = await explain(plain_connection, "page_runs", *asked, run=True)
    assert not plan.read_whole() & {"run", "task"}, plan.text
    read = [node.handled for node in plan.cte("seen").walk() if node.relation == "run"]
    # By the key it may pass some newer runs of other dags.
    assert 200 <= max(read) < 1000, plan.text


async def test_a_run_and_its_tasks_are_found_by_key(plain_connection: Connection) -> None:
    run_id = await plain_connection.fetchval("select max(id) from mainspring.run")
    plan = await explain(plain_connection, "read_run", 1, run_id, run=True)
    assert not plan.read_whole() & {"run", "task"}, plan.text
    plan = await explain(plain_connection, "page_tasks", run_id, 4, None, 100, 1000, run=True)
    assert not plan.read_whole() & {"run", "task"}, plan.text
    assert [node.handled for node in plan.root.walk() if node.index == "task_pkey"] == [4]


async def test_the_last_run_of_each_dag_costs_one_look_per_dag(
    plain_connection: Connection,
) -> None:
    plan = await explain(plain_connection, "page_dags", 1, "", 100, None, [], run=True)
    assert not plan.read_whole() & {"run", "task"}, plan.text
    dags = await plain_connection.fetchval("select count(*) from mainspring.dag")
    read = [node.handled for node in plan.root.walk() if node.relation == "run"]
    assert max(read) <= dags, plan.text


async def test_a_long_queue_is_counted_up_to_a_limit(plain_connection: Connection) -> None:
    plan = await explain(plain_connection, "measure_lanes", [DEFAULT_LANE], 50, run=True)
    read = [node.handled for node in plan.root.walk() if node.relation == "ready"]
    assert max(read) <= 50, plan.text


async def test_reruns_of_a_run_are_found_by_index(plain_connection: Connection) -> None:
    run_id = await plain_connection.fetchval("select max(id) from mainspring.run")
    plan = await explain(plain_connection, "list_reruns", run_id, 100, run=True)
    assert not plan.read_whole() & {"run", "run_history_1"}, plan.text


async def test_a_grid_reads_the_tasks_of_its_runs_and_no_others(
    plain_connection: Connection,
) -> None:
    dag_id = await plain_connection.fetchval("select id from mainspring.dag where name = 'diamond'")
    asked = (1, dag_id, NO_ID, 25, ["waiting", "ready", "running", "succeeded"])
    plan = await explain(plain_connection, "page_grid", *asked, run=True)
    assert not plan.read_whole() & {"run", "task", "task_history_1"}, plan.text
    read = [node.handled for node in plan.cte("seen").walk() if node.relation == "run"]
    assert max(read) < 1000, plan.text


async def test_a_timeline_reads_the_tasks_of_its_run_and_no_others(
    plain_connection: Connection,
) -> None:
    run_id = await plain_connection.fetchval("select max(id) from mainspring.run")
    asked = (run_id, 4, datetime.now(UTC))
    plan = await explain(plain_connection, "read_timeline", *asked, run=True)
    assert not plan.read_whole() & {"task", "task_history_1", "ready"}, plan.text


async def test_strips_cost_a_look_for_each_run_that_they_show(
    plain_connection: Connection,
) -> None:
    plan = await explain(plain_connection, "page_strips", 1, "", 100, 14, run=True)
    assert not plan.read_whole() & {"run", "task"}, plan.text
