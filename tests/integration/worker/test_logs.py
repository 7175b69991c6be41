"""What an attempt printed is in the database before its end is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from mainspring.domain.log_marks import Ending
from mainspring.logs.places import Places
from mainspring.logs.read import LogReader
from mainspring.store.connection import Connection, Line, connect, fetch
from mainspring.store.logs import append_log
from mainspring.worker.logs import Chunk, Logs
from tests.support.factory import BareWorker, dag_of, failure, start_dag
from tests.support.launcher import Launcher
from tests.support.team import Team


def _appending(line: Line) -> Callable[[Sequence[Chunk]], Awaitable[None]]:
    return lambda chunks: line.call(append_log, chunks)


async def test_an_end_waits_for_a_chunk_that_is_on_its_way(
    database_url: str, connection: Connection
) -> None:
    """A failure raises the term, under which a chunk that comes later would be refused."""
    await start_dag(connection, dag_of())
    worker = await BareWorker.join(connection, dag_of())
    [claimed] = await worker.claim()
    key = (claimed.task_id, claimed.term)
    line = Line(database_url, name="log")
    logs = Logs(_appending(line), hold=lambda *_: None, release=lambda *_: None)
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


async def test_many_short_logs_are_one_statement_and_a_long_one_is_many_chunks(
    database_url: str, connection: Connection
) -> None:
    spec = dag_of(tasks=50)
    run_id = await start_dag(connection, spec)
    line = Line(database_url, name="log")
    logs = Logs(_appending(line), hold=lambda *_: None, release=lambda *_: None)
    for number in range(50):
        logs.add(run_id + number, 1, b"short\n")
    long = bytes(range(256)) * 8_000
    for start in range(0, len(long), 60_000):
        logs.add(run_id, 1, long[start : start + 60_000])
    await logs.flush([(run_id + number, 1) for number in range(50)])
    [row] = await fetch(
        connection, "select count(*), count(distinct xmin::text) as statements from mainspring.log"
    )
    assert row["count"] == 50 + 7
    assert row["statements"] == 2
    chunks = await fetch(
        connection,
        "select start, content from mainspring.log where task_id = $1 order by start",
        run_id,
    )
    assert b"".join(chunk["content"] for chunk in chunks) == b"short\n" + long
    assert [chunk["start"] for chunk in chunks] == [262_144 * number for number in range(8)]
    await line.close()


async def test_a_log_is_not_held_to_be_written_before_all_of_it_is(
    database_url: str, connection: Connection
) -> None:
    """Its end must wait for the last of its chunks, not for the first."""
    run_id = await start_dag(connection, dag_of())
    line = Line(database_url, name="log")
    logs = Logs(_appending(line), hold=lambda *_: None, release=lambda *_: None)
    key = (run_id, 1)
    logs.add(*key, b"x" * 3_000_000)
    shipping = asyncio.create_task(logs.flush([key]))
    written = 0
    while not shipping.done():
        pending = logs.pending(key)
        stored = await connection.fetchval(
            "select coalesce(sum(octet_length(content)), 0) from mainspring.log"
        )
        assert stored == 3_000_000 or pending
        written = max(written, stored)
    assert written > 0
    assert not logs.pending(key)
    await line.close()


async def test_too_much_in_all_logs_together_holds_everybody_back(
    database_url: str, connection: Connection
) -> None:
    run_id = await start_dag(connection, dag_of(tasks=40))
    line = Line(database_url, name="log")
    held: set[int] = set()
    logs = Logs(
        _appending(line),
        hold=lambda task, _: held.add(task),
        release=lambda task, _: held.discard(task),
    )
    for number in range(40):
        logs.add(run_id + number, 1, b"x" * 2_000_000)
    assert held == {run_id + number for number in range(33, 40)}
    await logs.flush([(run_id + number, 1) for number in range(40)])
    assert held == set()
    assert await connection.fetchval("select sum(octet_length(content)) from mainspring.log") == (
        40 * 2_000_000
    )
    await line.close()


async def test_a_killed_worker_loses_two_seconds_of_a_log_at_most(
    database_url: str, tmp_path: Path, launcher: Launcher
) -> None:
    """What the task had written two seconds before the kill is there, and the mark is true."""
    async with Team(database_url, tmp_path, launcher) as team:
        team.write(
            "talking.py",
            """
            @task
            async def coroutine():
                await talk("coroutine")

            @task(executor="process")
            def process():
                asyncio.run(talk("process"))

            async def talk(name):
                for number in range(100_000):
                    print(number, flush=True)
                    effect(name, f"{number} {time.time()}")
                    await asyncio.sleep(0.005)

            @dag
            def talking():
                coroutine()
                process()
            """,
        )
        team.start_engine()
        worker = team.start_worker()
        await team.known("talking")
        run_id = await team.trigger("talking")

        async def spoke_for_a_while() -> bool:
            return all(len(team.effects_of(name)) > 600 for name in ("coroutine", "process"))

        await team.until(spoke_for_a_while)
        killed_at = time.time()
        worker.kill()
        worker.wait()

        async def lost() -> bool:
            rows = await team.rows("select 1 from mainspring.attempt where state = 'lost'")
            return len(rows) == 2

        await team.until(lost)
        for node, name in enumerate(("coroutine", "process")):
            said = [line.split() for line in team.effects_of(name)]
            before = [number for number, at in said if float(at) < killed_at - 2]
            reader, task_id = _reader(team, tmp_path), run_id + node
            log, *_ = [log async for log in reader.logs(task_id, task_id + 1)]
            stored = b"".join([piece async for _, piece in reader.pieces(log, 0, log.stored)])
            assert (log.mark.ending, log.mark.bytes) == (Ending.LOST, len(stored))
            numbers = stored.decode().splitlines()
            assert numbers[: len(before)] == before
            assert numbers == [str(number) for number in range(len(numbers))], "a prefix"
            assert len(before) > 100


def _reader(team: Team, home: Path) -> LogReader:
    async def ask(function: Any, *args: Any, **kwargs: Any) -> Any:
        return await function(team.connection, *args, **kwargs)

    return LogReader(ask, Places(home))
