"""A line repeats what the server did not answer, and nothing that its caller has given up."""

from __future__ import annotations

import asyncio

import pytest

from mainspring.client.link import Address, Link
from mainspring.store.connection import Connection, Line


class Work:
    """A transaction whose connection breaks while it waits for something else; then an easy one."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.begun = asyncio.Event()

    async def __call__(self, connection: Connection) -> None:
        async with connection.transaction():
            self.connections.append(connection)
            self.begun.set()
            if len(self.connections) == 1:
                await asyncio.Event().wait()


async def _is_cancelled(call: asyncio.Task[None], work: Work) -> bool:
    """Break its connection and cancel it: whether that is its end, and nothing is repeated."""
    await work.begun.wait()
    work.connections[0].terminate()
    call.cancel()
    await asyncio.wait([call])
    return call.cancelled() and len(work.connections) == 1


async def test_a_cancelled_call_ends_although_its_connection_broke(database_url: str) -> None:
    # asyncpg then complains about the connection and hides the cancellation. An engine whose duty
    # went on would do that duty without the shard, and would never stop.
    line, work = Line(database_url, name="line"), Work()
    cancelled = await _is_cancelled(asyncio.create_task(line.call(work)), work)
    await line.close()
    assert cancelled


async def test_a_cancelled_question_ends_although_its_connection_broke(database_url: str) -> None:
    link, work = Link(Address(database_url), name="link", patience_seconds=60.0), Work()
    await link.open()
    cancelled = await _is_cancelled(asyncio.create_task(link.ask(work)), work)
    await link.close()
    assert cancelled


async def test_who_was_cancelled_before_may_still_ask(database_url: str) -> None:
    line = Line(database_url, name="line")
    broken: list[Connection] = []

    async def ask(connection: Connection) -> int:
        if not broken:
            broken.append(connection)
            connection.terminate()
        answer: int = await connection.fetchval("select 1")
        return answer

    async def leave() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            answer = await line.call(ask)
        return answer

    leaving = asyncio.create_task(leave())
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert broken
    assert await line.call(ask) == 1
    await line.close()
