"""Connections that break while runs are enqueued: each run is made once."""

from __future__ import annotations

import asyncio

import pytest

from mainspring import Client
from mainspring.client import creation
from mainspring.store.connection import Connection, fetch
from mainspring.store.history import archive_runs
from mainspring.store.runs import create_runs
from tests.integration.client.asked import runs
from tests.integration.client.bakery import bake
from tests.support.factory import BareWorker

pytestmark = pytest.mark.fault


async def cut_all(connection: Connection) -> int:
    rows = await fetch(
        connection,
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where application_name like 'mainspring client%' and datname = current_database()",
    )
    return len(rows)


async def test_one_run_each_however_often_the_connections_are_cut(
    database_url: str, connection: Connection
) -> None:
    cuts = 0

    async def cut_now_and_then() -> None:
        nonlocal cuts
        pause = 0.03
        while True:
            # Rarer and rarer, so that on a slow machine the largest set comes to its end, too.
            await asyncio.sleep(pause)
            cuts += await cut_all(connection)
            pause *= 1.1

    async def one_after_the_other(client: Client, name: str) -> list[int]:
        return [await client.enqueue(bake, loaves=n, kind=name) for n in range(150)]

    async def with_keys(client: Client, name: str) -> list[int]:
        return [
            await client.enqueue(bake, loaves=n, kind=name, idempotency_key=f"{name} {n}")
            for n in range(150)
        ]

    async def sets(client: Client, name: str) -> list[int]:
        ids = []
        for n in range(5):
            # More than one statement: cut in the middle, none of it may remain.
            items = [{"loaves": n, "kind": name}] * 1200
            ids += await client.enqueue_many(bake, items)
        return ids

    async with Client(database_url, patience_seconds=600) as client:
        cutting = asyncio.create_task(cut_now_and_then())
        answers = await asyncio.gather(
            one_after_the_other(client, "a"),
            one_after_the_other(client, "b"),
            with_keys(client, "c"),
            with_keys(client, "d"),
            sets(client, "e"),
        )
        cutting.cancel()
    ids = [run_id for answer in answers for run_id in answer]
    assert len(ids) == len(set(ids)) == 600 + 5 * 1200
    assert await runs(connection) == sorted(ids)
    assert cuts > 20


@pytest.mark.parametrize("key", [None, "k"])
async def test_a_commit_whose_answer_was_lost_is_asked_again(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    asked: list[int] = []

    async def losing(given: Connection, *args: object, **kwargs: object) -> object:
        created = await create_runs(given, *args, **kwargs)  # type: ignore[arg-type]
        asked.append(created.ids[0])
        if len(asked) == 1:
            given.terminate()
            raise ConnectionResetError("cut after the commit")
        return created

    monkeypatch.setattr(creation, "create_runs", losing)
    async with Client(database_url) as client:
        run_id = await client.enqueue(bake, loaves=1, idempotency_key=key)
    assert await runs(connection) == [run_id]


@pytest.mark.parametrize("key", [None, "k"])
async def test_a_run_that_is_history_by_then_is_not_made_again(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    worker = await BareWorker.join(connection, bake.as_dag())

    async def losing(given: Connection, *args: object, **kwargs: object) -> object:
        monkeypatch.setattr(creation, "create_runs", create_runs)
        created = await create_runs(given, *args, **kwargs)  # type: ignore[arg-type]
        # Somebody runs it and it leaves the hot tables, all before we ask again.
        [claimed] = await worker.claim(lane=next(iter(created.lanes)))
        await worker.end(claimed)
        [now] = await fetch(connection, "select clock_timestamp() + interval '1 day' as later")
        assert (await archive_runs(connection, 0, 100, now["later"])).moved == 1
        raise ConnectionResetError("cut after the commit")

    monkeypatch.setattr(creation, "create_runs", losing)
    async with Client(database_url) as client:
        run_id = await client.enqueue(bake, loaves=1, idempotency_key=key)
    assert await runs(connection) == []
    [row] = await fetch(connection, "select id from mainspring.run_history")
    assert row["id"] == run_id
