"""`mainspring run logs`."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.config import Config
from mainspring.domain.outcomes import Error, Lost
from mainspring.domain.specs import RetrySpec
from mainspring.engine.move_logs import MoveLogs
from mainspring.store.connection import Connection, Line, fetch
from mainspring.store.history import archive_runs
from mainspring.store.logs import append_log
from mainspring.store.reading import read_clock
from mainspring.store.statements import statement
from tests.integration.cli.conftest import Command
from tests.support.factory import BareWorker, dag_of, failure, start_dag

BOTH_ROADS = True

PAIR = dag_of(tasks=2, retry=RetrySpec(attempts=2, first_seconds=0.001))


async def test_logs_of_a_run_are_prefixed_and_of_a_task_are_not(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, PAIR)
    await append_log(
        connection,
        [(run_id, 1, 0, b"one\n"), (run_id + 1, 1, 0, b"two\xff\x00"), (run_id, 1, 4, b"!")],
    )
    assert (await command("run", "logs", run_id)).out == "t0 │ one\nt0 │ !\nt1 │ two�␀\n"
    assert (await command("run", "logs", run_id, "t0")).out == "one\n!"
    logs = (await command("run", "logs", run_id, "--json")).json
    assert [(log["task"], log["text"], log["log"], log["bytes"]) for log in logs] == [
        ("t0", "one\n!", "open", 5),
        ("t1", "two�\x00", "open", 5),
    ]


async def test_attempts_are_told_apart(connection: Connection, command: Command) -> None:
    run_id = await start_dag(connection, PAIR)
    worker = await BareWorker.join(connection, PAIR)
    claimed = (await worker.claim(1))[0]
    await append_log(connection, [(run_id, 1, 0, b"first\n")])
    await worker.end(claimed, failure())
    await asyncio.sleep(0.01)
    await fetch(connection, statement("wake_backoff"), None, 10)
    await append_log(connection, [(run_id, 2, 0, b"second\n")])
    assert (await command("run", "logs", run_id, "t0")).out == "first\nsecond\n"
    assert (await command("run", "logs", run_id, "t0", "--attempt", 1)).out == "first\n"
    assert (await command("run", "logs", run_id, "t0", "--attempt", 2)).out == "second\n"
    assert (await command("run", "logs", run_id, "t0", "--term", 2)).out == "second\n"
    answer = await command("run", "logs", run_id, "t0", "--attempt", 3)
    assert answer.code == 2
    assert "its attempts: 1 (term 1), 2 (term 2)" in answer.err
    assert (await command("run", "logs", run_id, "t0", "--term", 3)).code == 2
    assert (await command("run", "logs", run_id, "--attempt", 1)).code == 2


async def test_following_goes_on_until_the_run_has_ended(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, PAIR)
    worker = await BareWorker.join(connection, PAIR)
    claimed = await worker.claim()
    await append_log(connection, [(run_id, 1, 0, b"early\n")])
    following = asyncio.create_task(command("run", "logs", run_id, "-f"))
    await asyncio.sleep(0.3)
    await append_log(connection, [(run_id + 1, 1, 0, b"late\n")])
    for each in claimed:
        await worker.end(each)
    answer = await following
    assert answer.code == 0
    assert answer.out == "t0 │ early\nt1 │ late\n"


async def test_many_chunks_come_in_order(connection: Connection, command: Command) -> None:
    run_id = await start_dag(connection, dag_of())
    chunks = [(run_id, 1, 7 * number, b"%06d\n" % number) for number in range(1000)]
    await append_log(connection, chunks)
    answer = await command("run", "logs", run_id)
    assert answer.out == "".join(f"{number:06}\n" for number in range(1000))


async def test_no_output_and_unknown_tasks_are_told(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, PAIR)
    answer = await command("run", "logs", run_id)
    assert (answer.code, answer.out) == (0, "")
    assert "nothing was written" in answer.err
    answer = await command("run", "logs", run_id, "t9")
    assert answer.code == 2
    assert "its tasks are `t0` and `t1`" in answer.err


async def test_a_part_is_read_by_bytes_and_by_lines(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, dag_of())
    lines = [b"%06d\n" % number for number in range(100_000)]
    await append_log(
        connection,
        [
            (run_id, 1, 70_000 * part, b"".join(lines[10_000 * part : 10_000 * (part + 1)]))
            for part in range(10)
        ],
    )
    assert (await command("run", "logs", run_id, "--range", "0-6")).out == "000000\n"
    assert (await command("run", "logs", run_id, "--range", "69999-70002")).out == "\n010"
    assert (await command("run", "logs", run_id, "--range", "699993-")).out == "099999\n"
    assert (await command("run", "logs", run_id, "--range", "699993-900000")).out == "099999\n"
    assert (await command("run", "logs", run_id, "--tail", 0)).out == ""
    assert (await command("run", "logs", run_id, "--tail", 2)).out == "099998\n099999\n"
    for number in (40_000, 99_999, 100_000, 200_000):
        answer = await command("run", "logs", run_id, "--tail", number)
        assert answer.out == b"".join(lines[-number:]).decode()
    [log] = (await command("run", "logs", run_id, "--tail", 1, "--json")).json
    assert (log["start"], log["text"]) == (699_993, "099999\n")


async def test_a_range_that_cannot_be_is_refused(connection: Connection, command: Command) -> None:
    run_id = await start_dag(connection, PAIR)
    await append_log(connection, [(run_id, 1, 0, b"hello")])
    answer = await command("run", "logs", run_id, "t0", "--range", "5-9")
    assert answer.code == 2
    assert "attempt 1 has 5 bytes" in answer.err
    for text in ("5", "-5", "9-5", "a-b", "1-2-3"):
        answer = await command("run", "logs", run_id, "t0", "--range", text)
        assert answer.code == 2
        assert "such as `0-999`" in answer.err
    assert "name the task" in (await command("run", "logs", run_id, "--range", "0-1")).err
    assert (await command("run", "logs", run_id, "t0", "--range", "0-1", "-f")).code == 2


async def test_a_log_is_marked_as_complete_or_lost(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, PAIR)
    worker = await BareWorker.join(connection, PAIR)
    first, second = sorted(await worker.claim(), key=lambda claimed: claimed.task_id)
    await append_log(connection, [(run_id, 1, 0, b"one\n"), (run_id + 1, 1, 0, b"two\n")])
    assert "t0, attempt 1: 4 bytes so far" in (await command("run", "logs", run_id, "t0")).err
    await worker.end(first)
    await worker.end(second, Lost(Error("WorkerLost", "gone")))
    answer = await command("run", "logs", run_id, "t0")
    assert (answer.out, answer.err.strip()) == ("one\n", "t0, attempt 1: complete, 4 bytes")
    answer = await command("run", "logs", run_id)
    assert "t1, attempt 1, lost: lost after byte 4" in answer.err
    assert "1 log complete, 1 log lost in part; 8 bytes" in answer.err
    logs = (await command("run", "logs", run_id, "--json")).json
    assert [(log["log"], log["bytes"]) for log in logs] == [("complete", 4), ("lost", 4)]


async def test_an_end_without_its_last_words_is_marked(
    connection: Connection, command: Command
) -> None:
    """A host of many tasks died: the attempt failed by its worker's word, but not all came."""
    run_id = await start_dag(connection, dag_of())
    worker = await BareWorker.join(connection, dag_of())
    [claimed] = await worker.claim()
    await append_log(connection, [(run_id, 1, 0, b"begun\n"), (run_id, 1, 6, b"")])
    await worker.end(claimed, failure())
    answer = await command("run", "logs", run_id)
    assert answer.out == "begun\n"
    assert "attempt 1, failed: lost after byte 6" in answer.err


