"""Long logs become objects after their attempt's end, and read the same as before."""

from __future__ import annotations

import gzip
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mainspring.config import Config
from mainspring.engine.move_logs import MoveLogs
from mainspring.logs.move import move_log, remove_objects
from mainspring.logs.places import Places
from mainspring.logs.read import LogReader
from mainspring.store.connection import Connection, Line
from mainspring.store.history import archive_runs, forget_runs
from mainspring.store.logs import (
    LONG_BYTES,
    LogLine,
    adopt_log,
    append_log,
    find_long_logs,
    intend_object,
    list_logs,
    take_removals,
)
from mainspring.store.reading import read_clock
from tests.integration.logs.conftest import Shelf
from tests.support.factory import BareWorker, dag_of, failure, start_dag

SPEC = dag_of()


@pytest.fixture
async def line(database_url: str) -> AsyncIterator[Line]:
    line = Line(database_url, name="test mover")
    yield line
    await line.close()


def words(size: int, seed: int = 1) -> bytes:
    """Lines that compress as logs do, and differ from one another."""
    dice = random.Random(seed)
    lines = []
    while size > 0:
        text = b"%012x INFO step %d done\n" % (dice.getrandbits(48), dice.randrange(1000))
        lines.append(text[:size])
        size -= len(text)
    return b"".join(lines)


async def printed(
    connection: Connection, content: bytes, *, chunk_bytes: int = 200_000, ends: bool = True
) -> tuple[int, BareWorker]:
    """A run whose only attempt has written this."""
    run_id = await start_dag(connection, SPEC)
    worker = await BareWorker.join(connection, SPEC)
    [claimed] = await worker.claim()
    for start in range(0, len(content), chunk_bytes):
        await append_log(connection, [(run_id, 1, start, content[start : start + chunk_bytes])])
    if ends:
        await worker.end(claimed)
    return run_id, worker


def mover(line: Line, shelf: Shelf, tmp_path: Path) -> MoveLogs:
    config = Config(home=tmp_path, database_url="not asked", objects_url=shelf.url)
    return MoveLogs(config, line, settled_seconds=0.0)


async def log_of(line: Line, run_id: int) -> LogLine:
    [log] = await line.call(list_logs, run_id, run_id + 1)
    return log


async def read(line: Line, tmp_path: Path, log: LogLine, start: int, end: int) -> bytes:
    reader = LogReader(line.call, Places(tmp_path))
    found = [(at, piece) async for at, piece in reader.pieces(log, start, end)]
    at = start
    for begin, piece in found:
        assert begin == at, "pieces follow one another"
        at += len(piece)
    return b"".join(piece for _, piece in found)


async def test_a_long_log_moves_and_reads_the_same(
    connection: Connection, line: Line, shelf: Shelf, tmp_path: Path
) -> None:
    content = words(5_300_000)
    run_id, _ = await printed(connection, content)
    before = await log_of(line, run_id)
    await mover(line, shelf, tmp_path).step()
    after = await log_of(line, run_id)
    assert before.moved is None
    assert after.moved is not None
    assert (after.mark, after.stored) == (before.mark, len(content))
    assert await connection.fetchval("select count(*) from mainspring.log") == 0
    assert shelf.keys() == [after.moved.key]
    dice = random.Random(2)
    edges = [0, 1, 1 << 20, (1 << 20) + 1, 5_299_999, 5_300_000, 6_000_000]
    ranges = [(a, b) for a in edges for b in edges if a <= b]
    for _ in range(20):
        start, end = sorted(dice.sample(range(len(content)), 2))
        ranges.append((start, end))
    for start, end in ranges:
        # `before` was read before the move: its reader finds the log where it is now.
        for log in (before, after):
            assert await read(line, tmp_path, log, start, end) == content[start:end]


