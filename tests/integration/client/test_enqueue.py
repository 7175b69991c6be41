"""Enqueueing on the client's own connection."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, date, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from mainspring import (
    Client,
    ConflictError,
    DefinitionError,
    InputError,
    NotFoundError,
    Task,
    UnavailableError,
    dag,
    task,
)
from mainspring.domain.outcomes import Succeeded
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import APP_SNAPSHOT, register_dag
from mainspring.store.wakeups import READY
from tests.integration.client.asked import count, parameters, runs
from tests.integration.client.bakery import Cake, Order, bake, day, deliver, meet, sell, take
from tests.support.factory import BareWorker, dag_of


async def test_a_task_is_a_run_of_its_implicit_dag(client: Client, connection: Connection) -> None:
    run_id = await client.enqueue(bake, loaves=3)
    assert await parameters(connection, run_id) == {"loaves": 3, "kind": "rye"}
    [row] = await fetch(
        connection,
        "select d.name, d.file, s.digest, r.trigger::text, t.state::text from mainspring.run r"
        " join mainspring.dag d on d.id = r.dag_id"
        " join mainspring.snapshot s on s.id = r.snapshot_id"
        " join mainspring.task t on t.run_id = r.id where r.id = $1",
        run_id,
    )
    assert tuple(row) == ("bake", "", APP_SNAPSHOT, "manual", "ready")


async def test_a_dag_of_the_application(client: Client, connection: Connection) -> None:
    run_id = await client.enqueue(day, loaves=4)
    tasks = await fetch(connection, "select id from mainspring.task order by id")
    assert [row["id"] for row in tasks] == [run_id, run_id + 1]
    ids = await client.enqueue_many(day, [{}] * 120)
    tasks = await fetch(connection, "select id from mainspring.task order by id")
    assert len(tasks) == 242
    assert {row["id"] for row in tasks} >= {id + node for id in ids for node in (0, 1)}


async def test_a_dag_by_its_name_is_the_current_version(
    client: Client, connection: Connection
) -> None:
    first = await register_dag(connection, dag_of(), "a" * 64, file="sample.py")
    await client.enqueue("sample")
    second = await register_dag(connection, dag_of(tasks=2), "b" * 64, file="sample.py")
    await client.enqueue_many("sample", [{}, {}])
    versions = await fetch(connection, "select version_id from mainspring.run order by id")
    assert [row["version_id"] for row in versions] == [
        first.version_id,
        second.version_id,
        second.version_id,
    ]
    with pytest.raises(NotFoundError):
        await client.enqueue("nobody")


async def test_values_are_what_json_and_python_know(client: Client, connection: Connection) -> None:
    customer = uuid.uuid4()
    run_id = await client.enqueue(
        deliver,
        order=Order(customer, 2),
        cake=Cake("sacher", date(2030, 1, 1)),
        day=date(2030, 1, 2),
    )
    assert await parameters(connection, run_id) == {
        "order": {"customer": str(customer), "loaves": 2},
        "cake": {"name": "sacher", "on": "2030-01-01"},
        "day": "2030-01-02",
    }


async def test_large_parameters(client: Client, connection: Connection) -> None:
    large = "x" * 3_000_000
    ids = await client.enqueue_many(take, [{"anything": large}] * 8)
    ids += await asyncio.gather(*(client.enqueue(take, anything=large) for _ in range(8)))
    assert await runs(connection) == sorted(ids)
    for run_id in ids:
        assert await parameters(connection, run_id) == {"anything": large}
    with pytest.raises(InputError, match="too large"):
        await client.enqueue(take, anything=large * 2)


@pytest.mark.parametrize(
    ("subject", "given", "words"),
    [
        (bake, {}, "needs the parameter `loaves`"),
        (bake, {"loaves": "three"}, "parameter `loaves`: expected `int`, got `str`"),
        (bake, {"loaves": 1, "knead": True}, "has no parameter `knead`"),
        (deliver, {"order": {"loaves": 1}}, "`customer`"),
        (take, {"anything": object()}, "cannot be written as JSON"),
        (take, {"anything": float("nan")}, "`nan`"),
        (take, {"anything": "\ud800"}, "lone surrogate"),
        (take, {"parameters": ["anything"]}, "mapping"),
        (bake, {"loaves": 1, "run_at": "tomorrow"}, "`run_at` is a datetime"),
        (bake, {"loaves": 1, "run_at": datetime(2030, 1, 1)}, "no time zone"),
        (bake, {"loaves": 1, "idempotency_key": ""}, "1 to 500"),
        (bake, {"loaves": 1, "idempotency_key": "x" * 501}, "1 to 500"),
        (bake, {"loaves": 1, "idempotency_key": "\x00"}, "NUL"),
        (bake, {"loaves": 1, "idempotency_key": "\ud800"}, "surrogate"),
        (bake, {"loaves": 1, "idempotency_key": 42}, "is text"),
        (bake, {"loaves": 1, "parameters": {"loaves": 1}}, "given twice"),
        (bake.function, {"loaves": 1}, "neither a task nor a dag"),
        (None, {}, "neither a task nor a dag"),
    ],
)
async def test_mistakes_are_told_at_once_and_leave_nothing(
    client: Client, connection: Connection, subject: Any, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        await client.enqueue(subject, **given)
    assert await runs(connection) == []
    assert await count(connection, "idempotency") == 0


async def test_one_mistake_among_many_leaves_nothing(
    client: Client, connection: Connection
) -> None:
    items: list[dict[str, Any]] = [{"loaves": number} for number in range(3000)]
    with pytest.raises(InputError, match="`loaves`"):
        await client.enqueue_many(bake, [*items, {"loaves": None}])
    with pytest.raises(InputError, match="one key for each of the 3000 runs"):
        await client.enqueue_many(bake, items, idempotency_keys=["a"])
    assert await client.enqueue_many(bake, []) == []
    assert await runs(connection) == []


async def test_parameters_named_like_options_go_into_a_mapping(
    client: Client, connection: Connection
) -> None:
    later = datetime.now(UTC) + timedelta(days=1)
    with pytest.raises(InputError, match="named like an option of `enqueue`: `run_at` and"):
        await client.enqueue(meet, run_at=later)
    plain = await client.enqueue(meet)
    run_id = await client.enqueue(meet, run_at=later, parameters={"run_at": "dusk"})
    assert await parameters(connection, plain) == {"run_at": "noon", "connection": "bus"}
    assert await parameters(connection, run_id) == {"run_at": "dusk", "connection": "bus"}
    [row] = await fetch(connection, "select due_at from mainspring.run where id = $1", run_id)
    assert row["due_at"] == later


async def test_a_later_run_is_not_ready(client: Client, connection: Connection) -> None:
    later = datetime.now(UTC) + timedelta(days=1)
    await client.enqueue(bake, loaves=1, run_at=later)
    await client.enqueue_many(bake, [{"loaves": 1}] * 2, run_at=later)
    assert await count(connection, "ready") == 0
    rows = await fetch(connection, "select due_at from mainspring.timer")
    assert [row["due_at"] for row in rows] == [later] * 3


# --- keys ----------------------------------------------------------------------------------------


async def test_a_key_makes_one_run(client: Client, connection: Connection) -> None:
    answers = await asyncio.gather(
        *(client.enqueue(bake, loaves=1, idempotency_key="welcome:42") for _ in range(50))
    )
    answers.append(await client.enqueue(bake, loaves=1, idempotency_key="welcome:42"))
    answers += await client.enqueue_many(
        bake, [{"loaves": 1}] * 2, idempotency_keys=["welcome:42"] * 2
    )
    assert await runs(connection) == [answers[0]]
    assert set(answers) == {answers[0]}


async def test_clients_with_the_same_keys_at_once(
    database_url: str, connection: Connection
) -> None:
    async with Client(database_url) as one, Client(database_url) as two:
        answers = await asyncio.gather(
            *(
                client.enqueue(bake, loaves=number, idempotency_key=f"k{number}")
                for number in range(100)
                for client in (one, two)
            )
        )
    assert answers[::2] == answers[1::2]
    assert await runs(connection) == sorted(answers[::2])


async def test_a_conflict_hits_only_its_own_caller(client: Client, connection: Connection) -> None:
    first = await client.enqueue(bake, loaves=1, idempotency_key="taken")
    answers = await asyncio.gather(
        *(client.enqueue(bake, loaves=2, idempotency_key=f"k{number}") for number in range(20)),
        client.enqueue(bake, loaves=2, idempotency_key="taken"),
        client.enqueue(sell, loaves=1, idempotency_key="taken"),
        return_exceptions=True,
    )
    *made, other, another = answers
    assert isinstance(other, ConflictError)
    assert isinstance(another, ConflictError)
    assert await runs(connection) == sorted([first, *made])  # type: ignore[type-var]


async def test_a_conflict_among_many_makes_none(client: Client, connection: Connection) -> None:
    first = await client.enqueue(bake, loaves=1, idempotency_key="k2400")
    items = [{"loaves": number} for number in range(2500)]
    with pytest.raises(ConflictError, match="k2400"):
        await client.enqueue_many(bake, items, idempotency_keys=[f"k{n}" for n in range(2500)])
    assert await runs(connection) == [first]


# --- sets ----------------------------------------------------------------------------------------


async def test_concurrent_calls_share_statements(client: Client, connection: Connection) -> None:
    await client.enqueue(bake, loaves=0)
    before = client.enqueuer.plain.statements
    ids = await asyncio.gather(*(client.enqueue(bake, loaves=n) for n in range(100)))
    assert client.enqueuer.plain.statements - before <= 3
    assert len(await runs(connection)) == 101
    for number in (0, 57, 99):
        assert (await parameters(connection, ids[number]))["loaves"] == number


async def test_a_set_that_is_refused_is_halved_until_one_is_to_blame(
    client: Client, connection: Connection
) -> None:
    await client.enqueue(bake, loaves=0)
    await connection.execute(
        "create function refuse() returns trigger language plpgsql as $$ begin"
        " if convert_from(new.parameters, 'UTF8') like '%poison%' then raise 'no'; end if;"
        " return new; end $$;"
        " create trigger refuse before insert on mainspring.run"
        " for each row execute function refuse()"
    )
    answers = await asyncio.gather(
        *(client.enqueue(bake, loaves=1, kind="poison" if n == 33 else "") for n in range(50)),
        return_exceptions=True,
    )
    assert [n for n, answer in enumerate(answers) if not isinstance(answer, int)] == [33]
    assert isinstance(answers[33], asyncpg.RaiseError)
    assert len(await runs(connection)) == 50
    await connection.execute("drop trigger refuse on mainspring.run")


async def test_a_cancelled_call_does_not_disturb_others(
    client: Client, connection: Connection
) -> None:
    await client.enqueue(bake, loaves=0)
    calls = [asyncio.create_task(client.enqueue(bake, loaves=n)) for n in range(10)]
    await asyncio.sleep(0)
    calls[3].cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(answers.pop(3), asyncio.CancelledError)
    # It had not been sent yet, so it was never made.
    assert len(await runs(connection)) == 10
    assert set(answers) < set(await runs(connection))


async def test_closing_waits_for_what_is_under_way(
    database_url: str, connection: Connection
) -> None:
    async with Client(database_url) as client:
        first = await client.enqueue(bake, loaves=0)
        calls = [asyncio.create_task(client.enqueue(bake, loaves=n)) for n in range(10)]
        await asyncio.sleep(0)
    assert sorted([first, *await asyncio.gather(*calls)]) == await runs(connection)


# --- versions ------------------------------------------------------------------------------------


async def test_a_dag_is_stored_once_by_however_many_processes(
    database_url: str, connection: Connection
) -> None:
    async with Client(database_url) as one, Client(database_url) as two:
        await asyncio.gather(
            *(client.enqueue(bake, loaves=n) for n in range(20) for client in (one, two))
        )
    assert await count(connection, "dag") == await count(connection, "version") == 1
    assert await count(connection, "snapshot") == 1


async def test_another_task_of_the_same_name_is_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.enqueue(bake, loaves=1)
    other = task(name="bake")(another)
    monkeypatch.setitem(globals(), "another", other)
    with pytest.raises(DefinitionError, match="two tasks have the name `bake`"):
        await client.enqueue(other)


def another() -> None: ...


async def test_a_task_that_no_worker_could_find_is_refused(client: Client) -> None:
    @task
    def inside() -> None: ...

    with pytest.raises(DefinitionError, match="inside a function"):
        await client.enqueue(inside)
    script: Task[..., Any] = task(another)
    script.spec = type(script.spec)("script", "__main__:script")
    with pytest.raises(DefinitionError, match="the program that is being run"):
        await client.enqueue(script)


@dag(name="weekly", schedule="@weekly")
def weekly(loaves: int = 1) -> None:
    bake(loaves)


async def test_a_dag_with_a_schedule_belongs_into_the_folder_of_dags(
    client: Client, connection: Connection
) -> None:
    with pytest.raises(DefinitionError, match="has a schedule, and no folder of dags has the dag"):
        await client.enqueue(weekly)
    assert await count(connection, "dag") == 0
    await register_dag(connection, weekly.spec, "a" * 64, file="weekly.py")
    assert await client.enqueue(weekly)


async def test_the_dags_folder_keeps_its_names(client: Client, connection: Connection) -> None:
    stored = await register_dag(connection, day.spec, "a" * 64, file="day.py")
    run_id = await client.enqueue(day)
    [row] = await fetch(connection, "select * from mainspring.run where id = $1", run_id)
    assert row["version_id"] == stored.version_id
    assert row["snapshot_id"] == stored.snapshot_id
    await register_dag(connection, dag_of(name="bake"), "a" * 64, file="bake.py")
    with pytest.raises(InputError, match=r"another dag, in `bake\.py` of the dags folder"):
        await client.enqueue(bake, loaves=1)


async def test_a_database_that_forgot_our_versions_is_not_believed(
    client: Client, connection: Connection
) -> None:
    """After a restore of an older state, an answer would be a promise that nobody keeps."""
    await client.enqueue(bake, loaves=1)
    await connection.execute(
        "truncate mainspring.node, mainspring.version, mainspring.dag, mainspring.run,"
        " mainspring.task, mainspring.ready cascade"
    )
    with pytest.raises(UnavailableError, match="no longer knows"):
        await client.enqueue(bake, loaves=1)
    run_id = await client.enqueue(bake, loaves=1)
    assert await runs(connection) == [run_id]


# --- around it -----------------------------------------------------------------------------------


async def test_workers_are_told_after_the_commit_and_not_for_each_run(
    client: Client, connection: Connection, database_url: str
) -> None:
    heard: asyncio.Queue[object] = asyncio.Queue()
    ear: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(database_url)
    await ear.add_listener(READY, lambda _c, _p, _ch, payload: heard.put_nowait(payload))
    run_id = await client.enqueue(bake, loaves=1)
    lane = int(str(await heard.get()))
    worker = await BareWorker.join(connection, bake.as_dag())
    [claimed] = await worker.claim(lane=lane)
    assert claimed.run_id == run_id
    await worker.end(claimed, Succeeded())
    while not heard.empty():
        heard.get_nowait()
    for _ in range(100):
        await client.enqueue(bake, loaves=1)
    await client.enqueue_many(sell, [{"loaves": 1}])
    told: set[str] = set()
    notices = 0
    while len(told) < 2:
        told |= set(str(await heard.get()).split(","))
        notices += 1
    assert notices < 60
    await ear.close()


async def test_the_database_is_found_by_itself(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", database_url)
    async with Client(created_by="shop") as client:
        await client.enqueue(bake, loaves=1)
        await client.enqueue_many(bake, [{"loaves": 1}])
    rows = await fetch(connection, "select created_by from mainspring.run")
    assert [row["created_by"] for row in rows] == ["shop", "shop"]
    monkeypatch.delenv("MAINSPRING_DATABASE_URL")
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path / "nothing"))
    with pytest.raises(UnavailableError, match="nothing is running"):
        async with Client():
            pass


async def test_a_closed_client_says_so_also_to_those_who_wait(
    database_url: str, connection: Connection
) -> None:
    async with Client(database_url) as client:
        async with connection.transaction():
            await client.enqueue(bake, loaves=1, idempotency_key="k", connection=connection)
            waiting = asyncio.create_task(client.enqueue(bake, loaves=1, idempotency_key="k"))
            await client.__aexit__(None, None, None)
            with pytest.raises(UnavailableError, match="closed"):
                await waiting
        with pytest.raises(UnavailableError, match="closed"):
            await client.enqueue(bake, loaves=1)
