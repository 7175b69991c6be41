"""Schedules by the clients: of tasks and dags of an application, and of stored ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from mainspring import Client, ConflictError, InputError, NotFoundError, SyncClient
from mainspring.client import scheduling
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from mainspring.store.schedule_reading import list_schedules
from mainspring.store.schedules import due_schedules
from mainspring.store.settling import Settler
from tests.integration.client.asked import parameters
from tests.integration.client.bakery import Order, bake, day, deliver, sell
from tests.support.factory import dag_of

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


async def fire(connection: Connection, now: datetime) -> list[int]:
    """What is due at `now`, made into runs; all runs that there are."""
    due = await due_schedules(connection, now, list(range(17)), BEGINNING, 100)
    await Settler().settle(connection, due, now)
    rows = await connection.fetch("select id from mainspring.run order by id")
    return [row["id"] for row in rows]


async def test_a_task_of_the_application_runs_by_itself(
    client: Client, connection: Connection
) -> None:
    line = await client.schedule(
        bake, "0 4 * * *", timezone="Europe/Paris", parameters={"loaves": 80}, note="baguettes"
    )
    assert (line.name, line.dag, line.version) == ("bake", "bake", 1)
    assert line.next_fire_at is not None
    [run_id] = await fire(connection, line.next_fire_at)
    assert await parameters(connection, run_id) == {"loaves": 80, "kind": "rye"}
    row = await connection.fetchrow(
        "select trigger::text, fire_at from mainspring.run where id = $1", run_id
    )
    assert row is not None
    assert tuple(row) == ("schedule", line.next_fire_at)


async def test_what_is_so_already_is_left_alone_and_what_is_not_is_changed(
    client: Client,
) -> None:
    order = Order(UUID(int=7), 3)
    for _ in range(2):
        line = await client.schedule(
            deliver, "every 90m", parameters={"order": order, "day": date(2026, 11, 15)}
        )
        assert line.version == 1
    line = await client.schedule(deliver, "every 2h", parameters={"order": order})
    assert line.version == 2
    other = await client.schedule(day, ["0 4 * * *", "now"], name="days")
    again = await client.schedule(day, ["0 4 * * *", "now"], name="days")
    assert (other.name, other.dag, other.version, again.version) == ("days", "day", 1, 1)
    assert other.spec == again.spec
    assert [each.name for each in await client.list_schedules()] == ["days", "deliver"]
    assert [each.name for each in await client.list_schedules(dag="day")] == ["days"]


async def test_many_who_say_the_same_at_once_make_one_version(database_url: str) -> None:
    async def say() -> int:
        async with Client(database_url) as client:
            return (await client.schedule(bake, "@daily", parameters={"loaves": 1})).version

    assert set(await asyncio.gather(*(say() for _ in range(6)))) == {1}


async def test_schedules_are_made_put_paused_resumed_shown_and_removed(
    database_url: str, connection: Connection
) -> None:
    await register_dag(connection, dag_of(), "a" * 64, file="sample.py")
    async with Client(database_url, created_by="ada") as client:
        made = await client.create_schedule("s", "sample", timedelta(minutes=5), overlap="skip")
        assert made.version == 1
        with pytest.raises(ConflictError, match="there is a schedule `s` already"):
            await client.create_schedule("s", "sample", "@daily")
        put = await client.put_schedule("s", "sample", "@daily", version=1, by="bob")
        assert put.version == 2
        with pytest.raises(ConflictError, match="is at version 2, not 1"):
            await client.put_schedule("s", "sample", "@hourly", version=1)
        [paused] = await client.pause_schedule("s", note="rest")
        assert paused.changed
        whole = await client.show_schedule("s")
        assert (whole.line.paused_by, whole.line.pause_note) == ("ada", "rest")
        assert [(each.number, each.changed_by) for each in whole.versions] == [
            (2, "bob"),
            (1, "ada"),
        ]
        [resumed] = await client.resume_schedule("s")
        assert resumed.next_fire_at == put.next_fire_at
        with pytest.raises(NotFoundError):
            await client.remove_schedule("s", "t")
        assert await client.list_schedules()
        await client.remove_schedule("s")
        with pytest.raises(NotFoundError):
            await client.show_schedule("s")


BAD: dict[str, tuple[Any, dict[str, Any]]] = {
    "no time": ([], {}),
    "no such type": (3, {}),
    "an impossible date": ("0 0 30 2 *", {}),
    "an unknown option": ("@daily", {"timezon": "UTC"}),
    "an unknown zone": ("@daily", {"timezone": "Mars/Base"}),
    "an instant without zone": (datetime(2026, 11, 15), {}),
    "another policy": ("@daily", {"overlap": "some"}),
    "parameters that are none": ("@daily", {"parameters": [1]}),
    "parameters that do not fit": ("@daily", {"parameters": {"loaves": "many"}}),
    "a name that cannot be": ("@daily", {"name": "a\0b", "parameters": {"loaves": 1}}),
}


@pytest.mark.parametrize("case", BAD)
async def test_what_cannot_be_is_refused(client: Client, connection: Connection, case: str) -> None:
    when, options = BAD[case]
    with pytest.raises(InputError):
        await client.schedule(bake, when, **options)
    assert not await list_schedules(connection)


async def test_unknown_dags_are_refused(client: Client) -> None:
    with pytest.raises(NotFoundError):
        await client.schedule("nothing", "@daily")
    with pytest.raises(InputError):
        await client.schedule(3, "@daily")  # type: ignore[arg-type]


def test_the_client_without_an_event_loop_does_the_same(database_url: str) -> None:
    with SyncClient(database_url, created_by="ada") as client:
        line = client.schedule(sell, "every 1h", parameters={"loaves": 2})
        assert line.name == "sell"
        made = client.create_schedule("more", sell, "@daily", parameters={"loaves": 9})
        assert made.version == 1
        changed = {"loaves": 8}
        assert client.put_schedule("more", sell, "@daily", parameters=changed).version == 2
        assert [each.name for each in client.list_schedules(dag="sell")] == ["more", "sell"]
        assert [each.changed for each in client.pause_schedule("more", "sell")] == [True, True]
        assert client.show_schedule("more").line.paused_by == "ada"
        client.resume_schedule("more", "sell")
        client.remove_schedule("more", "sell")
        assert client.list_schedules() == []


@pytest.mark.fault
@pytest.mark.parametrize("what", ["create_schedule", "put_schedule", "_change_all"])
async def test_a_change_whose_answer_is_lost_is_made_once(
    client: Client, connection: Connection, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    await client.create_schedule("old", sell, "@daily", parameters={"loaves": 1})
    real: Callable[..., Awaitable[Any]] = getattr(scheduling, what)
    asked = 0

    async def losing(*args: Any, **kwargs: Any) -> Any:
        nonlocal asked
        asked += 1
        answer = await real(*args, **kwargs)
        if asked == 1:
            raise asyncpg.ConnectionDoesNotExistError("the connection was lost")
        return answer

    monkeypatch.setattr(scheduling, what, losing)
    changed = {"loaves": 2}
    if what == "create_schedule":
        made = await client.create_schedule("new", sell, "@daily", parameters=changed)
        assert made.version == 1
    elif what == "put_schedule":
        put = await client.put_schedule("old", sell, "@daily", version=1, parameters=changed)
        assert put.version == 2
    else:
        [removed] = await client.remove_schedule("old")
        assert not removed.changed
    assert asked == 2
    versions = await connection.fetchval("select count(*) from mainspring.schedule_version")
    assert versions == (1 if what == "_change_all" else 2)
