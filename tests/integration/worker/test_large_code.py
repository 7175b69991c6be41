"""Code that is too large for the database is an object, and everything else is as before."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from mainspring.bundles.pack import PACKED_BYTES_MAX
from mainspring.bundles.snapshot import tree_digest
from mainspring.store.reading import read_clock
from mainspring.store.snapshots import VERSIONS_KEPT, forget_snapshots
from tests.support.team import Team

CODE = """
import pathlib

@task
async def measure() -> int:
    size = (pathlib.Path(__file__).parent / "data").stat().st_size
    effect("measure", str(size))
    return size

@dag
def large():
    measure()
"""
SIZE = PACKED_BYTES_MAX + 1_000_000


def _write(team: Team, size: int = SIZE) -> None:
    # What is random does not become smaller when it is packed.
    (team.dags / "data").write_bytes(os.urandom(size))
    team.write("large.py", CODE)


def _objects(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def _current(team: Team) -> None:
    digest = tree_digest(team.dags)
    await team.until(
        lambda: team.rows(
            "select 1 from mainspring.dag d join mainspring.snapshot s on s.id = d.snapshot_id"
            " where s.digest = $1",
            digest,
        )
    )


async def test_large_code_is_fetched_from_the_object_store_and_leaves_it(
    team: Team, tmp_path: Path
) -> None:
    folder = tmp_path / "objects"
    _write(team)
    team.start_engine(MAINSPRING_OBJECTS=folder.as_uri())
    await _current(team)
    [row] = await team.rows("select content, key, bytes from mainspring.snapshot_content")
    assert row["content"] is None
    assert _objects(folder) == [folder / row["key"]]
    assert (folder / row["key"]).stat().st_size == row["bytes"]
    # A worker that was never told of the store.
    team.start_distant_worker()
    assert await team.ended(await team.trigger("large")) == "succeeded"
    assert team.effects_of("measure") == [str(SIZE)]
    # The code becomes small again; when nobody can run what was large, its object goes.
    _write(team, size=10)
    await _current(team)
    assert await team.ended(await team.trigger("large")) == "succeeded"
    await team.connection.execute("delete from mainspring.run")
    await team.connection.execute("delete from mainspring.run_history")
    later = await read_clock(team.connection) + timedelta(days=1)
    assert await forget_snapshots(team.connection, later, VERSIONS_KEPT) == 1
    await team.until(lambda: asyncio.sleep(0, not _objects(folder)))
    [kept] = await team.rows("select content, key from mainspring.snapshot_content")
    assert kept["key"] is None
    assert kept["content"] is not None


async def test_an_object_store_that_cannot_be_used_is_said_and_the_dags_stay(
    team: Team, tmp_path: Path
) -> None:
    folder = tmp_path / "objects"
    _write(team, size=10)
    team.start_engine(MAINSPRING_OBJECTS=folder.as_uri())
    await _current(team)
    folder.write_text("no folder", "utf-8")
    _write(team)
    [problem] = await team.until(
        lambda: team.rows("select file, message from mainspring.file_problem")
    )
    assert f"the folder {folder} of objects cannot be used" in problem["message"]
    folder.unlink()
    await _current(team)
    left = await team.rows("select key from mainspring.object_removal")
    assert left == [], "however often it was tried, there is one object, and it is in use"


async def test_code_whose_object_is_gone_is_a_clear_reason_to_wait(
    team: Team, tmp_path: Path
) -> None:
    folder = tmp_path / "objects"
    _write(team)
    team.start_engine(MAINSPRING_OBJECTS=folder.as_uri())
    await _current(team)
    [lost] = _objects(folder)
    lost.unlink()
    await team.trigger("large")
    team.start_distant_worker()
    [told] = await team.until(
        lambda: team.rows(
            "select convert_from(error, 'UTF8') as error from mainspring.attempt"
            " where state = 'yielded'"
        )
    )
    assert "cannot be fetched: there is no `code/" in told["error"]
