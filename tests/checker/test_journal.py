"""The journal notes every move, in an order that can be trusted, with what was seen."""

from __future__ import annotations

import asyncpg
import pytest

from mainspring.store.connection import Connection, connect
from tests.checker.conftest import DIAMOND, ONE, Scene
from tests.checker.journal import (
    Clock,
    EvidenceError,
    Sample,
    Snapshot,
    install_journal,
    read_journal,
    sample_clock,
)
from tests.checker.rows import ROWS, AttemptRow, ClaimRow, TaskRow
from tests.conftest import Server
from tests.support.factory import failure


async def test_a_run_from_beginning_to_end_is_noted(scene: Scene) -> None:
    run = await scene.trigger(ONE)
    worker = await scene.join("worker-1", 1)
    await worker.work(await worker.take())
    journal = await read_journal(scene.connection)
    noted = [
        (move.relation, move.kind)
        for move in journal.moves()
        if move.relation in ("run", "task", "ready", "claim")
    ]
    assert noted == [
        *[("run", "I"), ("task", "I"), ("ready", "I")],
        *[("ready", "D"), ("claim", "I")],
        *[("claim", "D"), ("task", "U")],
    ]
    [end] = [move for move in journal.moves("task") if move.kind == "U"]
    assert isinstance(end.before, TaskRow)
    assert isinstance(end.after, TaskRow)
    assert (end.before.id, end.before.state, end.after.state) == (run, "ready", "succeeded")


async def test_several_updates_of_one_table_in_one_statement_are_all_noted(scene: Scene) -> None:
    await scene.trigger(DIAMOND)
    worker = await scene.join("worker-1", 1)
    await worker.work(await worker.take(), spec=DIAMOND)
    journal = await read_journal(scene.connection)
    last = journal.transactions[-1]
    moved = {
        (move.before.node, move.before.state, move.after.state)
        for move in last.moves
        if isinstance(move.before, TaskRow) and isinstance(move.after, TaskRow)
    }
    assert moved == {(0, "ready", "succeeded"), (1, "waiting", "ready"), (2, "waiting", "ready")}


async def test_partitioned_tables_are_watched_too(scene: Scene) -> None:
    await scene.trigger(ONE)
    worker = await scene.join("worker-1", 1)
    await worker.work(await worker.take(), failure())
    await scene.archive()
    journal = await read_journal(scene.connection)
    assert [type(move.after) for move in journal.moves("attempt")] == [AttemptRow]
    assert [move.kind for move in journal.moves("task_history")] == ["I"]
    assert [move.kind for move in journal.moves("run_history")] == ["I"]


async def test_what_was_rolled_back_is_not_noted(scene: Scene) -> None:
    before = await read_journal(scene.connection)
    transaction = scene.connection.transaction()
    await transaction.start()
    await scene.trigger(ONE)
    await transaction.rollback()
    after = await read_journal(scene.connection)
    assert len(after.transactions) == len(before.transactions)


async def test_a_claim_carries_the_snapshot_of_its_own_statement(
    scene: Scene, database_url: str
) -> None:
    worker = await scene.join("worker-1", 1)
    await scene.trigger(ONE)
    other = Scene(await connect(database_url, name="other"), scene.folder)
    async with other.connection.transaction():
        late = await other.trigger(ONE)
        await worker.claim(1)
    journal = await read_journal(scene.connection)
    [claim] = journal.moves("claim")
    assert isinstance(claim.after, ClaimRow)
    assert claim.snapshot is not None
    for move in journal.moves("task"):
        assert claim.snapshot.sees(move.transaction) == (move.row.key != late)
    await other.connection.close()


async def test_of_two_transactions_the_one_that_waited_comes_second(
    scene: Scene, database_url: str
) -> None:
    run = await scene.trigger(DIAMOND)
    other = await connect(database_url, name="other")
    slow = other.transaction()
    await slow.start()
    await other.execute("update mainspring.task set lost = 1 where id = $1", run)
    # It draws a number for another task before it touches the one that is locked.
    second = await connect(database_url, name="second")
    async with second.transaction():
        await second.execute("update mainspring.task set lost = 2 where id = $1", run + 1)
        await slow.commit()
        await second.execute("update mainspring.task set lost = 3 where id = $1", run)
    journal = await read_journal(scene.connection)
    losses = [
        move.after.lost
        for move in journal.moves("task")
        if isinstance(move.after, TaskRow) and move.after.id == run
    ]
    assert losses == [0, 1, 3]
    await scene.connection.execute("update mainspring.task set lost = 0")
    await other.close()
    await second.close()


async def test_what_was_there_before_is_noted_as_found(connection: Connection) -> None:
    await install_journal(connection)
    await install_journal(connection)
    journal = await read_journal(connection)
    found = [(move.relation, move.kind) for move in journal.moves()]
    assert found == [("shard", "F")] * 17 + [("queue", "F")]


async def test_every_table_that_is_watched_can_be_read(scene: Scene) -> None:
    watched = await scene.connection.fetch(
        "select distinct tgrelid::regclass::text as name from pg_trigger"
        " where tgname = 'checker_update'"
    )
    assert {row["name"].removeprefix("mainspring.") for row in watched} == ROWS.keys()


async def test_a_database_without_our_schema_cannot_be_watched(server: Server) -> None:
    connection = await asyncpg.connect(server.url("mainspring"))
    with pytest.raises(EvidenceError, match="hint: migrate"):
        await install_journal(connection)
    await connection.close()


async def test_the_clocks_are_sampled_and_mapped(scene: Scene) -> None:
    await sample_clock(scene.connection)
    clock = (await read_journal(scene.connection)).clock
    assert clock.slack_seconds < 5


def test_a_time_is_mapped_by_the_nearest_sample() -> None:
    clock = Clock([Sample(1000.0, 10.0, 0.002), Sample(2000.5, 1010.0, 0.004)])
    assert clock.monotonic(1001.0) == 11.0
    assert clock.monotonic(2000.5) == 1010.0
    assert clock.slack_seconds == pytest.approx(0.5 + 0.002 + 0.001)
    with pytest.raises(EvidenceError):
        Clock([])


def test_a_snapshot_sees_what_was_committed_before_it() -> None:
    snapshot = Snapshot.parse("10:15:11,13")
    assert [number for number in range(8, 17) if snapshot.sees(number)] == [8, 9, 10, 12, 14]
    assert Snapshot.parse("7:7:").sees(6)
