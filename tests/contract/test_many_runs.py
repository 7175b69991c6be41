"""Many runs at once: made together, acted on by number or by filter, some at a time."""

from __future__ import annotations

import pytest

from mainspring.store.dags import register_dag
from mainspring.store.run_lists import list_runs
from tests.contract.conftest import DAILY_SALES, Api, fail_run
from tests.support.factory import start_run


async def test_many_runs_are_made_together_or_not_at_all(api: Api) -> None:
    await register_dag(api.connection, DAILY_SALES, "snapshot")
    regions: list[object] = [f"r{number}" for number in range(300)]
    body = {"runs": [{"parameters": {"region": region}} for region in regions]}
    made = await api.post("/dags/daily_sales/runs/bulk", json=body)
    assert made.status_code == 201, made.text
    assert len(set(made.json()["runs"])) == 300
    last = (await api.get(f"/runs/{made.json()['runs'][-1]}")).json()
    assert (last["parameters"], last["created_by"]) == ({"region": "r299"}, "the-admin")
    body["runs"][7] = {"parameters": {"region": 7}}
    refused = await api.post("/dags/daily_sales/runs/bulk", json=body)
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith("run 8 of 300:")
    assert len(await list_runs(api.connection, limit=1000)) == 300


async def test_runs_with_keys_are_made_once(api: Api) -> None:
    await register_dag(api.connection, DAILY_SALES, "snapshot")
    body = {"runs": [{"key": "a"}, {"key": "b"}]}
    first = (await api.post("/dags/daily_sales/runs/bulk", json=body)).json()
    assert (await api.post("/dags/daily_sales/runs/bulk", json=body)).json() == first
    mixed = await api.post("/dags/daily_sales/runs/bulk", json={"runs": [{"key": "c"}, {}]})
    assert mixed.status_code == 422
    other = {"runs": [{"key": "a", "parameters": {"region": "us"}}]}
    assert (await api.post("/dags/daily_sales/runs/bulk", json=other)).status_code == 409
    nothing = await api.post("/dags/dayly_sales/runs/bulk", json={"runs": [{}]})
    assert (nothing.status_code, nothing.json()["hint"]) == (404, "did you mean `daily_sales`?")


async def test_what_cannot_be_done_to_one_is_left_and_does_not_hinder_others(
    api: Api, finished: int
) -> None:
    dag = await register_dag(api.connection, DAILY_SALES, "snapshot")
    some = [await start_run(api.connection, dag, 2) for _ in range(3)]
    told = await api.post("/runs/bulk/cancel", json={"runs": [*some, finished, 2**40]})
    assert told.json()["done"] == some
    assert [(left["run"], left["code"]) for left in told.json()["left"]] == [
        (finished, "input"),
        (2**40, "not_found"),
    ]
    states = [(await api.get(f"/runs/{run}?fields=state")).json()["state"] for run in some]
    assert states == ["cancelled"] * 3


async def test_a_filter_is_worked_off_in_pages(api: Api, finished: int) -> None:
    failed = [await fail_run(api.connection, "extract", "refused") for _ in range(5)]
    body = {"filter": {"dag": "daily_sales", "state": "failed"}, "limit": 2}
    done: list[int] = []
    while True:
        told = (await api.post("/runs/bulk/rerun", json=body)).json()
        assert told["left"] == []
        done += told["done"]
        if told["next"] is None:
            break
        body["cursor"] = told["next"]
    assert sorted(done) == sorted(failed)
    raised = await api.post("/runs/bulk/priority", json={"filter": body["filter"], "priority": 9})
    assert raised.json()["done"] == [], "none is failed any more"


@pytest.mark.parametrize("body", [{}, {"runs": [1], "filter": {"state": "failed"}}, {"filter": {}}])
async def test_it_has_to_be_said_which_runs(api: Api, body: dict[str, object]) -> None:
    assert (await api.post("/runs/bulk/cancel", json=body)).status_code == 422
