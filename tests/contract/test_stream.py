"""The stream: changes are told in order, and nobody is left with what is not so any more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from mainspring.api.stream import hub as hubs
from mainspring.api.stream import listeners
from mainspring.domain.roles import Role
from mainspring.store.connection import Connection, connect
from mainspring.store.dags import register_dag
from mainspring.store.logs import append_log
from mainspring.store.tokens import create_token, new_secret, revoke_token
from tests.contract.conftest import DAILY_SALES, Api
from tests.support.ears import Ear, Told
from tests.support.factory import BareWorker, dag_of, failure, start_run

Listen = Callable[..., Any]


@pytest.fixture
async def listen(api: Api) -> AsyncIterator[Listen]:
    """Opens streams, and closes them in the end."""
    ears: list[Ear] = []

    async def open_ear(topics: str, *, role: Role = Role.VIEWER, **options: str) -> Ear:
        ear = await Ear.open(api.base, api.tokens[role], topics, **options)
        ears.append(ear)
        return ear

    yield open_ear
    for ear in ears:
        ear.close()


async def test_a_run_is_told_as_it_goes(api: Api, listen: Listen, connection: Connection) -> None:
    dag = await register_dag(connection, DAILY_SALES, "snapshot")
    worker = await BareWorker.join(connection, DAILY_SALES)
    ear = await listen("runs")
    assert ear.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert "content-encoding" not in ear.headers
    assert (await ear.next()).name == "listening"
    run_id = await start_run(connection, dag, 2)

    async def state() -> str:
        told = await ear.next()
        assert told.name == "runs", told
        [run] = [run for run in told.data["runs"] if run["id"] == run_id]
        return str(run["state"])

    assert await state() == "queued"
    [first] = await worker.claim()
    assert await state() == "running"
    await worker.end(first)
    [second] = await worker.claim()
    await worker.end(second)
    while await state() != "succeeded":
        pass


async def test_only_runs_of_the_dag_are_told(listen: Listen, connection: Connection) -> None:
    dag = await register_dag(connection, DAILY_SALES, "snapshot")
    other = await register_dag(connection, dag_of(name="other"), "snapshot")
    ear = await listen("runs:dag=other")
    await ear.named("listening")
    await start_run(connection, dag, 2)
    run_id = await start_run(connection, other)
    told = await ear.next()
    assert [run["id"] for run in told.data["runs"]] == [run_id]


async def test_a_run_and_its_tasks_are_told_whole_and_then_what_changes(
    api: Api, listen: Listen, connection: Connection
) -> None:
    dag = await register_dag(connection, DAILY_SALES, "snapshot")
    worker = await BareWorker.join(connection, DAILY_SALES)
    run_id = await start_run(connection, dag, 2)
    ear = await listen(f"run:{run_id}")
    await ear.named("listening")
    whole = (await ear.next()).data
    assert whole["whole"]
    tasks = {task["name"]: task for task in whole["tasks"]}
    assert tasks == {task["name"]: task for task in (await read_tasks(api, run_id))}
    [first] = await worker.claim()
    told = (await ear.next()).data
    assert (told["whole"], [task["name"] for task in told["tasks"]]) == (False, ["extract"])
    await worker.end(first)
    told = (await ear.next()).data
    assert {task["name"]: task["state"] for task in told["tasks"]} == {
        "extract": "succeeded",
        "load": "ready",
    }


async def read_tasks(api: Api, run_id: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await api.get(f"/runs/{run_id}/tasks")).json()["items"]
    return items


async def test_a_log_is_followed_to_its_end_letter_by_letter(
    listen: Listen, connection: Connection
) -> None:
    spec = dag_of()
    dag = await register_dag(connection, spec, "snapshot")
    worker = await BareWorker.join(connection, spec)
    run_id = await start_run(connection, dag)
    [claimed] = await worker.claim()
    await append_log(connection, [(claimed.task_id, claimed.term, 0, b"before\n")])
    ear = await listen(f"log:{run_id}/t0/1")
    await ear.named("listening")
    written = "größer als zuvor\n".encode()
    # The chunk ends in the midst of a letter.
    await append_log(connection, [(claimed.task_id, claimed.term, 7, written[:3])])
    first = (await ear.next()).data
    assert (first["start"], first["text"], first["ending"]) == (7, "gr", "open")
    await append_log(connection, [(claimed.task_id, claimed.term, 10, written[3:])])
    text, told = first["text"], first
    while told["end"] < 7 + len(written):
        before, told = told, (await ear.next()).data
        assert told["start"] == before["end"]
        text += told["text"]
    assert text.encode() == written
    await worker.end(claimed)
    while told["ending"] == "open":
        told = (await ear.next()).data
    assert told["ending"] == "complete"


async def test_queues_workers_and_dags_are_told_whole_and_then_what_changes(
    api: Api, listen: Listen, connection: Connection
) -> None:
    dag = await register_dag(connection, DAILY_SALES, "snapshot")
    ear = await listen("queues,workers,dags")
    told = [await ear.next() for _ in range(4)]
    assert [each.name for each in told] == ["listening", "queues", "workers", "dags"]
    assert told[3].data["dags"] == (await api.get("/dags")).json()["items"]
    worker = await BareWorker.join(connection, DAILY_SALES)
    joined = await ear.named("workers")
    assert [each["id"] for each in joined.data["workers"]] == [worker.id]
    run_id = await start_run(connection, dag, 2)
    await ear.until(lambda told: told.name == "queues" and told.data["lanes"][0]["ready"] == 1)
    await ear.until(
        lambda told: told.name == "dags" and told.data["dags"][0]["last_run"]["id"] == run_id
    )
    await connection.execute("delete from mainspring.lease")
    gone = await ear.until(lambda told: told.name == "workers" and told.data["gone"] != [])
    assert gone.data["gone"] == [worker.id]


class Picture:
    """What a listener knows: a REST reading, and the events put over it."""

    def __init__(self, api: Api, ear: Ear) -> None:
        self._api = api
        self._ear = ear
        self.runs: dict[int, dict[str, Any]] = {}

    async def begin(self) -> None:
        await self._ear.named("listening")
        await self._read()

    async def _read(self) -> None:
        page = (await self._api.get("/runs?limit=500")).json()
        self.runs = {run["id"]: run for run in page["items"]}

    async def follow(self, until: Callable[[], bool]) -> None:
        while not until():
            told = await self._ear.next()
            if told.name == "resync":
                await self._read()
            elif told.name == "runs":
                self.runs.update((run["id"], run) for run in told.data["runs"])


@pytest.mark.parametrize("chunk", [1, 7, 60])
async def test_events_put_over_a_reading_give_what_is_read_in_the_end(
    api: Api, listen: Listen, connection: Connection, database_url: str, chunk: int
) -> None:
    """Attacked by a worker that creates, claims, fails and ends runs as fast as it can."""
    total = 240
    one = dag_of(name="one")
    two = dag_of([(0, 1)], tasks=2, name="two")
    dags = [await register_dag(connection, spec, "snapshot") for spec in (one, two)]
    busy = await connect(database_url, name="busy")
    worker = await BareWorker.join(busy, two)
    picture = Picture(api, await listen("runs"))
    late = Picture(api, await listen("runs"))

    async def work() -> None:
        for number in range(0, total, chunk):
            for each in range(number, min(number + chunk, total)):
                await start_run(busy, dags[each % 2], 1 + each % 2)
            while claimed := await worker.claim(chunk):
                for place, task in enumerate(claimed):
                    bad = place % 5 == 4
                    outcome = failure("no", retry=False) if bad else None
                    await worker.end(task, outcome)

    working = asyncio.create_task(work())
    await picture.begin()
    await connection.fetchval("select 1")
    await late.begin()
    await working

    def closed(known: Picture) -> Callable[[], bool]:
        return lambda: (
            len(known.runs) == total
            and all(run["finished_at"] is not None for run in known.runs.values())
        )

    truth = {run["id"]: run for run in (await api.get("/runs?limit=500")).json()["items"]}
    for known in (picture, late):
        await known.follow(closed(known))
        assert known.runs == truth
    await busy.close()


async def test_changes_between_two_looks_are_one_event_with_the_last_state(
    listen: Listen, connection: Connection, database_url: str
) -> None:
    spec = dag_of()
    dag = await register_dag(connection, spec, "snapshot")
    worker = await BareWorker.join(connection, spec)
    ear = await listen("runs")
    await ear.named("listening")
    began, events, runs = time.monotonic(), 0, 60
    for _ in range(runs):
        await start_run(connection, dag)
        for claimed in await worker.claim():
            await worker.end(claimed)
    last: dict[int, str] = {}
    while len(last) < runs or set(last.values()) != {"succeeded"}:
        told = await ear.next()
        events += 1
        ids = [run["id"] for run in told.data["runs"]]
        assert len(set(ids)) == len(ids)
        last.update((run["id"], run["state"]) for run in told.data["runs"])
    assert events <= 5 * (time.monotonic() - began) + 2


async def test_who_comes_back_gets_what_it_missed_and_nothing_twice(
    listen: Listen, connection: Connection
) -> None:
    dag = await register_dag(connection, DAILY_SALES, "snapshot")
    steady = await listen("runs")
    ear = await listen("runs")
    await ear.named("listening")
    await steady.named("listening")
    first = await start_run(connection, dag, 2)
    told = await ear.named("runs")
    assert [run["id"] for run in told.data["runs"]] == [first]
    ear.close()
    await steady.named("runs")
    second = await start_run(connection, dag, 2)
    missed = await steady.named("runs")
    again = await listen("runs", last_id=ear.last_id)
    assert (await again.next()).name == "listening"
    assert await again.next() == missed
    assert [run["id"] for run in missed.data["runs"]] == [second]


async def test_an_id_that_is_too_old_or_of_another_server_means_resync(
    api: Api, listen: Listen, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.api.stream.ring.EVENTS_MAX", 2)
    dag = await register_dag(connection, DAILY_SALES, "snapshot")
    steady = await listen("runs")
    first_id = (await steady.named("listening")).id
    last_id = first_id
    for _ in range(4):
        await start_run(connection, dag, 2)
        last_id = (await steady.named("runs")).id
    server, _, number = last_id.partition("-")
    for asked in (first_id, f"deadbeef-{number}", f"{server}-{int(number) + 1000}", "nonsense"):
        ear = await listen("runs,queues", last_id=asked)
        await ear.named("listening")
        told = [(await ear.next()) for _ in range(2 if asked == first_id else 3)]
        assert told[0].name == "resync"
        assert told[0].data["topic"] == "runs"
    # Of what is told whole, the whole follows by itself.
    ear = await listen("queues", last_id="deadbeef-1")
    assert [(await ear.next()).name for _ in range(3)] == ["listening", "resync", "queues"]
    kept = await listen("runs", last_id=last_id)
    await kept.named("listening")
    run_id = await start_run(connection, dag, 2)
    told_next = await kept.next()
    assert [run["id"] for run in told_next.data["runs"]] == [run_id]


async def test_too_many_changes_at_a_time_are_one_resync(
    listen: Listen, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.api.stream.watches.RUNS_MAX", 5)
    dag = await register_dag(connection, dag_of(), "snapshot")
    ear = await listen("runs")
    await ear.named("listening")
    async with connection.transaction():
        for _ in range(6):
            await start_run(connection, dag)
    told = await ear.next()
    assert (told.name, told.data["reason"]) == ("resync", "too much has changed")
    # After that changes are told again.
    run_id = await start_run(connection, dag)
    told = await ear.next()
    assert run_id in [run["id"] for run in told.data["runs"]]


async def test_a_stream_ends_when_its_token_is_revoked(
    api: Api, listen: Listen, connection: Connection
) -> None:
    secret = new_secret()
    token = await create_token(connection, secret, name="short", role=Role.VIEWER)
    ear = await Ear.open(api.base, secret, "runs")
    await ear.named("listening")
    other = await listen("runs")
    await other.named("listening")
    await revoke_token(connection, token.id)
    told = await ear.named("end")
    assert told.data == {"reason": "the token counts no more"}
    with pytest.raises(EOFError):
        await ear.next()
    await start_run(connection, await register_dag(connection, dag_of(), "snapshot"))
    await other.named("runs")


async def test_a_slow_listener_begins_anew_and_nobody_waits_for_it(
    api: Api, listen: Listen, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "QUEUE_BYTES_MAX", 2_000)
    spec = dag_of(tasks=50)
    dag = await register_dag(connection, spec, "snapshot")
    worker = await BareWorker.join(connection, spec)
    slow, quick = await listen("dags,runs"), await listen("runs")
    await slow.named("listening")
    await quick.named("listening")
    # It reads nothing: sockets and buffers fill up, then its queue.
    while not any(listener.behind for listener in _listeners(api)):
        await connection.execute(
            "update mainspring.dag set description = $1", "x" * 2_000_000 + str(time.monotonic())
        )
        run_id = await start_run(connection, dag, 50)
        told = await quick.named("runs")
        assert run_id in [run["id"] for run in told.data["runs"]]
    resynced = [(await slow.named("resync")).data for _ in range(2)]
    assert [each["topic"] for each in resynced] == ["dags", "runs"]
    assert all(each["reason"] == "you read too slowly" for each in resynced)
    for claimed in await worker.claim(1):
        await worker.end(claimed)
    told = await slow.named("runs")
    assert told.data["runs"]


def _listeners(api: Api) -> list[listeners.Listener]:
    return [*api.hub._topics_of]


@pytest.mark.parametrize(
    ("topics", "status", "told"),
    [
        ("", 422, "names no topic"),
        ("runs,moon", 422, "there is no topic `moon`"),
        ("run:x", 422, "there is no topic `run:x`"),
        ("log:1/a", 422, "there is no topic"),
        ("runs:dag=a/b", 422, "there is no topic"),
        ("run:123456789", 404, "there is no run 123456789"),
        ("runs:dag=none", 404, "there is no dag `none`"),
        ("log:123456789/a/1", 404, "there is no run"),
        (",".join(f"run:{number}" for number in range(33)), 422, "at most 32"),
    ],
)
async def test_what_cannot_be_listened_to_is_refused(
    listen: Listen, topics: str, status: int, told: str
) -> None:
    ear = await listen(topics)
    assert ear.status == status
    assert told in (await ear.problem())["detail"]


async def test_a_worker_may_not_listen(listen: Listen) -> None:
    assert (await listen("runs", role=Role.WORKER)).status == 403


async def test_listeners_and_topics_are_limited(
    api: Api, listen: Listen, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "LISTENERS_MAX", 2)
    monkeypatch.setattr(hubs, "TOPICS_MAX", 2)
    many = await listen("runs,queues,workers")
    assert many.status == 503
    ears = [await listen("runs") for _ in range(2)]
    for ear in ears:
        await ear.named("listening")
    refused = await listen("runs")
    assert refused.status == 503
    assert "listeners" in (await refused.problem())["detail"]
    ears[0].close()
    while (await listen("runs")).status != 200:
        pass


async def test_with_no_listeners_nothing_is_asked_and_no_connection_is_held(
    api: Api, listen: Listen, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "LINGER_SECONDS", 0.0)
    ear = await listen("runs")
    await ear.named("listening")
    held = (
        "select count(*) from pg_stat_activity"
        " where application_name = 'mainspring server stream' and datname = current_database()"
    )
    assert await connection.fetchval(held) == 1
    ear.close()
    while await connection.fetchval(held):
        pass


async def test_a_stream_ends_with_its_server_and_after_its_time(
    api: Api, listen: Listen, finished: int
) -> None:
    short = await listen("runs", more="&seconds=0")
    assert [(await short.next()).name for _ in range(2)] == ["listening", "end"]
    with pytest.raises(EOFError):
        await short.next()
    ear = await listen("runs")
    await ear.named("listening")
    api.server.stop()
    assert (await ear.named("end")).data == {"reason": "the server is stopping"}
    with pytest.raises(EOFError):
        await ear.next()


async def test_a_listener_that_takes_nothing_does_not_hold_up_the_end(
    api: Api, connection: Connection
) -> None:
    await register_dag(connection, DAILY_SALES, "snapshot")
    ear = await Ear.open(api.base, api.tokens[Role.VIEWER], "dags")
    await ear.named("listening")
    quick = await Ear.open(api.base, api.tokens[Role.VIEWER], "dags")
    while not any(listener.behind for listener in _listeners(api)):
        await connection.execute(
            "update mainspring.dag set description = $1", "x" * 2_000_000 + str(time.monotonic())
        )
        await quick.named("dags")
    api.server.stop()
    await api.running
    ear.close()
    quick.close()


async def test_a_connection_that_breaks_means_resync_and_nothing_is_lost(
    listen: Listen, connection: Connection
) -> None:
    dag = await register_dag(connection, dag_of(), "snapshot")
    ear = await listen("runs,queues")
    await ear.named("listening")
    killed = await connection.fetchval(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity"
        " where application_name = 'mainspring server stream' and datname = current_database()"
    )
    assert killed == 1
    assert (await ear.named("resync")).data["topic"] == "runs"
    run_id = await start_run(connection, dag)

    def is_told(told: Told) -> bool:
        return told.name == "runs" and told.data["runs"][0]["id"] == run_id

    await ear.until(is_told)


async def test_a_thousand_listeners_cost_little(api: Api, connection: Connection) -> None:
    """Measured in CPU seconds of this process, which is the server and all its listeners."""
    dag = await register_dag(connection, dag_of(), "snapshot")
    token = api.tokens[Role.VIEWER]
    ears: list[Ear] = []
    for _ in range(20):
        ears += await asyncio.gather(*(Ear.open(api.base, token, "runs") for _ in range(50)))
    for ear in ears:
        await ear.named("listening")
    began, changes = time.process_time(), 10
    for _ in range(changes):
        run_id = await start_run(connection, dag)
        told = await asyncio.gather(*(ear.named("runs") for ear in ears))
        assert all(each.data["runs"][0]["id"] == run_id for each in told)
        assert len({each.id for each in told}) == 1
    spent = time.process_time() - began
    print(f"{changes} events to 1,000 listeners: {spent:.2f} s of CPU")
    assert spent < changes * 1.0
    for ear in ears:
        ear.close()