async def test_the_object_is_an_ordinary_gzip_file(
    connection: Connection, line: Line, tmp_path: Path
) -> None:
    content = words(2_500_000)
    run_id, _ = await printed(connection, content)
    folder = Shelf((tmp_path / "objects").as_uri(), folder=tmp_path / "objects")
    await mover(line, folder, tmp_path).step()
    [key] = folder.keys()
    packed = (tmp_path / "objects" / key).read_bytes()
    assert gzip.decompress(packed) == content
    assert len(packed) < len(content) / 2
    assert str(run_id) in key


async def test_short_logs_and_running_ones_stay(
    connection: Connection, line: Line, shelf: Shelf, tmp_path: Path
) -> None:
    await printed(connection, words(LONG_BYTES - 1))
    await printed(connection, words(LONG_BYTES * 3), ends=False)
    await mover(line, shelf, tmp_path).step()
    assert shelf.keys() == []
    assert await connection.fetchval("select sum(octet_length(content)) from mainspring.log") == (
        LONG_BYTES * 4 - 1
    )


async def test_a_log_that_was_cut_says_so_afterwards(
    connection: Connection, line: Line, shelf: Shelf, tmp_path: Path
) -> None:
    content = words(LONG_BYTES * 2)
    run_id = await start_dag(connection, SPEC)
    worker = await BareWorker.join(connection, SPEC)
    [claimed] = await worker.claim()
    await append_log(connection, [(run_id, 1, 0, content), (run_id, 1, len(content), b"")])
    await worker.end(claimed, failure(retry=False))
    await mover(line, shelf, tmp_path).step()
    log = await log_of(line, run_id)
    assert log.moved is not None
    assert str(log.mark) == f"lost after byte {len(content):,}"


async def test_a_log_with_a_hole_stays_with_its_hole(
    connection: Connection, line: Line, shelf: Shelf, tmp_path: Path
) -> None:
    content = words(LONG_BYTES * 2)
    run_id = await start_dag(connection, SPEC)
    worker = await BareWorker.join(connection, SPEC)
    [claimed] = await worker.claim()
    await append_log(
        connection, [(run_id, 1, 0, content), (run_id, 1, len(content) + 10, b"after the hole\n")]
    )
    await worker.end(claimed)
    for _ in range(2):
        await mover(line, shelf, tmp_path).step()
    log = await log_of(line, run_id)
    assert log.moved is None
    assert str(log.mark) == f"lost after byte {len(content):,}"
    assert shelf.keys() == []
    assert not await line.call(find_long_logs, 10, settled_seconds=0.0)


async def test_an_object_that_was_begun_and_left_is_removed(
    connection: Connection, line: Line, shelf: Shelf, tmp_path: Path
) -> None:
    """As after a crash between the put and the statement that takes the object into use."""
    content = words(LONG_BYTES * 2)
    run_id, _ = await printed(connection, content)
    places = Places(tmp_path)
    store_id = await line.call(intend_object, shelf.url, "logs/0/left-behind.gz")
    await places.store(shelf.url).put("logs/0/left-behind.gz", _pieces(b"half"))
    step = mover(line, shelf, tmp_path)
    await step.step()
    assert len(shelf.keys()) == 2, "its day is not over"
    await connection.execute("update mainspring.object_removal set due_at = now()")
    await step.step()
    log = await log_of(line, run_id)
    assert log.moved is not None
    assert shelf.keys() == [log.moved.key]
    assert await read(line, tmp_path, log, 0, len(content)) == content
    assert not await connection.fetchval("select count(*) from mainspring.object_removal")
    assert store_id > 0


async def test_an_object_that_is_being_removed_cannot_be_taken_into_use(
    connection: Connection, line: Line, shelf: Shelf, tmp_path: Path
) -> None:
    """An upload that took longer than its day: the log stays, and moves at the next step."""
    content = words(LONG_BYTES * 2)
    run_id, _ = await printed(connection, content)
    [log] = await line.call(find_long_logs, 10, settled_seconds=0.0)
    store_id = await line.call(intend_object, shelf.url, "logs/0/late.gz", seconds=0.0)
    assert [removal.key for removal in await line.call(take_removals, 10)] == ["logs/0/late.gz"]
    assert not await line.call(adopt_log, log, store_id, "logs/0/late.gz", [1])
    assert await read(line, tmp_path, await log_of(line, run_id), 0, 1 << 30) == content
    await mover(line, shelf, tmp_path).step()
    assert await read(line, tmp_path, await log_of(line, run_id), 0, 1 << 30) == content


