"""The client: lost connections make no second run."""

from __future__ import annotations

import asyncio
from datetime import datetime

import asyncpg
import pytest

from mainspring.client import Client, creation
from mainspring.domain.errors import InputError, NotFoundError
from mainspring.domain.states import RunState
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import register_dag
from mainspring.store.runs import create_runs
from mainspring.store.wakeups import READY, STOP
from tests.support.factory import BareWorker, dag_of, start_dag


async def test_a_trigger_whose_answer_was_lost_is_repeated_with_its_id(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await register_dag(connection, dag_of(), "snapshot")
    asked: list[int] = []

    async def losing(given: Connection, *args: object, **kwargs: object) -> object:
        created = await create_runs(given, *args, **kwargs)  # type: ignore[arg-type]
        asked.append(created.ids[0])
        if len(asked) == 1:
            raise ConnectionResetError("cut after the commit")
        return created

    monkeypatch.setattr(creation, "create_runs", losing)
    async with Client(database_url) as client:
        run_id = await client.trigger("sample", key="k")
    assert set(asked) == {run_id}
    assert len(await fetch(connection, "select id from mainspring.run")) == 1


async def test_a_cut_connection_is_made_again(database_url: str, connection: Connection) -> None:
    run_id = await start_dag(connection, dag_of())
    async with Client(database_url) as client:
        waiting = asyncio.create_task(client.wait(run_id))
        await asyncio.sleep(0.2)
        await fetch(
            connection,
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'mainspring client'",
        )
        await client.cancel(run_id)
        assert (await waiting).state is RunState.CANCELLED


async def test_wake_ups_come_after_the_commit(database_url: str, connection: Connection) -> None:
    await register_dag(connection, dag_of(), "snapshot")
    heard: asyncio.Queue[tuple[str, object]] = asyncio.Queue()

    def listener(_c: object, _pid: int, channel: str, payload: object) -> None:
        heard.put_nowait((channel, payload))

    ear: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(database_url)
    await ear.add_listener(READY, listener)
    await ear.add_listener(STOP, listener)
    async with Client(database_url) as client:
        run_id = await client.trigger("sample")
        channel, payload = await asyncio.wait_for(heard.get(), 5)
        assert channel == READY
        worker = await BareWorker.join(connection, dag_of())
        claimed = await worker.claim(lane=int(str(payload)))
        assert [each.run_id for each in claimed] == [run_id]
        assert await client.cancel(run_id) == 1
        assert await asyncio.wait_for(heard.get(), 5) == (STOP, "")
    await ear.close()


async def test_callers_mistakes_are_told(database_url: str, connection: Connection) -> None:
    await register_dag(connection, dag_of(), "snapshot")
    async with Client(database_url) as client:
        with pytest.raises(NotFoundError):
            await client.trigger("nobody")
        with pytest.raises(NotFoundError):
            await client.cancel(12345)
        with pytest.raises(InputError):
            await client.trigger("sample", {"x": 1})
        with pytest.raises(InputError):
            await client.trigger("sample", run_at=datetime(2030, 1, 1))
        with pytest.raises(InputError):
            await client.trigger("sample", key="")