async def test_a_hole_is_seen(connection: Connection, command: Command) -> None:
    """As after a failover to a standby that had not heard of a chunk."""
    run_id = await start_dag(connection, dag_of())
    worker = await BareWorker.join(connection, dag_of())
    [claimed] = await worker.claim()
    await append_log(connection, [(run_id, 1, 0, b"one\n"), (run_id, 1, 8, b"three\n")])
    await worker.end(claimed)
    answer = await command("run", "logs", run_id)
    assert answer.out == "one\nthree\n"
    assert "lost after byte 4" in answer.err


async def test_following_survives_lost_connections(
    connection: Connection, command: Command
) -> None:
    run_id = await start_dag(connection, dag_of())
    worker = await BareWorker.join(connection, dag_of())
    [claimed] = await worker.claim()
    await append_log(connection, [(run_id, 1, 0, b"early\n")])
    following = asyncio.create_task(command("run", "logs", run_id, "-f"))
    for number in range(5):
        await _cut_the_line_of_the_follower(connection)
        await append_log(connection, [(run_id, 1, 6 + 2 * number, b"%d\n" % number)])
    await worker.end(claimed)
    answer = await following
    assert answer.code == 0, answer.err
    assert answer.out == "early\n0\n1\n2\n3\n4\n"
    assert "complete, 16 bytes" in answer.err


async def test_following_one_attempt_ends_with_it(connection: Connection, command: Command) -> None:
    run_id = await start_dag(connection, PAIR)
    worker = await BareWorker.join(connection, PAIR)
    claimed = (await worker.claim(1))[0]
    following = asyncio.create_task(command("run", "logs", run_id, "t0", "--attempt", 1, "-f"))
    await asyncio.sleep(0.3)
    await append_log(connection, [(run_id, 1, 0, b"first\n")])
    await worker.end(claimed, failure())
    answer = await following
    assert answer.out == "first\n"
    assert "attempt 1, failed: complete, 6 bytes" in answer.err


async def _cut_the_line_of_the_follower(connection: Connection) -> None:
    """As soon as it has asked for what is new."""
    while not await connection.fetchval(  # noqa: ASYNC110
        "select count(pg_terminate_backend(pid)) from pg_stat_activity"
        " where datname = current_database()"
        " and application_name in ('mainspring command', 'mainspring server reader')"
        " and query like '%find_grown_logs%'"
    ):
        await asyncio.sleep(0.02)


async def test_a_log_that_has_moved_is_read_and_pruned_like_any_other(
    connection: Connection,
    command: Command,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))
    content = b"".join(b"line %d\n" % number for number in range(20_000))
    run_id = await start_dag(connection, dag_of())
    worker = await BareWorker.join(connection, dag_of())
    [claimed] = await worker.claim()
    await append_log(connection, [(run_id, 1, 0, content)])
    await worker.end(claimed)
    before = await command("run", "logs", run_id, "--json")
    line = Line(database_url, name="mover")
    config = Config(home=tmp_path, database_url="not asked", objects_url="home:")
    await MoveLogs(config, line, settled_seconds=0.0).step()
    await line.close()
    [file] = [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]
    assert (await command("run", "logs", run_id, "--json")).json == before.json
    assert (await command("run", "logs", run_id)).out == content.decode()
    assert (await command("run", "logs", run_id, "-f")).out == content.decode()
    assert (await command("run", "logs", run_id, "--tail", 1)).out == "line 19999\n"
    assert (await command("run", "logs", run_id, "--range", "7-13")).out == "line 1\n"
    hidden = file.rename(tmp_path / "hidden")
    answer = await command("run", "logs", run_id)
    assert (answer.code, answer.out) == (2, "")
    assert f"there is no `{file.relative_to(tmp_path / 'objects')}`" in answer.err
    assert "hint: it was removed" in answer.err
    file.parent.mkdir(parents=True, exist_ok=True)
    hidden.rename(file)
    later = await read_clock(connection) + timedelta(days=1)
    await archive_runs(connection, 0, 100, later)
    await connection.execute("update mainspring.run_history set finished_at = 'epoch'")
    answer = await command("prune", "--keep", "1d", "--json")
    assert (answer.json["runs"], answer.json["objects"]) == (1, 1)
    assert not [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]
