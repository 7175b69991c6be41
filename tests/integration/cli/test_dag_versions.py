"""`mainspring dag versions|diff|rollback`, and dags that are gone."""

from __future__ import annotations

import msgspec

from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import mark_gone, register_dag
from mainspring.store.snapshots import keep_snapshot
from tests.integration.cli.conftest import Command
from tests.integration.cli.test_dag import SALES
from tests.support.factory import dag_of

BOTH_ROADS = True

FEWER = msgspec.structs.replace(SALES, tasks=SALES.tasks[:1], edges=(), parameters=())


async def _two_versions(connection: Connection) -> None:
    for spec, snapshot in ((FEWER, "a" * 64), (SALES, "b" * 64)):
        await keep_snapshot(connection, snapshot, b"packed")
        await register_dag(connection, spec, snapshot, file="sales.py", source=snapshot.encode())


async def test_versions_are_listed_with_what_is_in_use(
    connection: Connection, command: Command
) -> None:
    await _two_versions(connection)
    await connection.execute(
        "delete from mainspring.snapshot_content c using mainspring.snapshot s"
        " where s.id = c.snapshot_id and s.digest like 'a%'"
    )
    newest, oldest = (await command("dag", "versions", "sales")).out.splitlines()[1:]
    assert "6 bytes" in newest
    assert newest.endswith("in use")
    assert "no longer kept" in oldest
    second, first = (await command("dag", "versions", "sales", "--json")).json
    assert (second["version"], second["in_use"], second["in_folder"]) == (2, True, True)
    assert (first["snapshot"], first["code_bytes"]) == ("a" * 64, None)
    assert len((await command("dag", "versions", "sales", "--limit", 1, "--json")).json) == 1


async def test_a_difference_is_told_in_words_and_as_json(
    connection: Connection, command: Command
) -> None:
    await _two_versions(connection)
    answer = await command("dag", "diff", "sales", 1, 2)
    assert answer.out.splitlines() == [
        "sales version 1 → 2",
        "  + parameter region",
        "  + parameter days",
        "  + task load",
        "  + edge extract → load",
    ]
    back = (await command("dag", "diff", "sales", 2, 1, "--json")).json
    assert (back["before"], back["after"]) == (2, 1)
    assert back["difference"]["tasks"]["removed"] == ["load"]
    assert back["difference"]["edges"]["removed"] == [["extract", "load"]]
    assert "nothing" in (await command("dag", "diff", "sales", 1, 1)).out
    unknown = await command("dag", "diff", "sales", 1, 9)
    assert (unknown.code, unknown.out) == (2, "")
    assert "has no version 9" in unknown.err
    assert "dag versions sales" in unknown.err


async def test_a_difference_of_ten_thousand_tasks_does_not_flood_the_screen(
    connection: Connection, command: Command
) -> None:
    for tasks in (1, 10_000):
        await register_dag(connection, dag_of(tasks=tasks), "s")
    answer = await command("dag", "diff", "sample", 1, 2)
    assert "… 9,959 more" in answer.out
    assert len(answer.out.splitlines()) < 50


async def test_a_rollback_is_what_the_next_trigger_uses(
    connection: Connection, command: Command
) -> None:
    await _two_versions(connection)
    answer = await command("dag", "rollback", "sales", 1)
    assert answer.code == 0
    assert "sales now uses version 1 instead of 2" in answer.out
    assert "until its file" in answer.out
    await command("dag", "trigger", "sales")
    [run] = await fetch(
        connection,
        "select v.number, s.digest from mainspring.run r"
        " join mainspring.version v on v.id = r.version_id"
        " join mainspring.snapshot s on s.id = r.snapshot_id",
    )
    assert (run["number"], run["digest"]) == (1, "a" * 64)
    assert "rolled back" in (await command("dag", "list")).out
    assert "rolled back" in (await command("dag", "show", "sales")).out
    newest, _ = (await command("dag", "versions", "sales")).out.splitlines()[1:]
    assert newest.endswith("in the folder")
    done = (await command("dag", "rollback", "sales", 2, "--json")).json
    assert (done["version"], done["rolled_back_at"]) == (2, None)
    assert "rolled back" not in (await command("dag", "list")).out


async def test_a_rollback_that_cannot_be_changes_nothing(
    connection: Connection, command: Command
) -> None:
    await _two_versions(connection)
    await connection.execute("delete from mainspring.snapshot_content")
    answer = await command("dag", "rollback", "sales", 1)
    assert answer.code == 2
    assert "the code of version 1 of dag `sales` is no longer kept" in answer.err
    assert (await command("dag", "show", "sales", "--json")).json["version"] == 2
    assert (await command("dag", "rollback", "slaes", 1)).code == 2
    assert (await command("dag", "rollback", "sales", 0)).code == 2


async def test_a_dag_that_is_gone_is_shown_so_and_refuses_triggers(
    connection: Connection, command: Command
) -> None:
    await _two_versions(connection)
    await mark_gone(connection, [], [])
    assert "gone" in (await command("dag", "list")).out
    assert "gone" in (await command("dag", "show", "sales")).out
    [line] = (await command("dag", "list", "--json")).json
    assert line["gone_at"] is not None
    answer = await command("dag", "trigger", "sales", "-p", "days=1")
    assert answer.code == 2
    assert "the dag `sales` is gone" in answer.err
    assert "put it back" in answer.err
    assert await connection.fetchval("select count(*) from mainspring.run") == 0


async def test_a_source_of_dags_that_is_none_is_refused_with_an_example(command: Command) -> None:
    answer = await command("engine", "--dags", "git+https://git.example.org/dags.git")
    assert answer.code == 2
    assert "no address or no branch" in answer.err
    assert "git+https://" in answer.err
