"""Lists of runs read what they look at, however long history is."""

from __future__ import annotations

import pytest

from mainspring.store.connection import Connection
from tests.plans.plan import Plan, explain

NO_ID = 2**62
RUNS = 60_000
SEEN = 200


@pytest.fixture(params=["auto", "force_generic_plan"])
async def long(plain_connection: Connection, request: pytest.FixtureRequest) -> Connection:
    """History in two periods, of which one run in 500 failed."""
    await plain_connection.execute(f"set local plan_cache_mode = {request.param}")
    await plain_connection.execute(
        "insert into mainspring.run_history (id, created_at, due_at, started_at, finished_at,"
        " tenant_id, dag_id, version_id, snapshot_id, trigger, state, tasks, failed_tasks)"
        " select 5000000 + n * 100, now(), now(), now(), now(), 1, 1 + n % 20, 1, 1, 'manual',"
        " (case when n % 500 = 0 then 'failed' else 'succeeded' end)::mainspring.run_state, 1, 0"
        f" from generate_series(1, {RUNS}) as n"
    )
    await plain_connection.execute("analyze mainspring.run_history")
    return plain_connection


def most_read(plan: Plan) -> float:
    return max(
        node.handled
        for node in plan.root.walk()
        if node.relation is not None and node.relation.startswith("run_history")
    )


@pytest.mark.parametrize("dags", [None, [3], [3, 4, 5]])
async def test_history_is_read_as_far_as_it_is_looked_at(
    long: Connection, dags: list[int] | None
) -> None:
    asked = (1, dags, NO_ID, SEEN, "succeeded", 50, None, None, None, "all", None)
    plan = await explain(long, "page_runs", *asked, run=True)
    assert 50 <= most_read(plan) <= SEEN * len(dags or [0]), plan.text


@pytest.mark.parametrize("dags", [None, [3]])
async def test_rare_states_are_found_without_looking_at_the_others(
    long: Connection, dags: list[int] | None
) -> None:
    asked = (1, dags, NO_ID, SEEN, "failed", 50, None, None, None, "rare", dags)
    plan = await explain(long, "page_runs", *asked, run=True)
    assert most_read(plan) <= SEEN, plan.text
    assert any("tenant_id_state_id" in index for index in plan.indexes()), plan.text


async def test_open_states_read_no_history(long: Connection) -> None:
    asked = (1, None, NO_ID, SEEN, "queued", 50, None, None, None, "open", None)
    plan = await explain(long, "page_runs", *asked, run=True)
    # What is left is the lookup of each line that is shown, by its key.
    assert most_read(plan) <= 50, plan.text


async def test_a_probe_reads_one_run_for_each_place(long: Connection) -> None:
    places = list(range(1, 12_000_000, 200_000))
    plan = await explain(long, "probe_runs", places, run=True)
    assert most_read(plan) <= len(places), plan.text
    plan = await explain(long, "read_run_bounds", run=True)
    assert most_read(plan) <= 1, plan.text
