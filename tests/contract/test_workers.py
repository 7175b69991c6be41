"""What workers have in hand, over HTTP."""

from __future__ import annotations

from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from tests.contract.conftest import DAILY_SALES, Api
from tests.support.factory import BareWorker, start_run


async def test_what_a_worker_has_in_hand_is_told_until_it_is_over(
    api: Api, connection: Connection
) -> None:
    dag = await register_dag(connection, DAILY_SALES, "snapshot")
    one = await BareWorker.join(connection, DAILY_SALES)
    other = await BareWorker.join(connection, DAILY_SALES)
    run_id = await start_run(connection, dag, 2)
    [task] = await one.claim()
    [told] = (await api.get("/workers/tasks")).json()["items"]
    assert (told["run"], told["dag"], told["task"]) == (run_id, "daily_sales", "extract")
    assert told["worker_id"] == one.id
    mine = (await api.get(f"/workers/tasks?worker={one.id}")).json()["items"]
    assert mine == [told]
    others = (await api.get(f"/workers/tasks?worker={other.id}")).json()["items"]
    assert others == []
    await one.end(task)
    assert [each["task"] for each in (await api.get("/workers/tasks")).json()["items"]] != [
        "extract"
    ]