async def test_two_engines_that_move_one_log_leave_one_object(
    connection: Connection, line: Line, shelf: Shelf, tmp_path: Path
) -> None:
    content = words(LONG_BYTES * 2)
    run_id, _ = await printed(connection, content)
    [found] = await line.call(find_long_logs, 10, settled_seconds=0.0)
    places = Places(tmp_path)
    assert await move_log(line.call, places, shelf.url, found)
    # The other found the log before, and read its chunks before they went.
    store_id = await line.call(intend_object, shelf.url, "logs/0/second.gz")
    await places.store(shelf.url).put("logs/0/second.gz", _pieces(b"the same"))
    assert not await line.call(adopt_log, found, store_id, "logs/0/second.gz", [8])
    await connection.execute("update mainspring.object_removal set due_at = now()")
    assert await remove_objects(line.call, places) == 1
    assert len(shelf.keys()) == 1
    assert await read(line, tmp_path, await log_of(line, run_id), 0, 1 << 30) == content


async def test_pruning_a_run_removes_its_objects(
    connection: Connection, line: Line, shelf: Shelf, tmp_path: Path
) -> None:
    gone, _ = await printed(connection, words(LONG_BYTES * 2))
    kept, _ = await printed(connection, words(LONG_BYTES * 2))
    step = mover(line, shelf, tmp_path)
    await step.step()
    assert len(shelf.keys()) == 2
    later = await read_clock(connection) + timedelta(days=1)
    await archive_runs(connection, 0, 100, later)
    await connection.execute(
        "update mainspring.run_history set finished_at = 'epoch' where id = $1", gone
    )
    assert await forget_runs(connection, datetime(1980, 1, 1, tzinfo=UTC), 100) == 1
    await step.step()
    left = (await log_of(line, kept)).moved
    assert left is not None
    assert shelf.keys() == [left.key]


async def test_without_a_store_logs_stay_and_it_is_said_once(
    connection: Connection, line: Line, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = words(LONG_BYTES * 2)
    run_id, _ = await printed(connection, content)
    (tmp_path / "file").write_text("in the way")
    blocked = Shelf((tmp_path / "file" / "objects").as_uri(), folder=tmp_path / "objects")
    step = mover(line, blocked, tmp_path)
    for _ in range(3):
        assert not await step.step()
    # On whichever stream: a test that ran a command has set up the logs of this process.
    assert "".join(capsys.readouterr()).count("logs stay in the database for now") == 1
    assert await read(line, tmp_path, await log_of(line, run_id), 0, 1 << 30) == content
    (tmp_path / "file").unlink()
    await step.step()
    assert "logs are moved again" in "".join(capsys.readouterr())
    assert (await log_of(line, run_id)).moved is not None
    assert await read(line, tmp_path, await log_of(line, run_id), 0, 1 << 30) == content


async def test_a_period_that_goes_takes_its_objects_along(
    connection: Connection, line: Line, shelf: Shelf, tmp_path: Path
) -> None:
    from mainspring.store.history import drop_old_period

    await printed(connection, words(LONG_BYTES * 2))
    step = mover(line, shelf, tmp_path)
    await step.step()
    assert len(shelf.keys()) == 1
    later = await read_clock(connection) + timedelta(days=1)
    await archive_runs(connection, 0, 100, later)
    await connection.execute(
        "select setval('mainspring.id_block', nextval('mainspring.id_block') + 10000000)"
    )
    await connection.execute("update mainspring.run_history set finished_at = 'epoch'")
    assert await drop_old_period(connection, later)
    assert await connection.fetchval("select count(*) from mainspring.long_log") == 0
    await step.step()
    assert shelf.keys() == []


async def _pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece
