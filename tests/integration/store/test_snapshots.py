"""The content of snapshots stays while somebody could run it, and versions can be gone back to."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from mainspring.domain.errors import InputError, NotFoundError
from mainspring.domain.specs import DagSpec
from mainspring.engine.retain import Retain
from mainspring.store.connection import Connection, Line, connect, fetch
from mainspring.store.dags import APP_SNAPSHOT, mark_gone, read_dag, register_dag
from mainspring.store.history import archive_runs, forget_runs
from mainspring.store.runs import stop_runs
from mainspring.store.snapshots import (
    VERSIONS_KEPT,
    fetch_snapshot,
    forget_snapshots,
    keep_snapshot,
    snapshot_is_kept,
)
from mainspring.store.versions import list_versions, roll_back
from tests.support.factory import dag_of, start_run

SAMPLE = dag_of()


async def _keep(connection: Connection, *digests: str) -> None:
    for digest in digests:
        await keep_snapshot(connection, digest, digest.encode())


async def _kept(connection: Connection) -> set[str]:
    rows = await fetch(
        connection,
        "select s.digest from mainspring.snapshot s"
        " join mainspring.snapshot_content c on c.snapshot_id = s.id",
    )
    return {row["digest"] for row in rows}


async def _later(connection: Connection) -> datetime:
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return now + timedelta(days=1)


async def _forget(connection: Connection, limit: int = 100) -> int:
    """As if a day had passed."""
    async with connection.transaction():
        return await forget_snapshots(connection, await _later(connection), limit)


async def _change(connection: Connection, dag: DagSpec, *snapshots: str) -> None:
    """The dag is read from one snapshot after the other; its graph stays."""
    for snapshot in snapshots:
        await _keep(connection, snapshot)
        await register_dag(connection, dag, snapshot, file="sample.py", source=snapshot.encode())


async def _no_object(store: str, key: str, start: int, end: int) -> bytes:
    raise AssertionError("it is kept in the database")


async def test_content_is_fetched_as_it_was_kept_whatever_its_size(
    connection: Connection, database_url: str
) -> None:
    line = Line(database_url, name="worker")
    for number, size in enumerate((0, 1, 1024 * 1024, 5 * 1024 * 1024 + 7), start=1):
        content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
        await keep_snapshot(connection, f"{number}", content)
        # Whoever comes second changes nothing.
        await keep_snapshot(connection, f"{number}", b"other")
        assert await snapshot_is_kept(connection, f"{number}")
        snapshot_id = await connection.fetchval(
            "select id from mainspring.snapshot where digest = $1", f"{number}"
        )
        assert await fetch_snapshot(line.call, snapshot_id, _no_object) == content
    assert await fetch_snapshot(line.call, 999, _no_object) is None
    await line.close()


async def test_content_stays_for_dags_versions_and_runs(connection: Connection) -> None:
    await _change(connection, SAMPLE, "ran", "open", "left")
    rows = await fetch(connection, "select id, digest from mainspring.snapshot")
    ids = {row["digest"]: row["id"] for row in rows}
    dag = await register_dag(connection, SAMPLE, "left", file="sample.py")
    runs = {}
    for snapshot in ("ran", "open"):
        runs[snapshot] = await start_run(connection, dag)
        await connection.execute(
            "update mainspring.run set snapshot_id = $2 where id = $1",
            runs[snapshot],
            ids[snapshot],
        )
    await stop_runs(connection, [runs["ran"]], "cancel")
    assert (await archive_runs(connection, 0, 100, await _later(connection))).moved == 1
    await _change(connection, dag_of(tasks=2), "current")
    assert await _forget(connection) == 0
    assert await _kept(connection) == {"ran", "open", "left", "current"}
    # The version of one task was last read from "left"; nothing but the runs has the other two.
    await forget_runs(connection, await _later(connection), 100)
    assert await _forget(connection) == 1
    await stop_runs(connection, [runs["open"]], "cancel")
    await archive_runs(connection, 0, 100, await _later(connection))
    await forget_runs(connection, await _later(connection), 100)
    assert await _forget(connection) == 1
    assert await _kept(connection) == {"left", "current"}
    shown = await fetch(connection, "select digest from mainspring.snapshot")
    assert len(shown) == 4, "what a run shows stays"


async def test_what_was_used_a_moment_ago_stays(connection: Connection) -> None:
    await _change(connection, SAMPLE, "first", "second")
    now: datetime = await connection.fetchval("select clock_timestamp()")
    assert await forget_snapshots(connection, now - timedelta(hours=1), 100) == 0
    await connection.execute("update mainspring.snapshot set used_at = used_at - interval '1 day'")
    # The dag leaves "second" for "first": a client may have read "second" just before.
    await _change(connection, SAMPLE, "first")
    assert await forget_snapshots(connection, now - timedelta(hours=1), 100) == 0
    assert await _kept(connection) == {"first", "second"}


async def test_a_snapshot_that_is_taken_into_use_meanwhile_is_passed_by(
    connection: Connection, database_url: str
) -> None:
    await _change(connection, SAMPLE, "first", "second")
    other = await connect(database_url, name="other")
    async with other.transaction():
        await other.execute("update mainspring.snapshot set used_at = clock_timestamp()")
        assert await _forget(connection) == 0
    await other.close()
    assert await _forget(connection) == 1


async def test_the_engine_forgets_some_at_a_time_and_looks_seldom(connection: Connection) -> None:
    await _change(connection, SAMPLE, *(f"s{number}" for number in range(16)))
    retain = Retain(timedelta(days=30))
    now = await _later(connection)
    left = []
    for minutes in (0, 0, 1):
        async with connection.transaction():
            await retain.step(connection, now + timedelta(minutes=minutes), retain.limit)
        left.append(len(await _kept(connection)))
    assert left == [6, 1, 1]
    await _keep(connection, "unused")
    for minutes in (9, 11):
        async with connection.transaction():
            await retain.step(connection, now + timedelta(minutes=minutes), retain.limit)
        left.append(len(await _kept(connection)))
    assert left[3:] == [2, 1]


# --- rollback ---------------------------------------------------------------------------------


async def _versions(connection: Connection, count: int) -> None:
    for number in range(1, count + 1):
        await _change(connection, dag_of(tasks=number), f"s{number}")


async def test_a_rollback_holds_until_what_concerns_the_dag_changes(connection: Connection) -> None:
    await _versions(connection, 3)
    done = await roll_back(connection, "sample", 1)
    assert (done.version_before, done.version, done.snapshot) == (3, 1, "s1")
    assert done.rolled_back_at is not None

    async def used(source: str, snapshot: str) -> tuple[int, str, bool]:
        """After the folder was read: three tasks, from this snapshot."""
        await _keep(connection, snapshot)
        await register_dag(
            connection, dag_of(tasks=3), snapshot, file="sample.py", source=source.encode()
        )
        dag = await read_dag(connection, "sample")
        return dag.version, dag.snapshot, dag.rolled_back_at is not None

    # An engine was restarted; another dag was edited; then this one was.
    assert await used("s3", "s3") == (1, "s1", True)
    assert await used("s3", "s4") == (1, "s1", True)
    newest, *_ = await list_versions(connection, "sample")
    assert (newest.number, newest.snapshot, newest.used, newest.in_folder) == (3, "s4", False, True)
    assert await used("s5", "s5") == (3, "s5", False)


async def test_going_back_to_the_version_of_the_folder_ends_a_rollback(
    connection: Connection,
) -> None:
    await _versions(connection, 2)
    await roll_back(connection, "sample", 1)
    done = await roll_back(connection, "sample", 2)
    assert done.rolled_back_at is None
    dag = await read_dag(connection, "sample")
    assert (dag.version, dag.snapshot, dag.rolled_back_at) == (2, "s2", None)


async def test_a_version_whose_code_is_gone_cannot_be_gone_back_to(connection: Connection) -> None:
    await _versions(connection, VERSIONS_KEPT + 2)
    await roll_back(connection, "sample", 2)
    assert await _forget(connection) == 1, "version 2 is in use"
    await roll_back(connection, "sample", VERSIONS_KEPT + 2)
    with pytest.raises(InputError, match="the code of version 1 of dag `sample` is no longer kept"):
        await roll_back(connection, "sample", 1)
    assert (await read_dag(connection, "sample")).version == VERSIONS_KEPT + 2
    assert await _forget(connection) == 1
    oldest = (await list_versions(connection, "sample"))[-2:]
    assert [(line.number, line.packed_bytes) for line in oldest] == [(2, None), (1, None)]


async def test_what_cannot_be_rolled_back_says_why(connection: Connection) -> None:
    await _versions(connection, 1)
    with pytest.raises(NotFoundError, match="has no version 7"):
        await roll_back(connection, "sample", 7)
    with pytest.raises(NotFoundError, match="no dag `nobody`"):
        await roll_back(connection, "nobody", 1)
    assert await mark_gone(connection, [], []) == ["sample"]
    with pytest.raises(NotFoundError, match="is gone"):
        await roll_back(connection, "sample", 1)
    await register_dag(connection, dag_of(name="app"), APP_SNAPSHOT)
    with pytest.raises(InputError, match="is of an application"):
        await roll_back(connection, "app", 1)


async def test_only_dags_of_the_folder_are_gone_and_not_those_of_unread_files(
    connection: Connection,
) -> None:
    await register_dag(connection, dag_of(name="app"), APP_SNAPSHOT)
    for name in ("found", "unread", "missing"):
        await register_dag(connection, dag_of(name=name), "s", file=f"{name}.py")
    assert await mark_gone(connection, ["found"], ["unread.py"]) == ["missing"]
    assert await mark_gone(connection, ["found"], ["unread.py"]) == []
    await register_dag(connection, dag_of(name="missing"), "s", file="elsewhere.py")
    assert (await read_dag(connection, "missing")).gone_at is None
