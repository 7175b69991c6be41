"""The client for code without an event loop."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from mainspring import ConflictError, InputError, SyncClient, UnavailableError
from mainspring.store.connection import Connection
from mainspring.store.dead_letters import letters_of_run
from mainspring.store.runs import Deed
from tests.integration.client.asked import parameters, runs
from tests.integration.client.bakery import bake, meet
from tests.support.factory import BareWorker, dag_of, failure, start_dag, task_states


async def test_many_threads_share_one_client(database_url: str, connection: Connection) -> None:
    with SyncClient(database_url) as client, ThreadPoolExecutor(20) as threads:
        ids = list(threads.map(lambda n: client.enqueue(bake, loaves=n), range(200)))
        ids += client.enqueue_many(bake, [{"loaves": 1}] * 300)
        met = client.enqueue(meet, parameters={"run_at": "dawn"})
    assert await runs(connection) == sorted([*ids, met])
    assert (await parameters(connection, ids[7]))["loaves"] == 7


async def test_it_connects_at_its_first_use(database_url: str, connection: Connection) -> None:
    client = SyncClient(database_url)
    run_id = client.enqueue(bake, loaves=1, idempotency_key="k")
    assert client.enqueue(bake, loaves=1, idempotency_key="k") == run_id
    with pytest.raises(ConflictError):
        client.enqueue(bake, loaves=2, idempotency_key="k")
    with pytest.raises(InputError):
        client.enqueue(bake, loaves="two")
    assert client.cancel(run_id) == 0
    assert client.wait(run_id).closed
    client.close()
    client.close()
    with pytest.raises(UnavailableError, match="closed"):
        client.enqueue(bake, loaves=1)


async def test_it_marks_tasks_and_retries_dead_letters(
    database_url: str, connection: Connection
) -> None:
    spec = dag_of([(0, 1)], tasks=2)
    run_id = await start_dag(connection, spec)
    worker = await BareWorker.join(connection, spec)
    [root] = await worker.claim()
    await worker.end(root, failure())
    dead = await letters_of_run(connection, run_id)
    with SyncClient(database_url) as client:
        assert await asyncio.to_thread(client.retry, dead, Deed("me")) == ["t0", "t1"]
        marked = await asyncio.to_thread(client.mark, run_id, "t0", "succeeded", Deed("me"))
    assert marked.claimed is False
    assert await task_states(connection, run_id) == {"t0": "succeeded", "t1": "ready"}


async def test_nobody_there_is_told_at_once_and_may_come_later(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = SyncClient("postgresql://nobody@127.0.0.1:1/nothing")
    with pytest.raises(UnavailableError):
        client.enqueue(bake, loaves=1)
    client.close()


async def test_a_forked_child_connects_anew(database_url: str, connection: Connection) -> None:
    """As servers do that load the application and then fork their workers."""
    client = SyncClient(database_url)
    first = client.enqueue(bake, loaves=1)
    child = os.fork()
    if child == 0:
        try:
            for _ in range(3):
                client.enqueue(bake, loaves=2)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = await asyncio.to_thread(os.waitpid, child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    last = client.enqueue(bake, loaves=3)
    client.close()
    made = await runs(connection)
    assert len(made) == 5
    assert {first, last} <= set(made)
