"""What an attempt printed is in the database before its end is."""

from __future__ import annotations

import asyncio

from mainspring.store.connection import Connection, Line, connect, fetch
from mainspring.worker.logs import Logs
from tests.support.factory import BareWorker, dag_of, failure, start_dag


async def test_an_end_waits_for_a_chunk_that_is_on_its_way(
    database_url: str, connection: Connection
) -> None:
    """A failure raises the term, under which a chunk that comes later would be refused."""
    await start_dag(connection, dag_of())
    worker = await BareWorker.join(connection, dag_of())
    [claimed] = await worker.claim()
    key = (claimed.task_id, claimed.term)
    line = Line(database_url, name="log")
    logs = Logs(line, hold=lambda *_: None, release=lambda *_: None)
    logs.add(*key, b"last words")
    blocker = await connect(database_url, name="blocker")
    reading = blocker.transaction()
    await reading.start()
    await blocker.execute("lock table mainspring.log")
    shipping = asyncio.create_task(logs.flush([key]))
    await asyncio.sleep(0)
    assert logs.pending(key), "the chunk has left the buffer and is not written"
    flushed = asyncio.create_task(logs.flush([key]))
    await reading.rollback()
    await flushed
    await worker.end(claimed, failure())
    await shipping
    [row] = await fetch(connection, "select content from mainspring.log")
    assert row["content"] == b"last words"
    assert not logs.pending(key)
    await line.close()
    await blocker.close()
