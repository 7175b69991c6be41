"""What workers have in hand, over HTTP."""

from __future__ import annotations

from datetime import timedelta

from mainspring.domain.roles import Role
from mainspring.store.attempts import renew_lease
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import register_dag
from tests.contract.conftest import DAILY_SALES, Api, CommandLine, far_worker
from tests.support.factory import DEFAULT_LANE, BareWorker, start_run


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


async def test_a_worker_is_drained_and_resumed_and_each_list_tells_so(
    api: Api, command_line: CommandLine, connection: Connection
) -> None:
    dag = await register_dag(connection, DAILY_SALES, "snapshot")
    worker = await BareWorker.join(connection, DAILY_SALES)
    await start_run(connection, dag, 2)
    [task] = await worker.claim()
    asked = await api.post("/workers/bare/drain", json={"note": "new disk"})
    assert asked.status_code == 200, asked.text
    told = asked.json()
    assert (told["changed"], told["drain_before"]) == (True, None)
    assert (told["worker"]["draining"], told["worker"]["running"]) == (True, {"async": 1})
    assert told["worker"]["drain"]["note"] == "new disk"
    assert await worker.claim() == []
    [line] = await command_line("worker", "list")
    assert line["drain"] == told["worker"]["drain"]
    await worker.end(task)
    resumed = await command_line("worker", "resume", str(worker.id))
    assert (resumed["changed"], resumed["worker"]["drain"]) == (True, None)
    assert await worker.claim()
    again = await api.post("/workers/bare/resume")
    assert again.json()["changed"] is False
    stopping = await command_line("worker", "drain", "bare", "--stop")
    assert stopping["worker"]["drain"]["then"] == "stop"
    unknown = await api.post("/workers/nobody/drain", json={})
    assert (unknown.status_code, "worker list" in unknown.json()["hint"]) == (404, True)


async def test_what_a_queue_gets_through_is_what_its_workers_tell_with_their_beats(
    api: Api, connection: Connection
) -> None:
    near = await BareWorker.join(connection, DAILY_SALES)
    far = await far_worker(connection)
    await renew_lease(
        connection,
        near.id,
        [],
        draining=False,
        claims_known_after=timedelta(hours=1),
        rates={DEFAULT_LANE: 2.5, DEFAULT_LANE + 8: 9.0},
    )
    beat = {"rates": {str(DEFAULT_LANE): 0.5}}
    answer = await api.post(f"/workers/{far['worker']}/beats", role=Role.WORKER, json=beat)
    assert answer.status_code == 200, answer.text
    [lane] = (await api.get("/queues")).json()["items"]
    assert (lane["queue"], lane["kind"], lane["per_second"]) == ("default", "async", 3.0)
    told = {
        each["name"]: each["per_second"] for each in (await api.get("/workers")).json()["items"]
    }
    assert told == {"bare": 11.5, "far": 0.5}
    for wrong in ({"0": 1}, {"8": -1}, {"8": 1e10}):
        answer = await api.post(
            f"/workers/{far['worker']}/beats", role=Role.WORKER, json={"rates": wrong}
        )
        assert answer.status_code == 422, answer.text


async def test_what_an_attempt_used_is_told_with_its_end_and_shown(api: Api) -> None:
    far = await far_worker(api.connection)
    [held] = (await api.get("/workers/tasks")).json()["items"]
    [task] = await fetch(api.connection, "select id, term from mainspring.task where run_id = id")
    end = {
        "task": task["id"],
        "term": task["term"],
        "outcome": {"type": "Succeeded", "result": "bnVsbA=="},
        "use": {"cpu_seconds": 1.5, "peak_bytes": 1 << 30},
    }
    for _ in range(2):
        answer = await api.post(
            f"/workers/{far['worker']}/ends", role=Role.WORKER, json={"ends": [end]}
        )
        assert answer.status_code == 200, answer.text
    while not await fetch(api.connection, "select 1 from mainspring.attempt_use"):
        pass
    told = await api.get(f"/runs/{held['run']}/tasks/{held['task']}/attempts")
    [attempt] = told.json()["items"]
    assert (attempt["cpu_seconds"], attempt["peak_bytes"]) == (1.5, 1 << 30)
