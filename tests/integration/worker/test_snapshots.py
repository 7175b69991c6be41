"""Code that is pinned: a run executes what it started with, on any machine."""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from mainspring.bundles.snapshot import pack_snapshot, tree_digest
from mainspring.client import Client
from mainspring.domain.errors import NotFoundError
from tests.support.team import Team

TWO_STEPS = """
import helper

@task
async def first() -> str:
    effect("first", helper.WORD)
    while not os.path.exists(os.environ["EFFECTS"] + ".go"):
        await asyncio.sleep(0.02)
    return helper.WORD

@task
def second(word: str) -> str:
    effect("second", helper.WORD)
    return helper.WORD

@dag
def steps():
    second(first())
"""


def _say(team: Team, word: str) -> None:
    (team.dags / "helper.py").write_text(f"WORD = '{word}'\n", "utf-8")


def _go(team: Team) -> None:
    Path(f"{team.effects}.go").touch()


async def _current(team: Team) -> None:
    """Wait until the dags are known as the folder has them now."""
    digest = tree_digest(team.dags)
    await team.until(
        lambda: team.rows(
            "select 1 from mainspring.dag d join mainspring.snapshot s on s.id = d.snapshot_id"
            " where s.digest = $1",
            digest,
        )
    )


def _cached(team: Team) -> list[str]:
    return sorted(path.name for path in (team.distant_home / "snapshots").glob("*"))


async def _handed_back(team: Team, words: str) -> None:
    await team.until(
        lambda: team.rows(
            "select 1 from mainspring.attempt"
            " where state = 'yielded' and position($1 in convert_from(error, 'UTF8')) > 0",
            words,
        )
    )


async def test_a_worker_without_the_folder_runs_what_the_run_started_with(team: Team) -> None:
    _say(team, "old")
    team.write("steps.py", TWO_STEPS)
    team.start_engine()
    await _current(team)
    old = await team.trigger("steps")
    worker = team.start_distant_worker()
    await team.until(lambda: asyncio.sleep(0, team.effects_of("first")))
    _say(team, "new")
    await _current(team)
    # The run is half way, its worker dies, and the next one finds an empty cache.
    worker.kill()
    worker.wait()
    shutil.rmtree(team.distant_home)
    _go(team)
    team.start_distant_worker()
    assert await team.ended(old) == "succeeded"
    new = await team.trigger("steps")
    assert await team.ended(new) == "succeeded"
    assert team.effects_of("second") == ["old", "new"]
    assert set(team.effects_of("first")[:-1]) == {"old"}
    rows = await team.rows("select number from mainspring.version")
    assert len(rows) == 1, "a changed helper is another snapshot and no other version"


async def test_tasks_that_start_at_once_fetch_their_code_once(team: Team) -> None:
    _say(team, "old")
    team.write("steps.py", TWO_STEPS)
    team.start_engine()
    await _current(team)
    _go(team)
    runs = [await team.trigger("steps") for _ in range(20)]
    team.start_distant_worker()
    assert {await team.ended(run) for run in runs} == {"succeeded"}
    assert _cached(team) == [tree_digest(team.dags)]
    assert team.log().count("code fetched") == 1


async def test_code_that_was_tampered_with_is_refused_and_runs_when_it_is_mended(
    team: Team, tmp_path: Path
) -> None:
    _say(team, "right")
    team.write("steps.py", TWO_STEPS)
    team.start_engine()
    await _current(team)
    [kept] = await team.rows("select content from mainspring.snapshot_content")
    other = tmp_path / "other"
    shutil.copytree(team.dags, other)
    (other / "helper.py").write_text("WORD = 'wrong'\n", "utf-8")
    change = "update mainspring.snapshot_content set content = $1"
    await team.connection.execute(change, pack_snapshot(other))
    _go(team)
    run_id = await team.trigger("steps")
    worker = team.start_distant_worker()
    await _handed_back(team, "is damaged and was not used: its files have the digest")
    assert _cached(team) == []
    worker.terminate()
    worker.wait()
    await team.connection.execute(change, kept["content"])
    await team.connection.execute(
        "update mainspring.timer set due_at = clock_timestamp() where kind = 'backoff'"
    )
    team.start_distant_worker()
    assert await team.ended(run_id) == "succeeded"
    assert set(team.effects_of("first") + team.effects_of("second")) == {"right"}


async def test_a_worker_that_dies_before_it_publishes_code_leaves_nothing_half(team: Team) -> None:
    _say(team, "whole")
    team.write("steps.py", TWO_STEPS)
    team.start_engine()
    await _current(team)
    _go(team)
    run_id = await team.trigger("steps")
    dying = team.start_distant_worker(fault="die a snapshot is copied and not published 1")
    assert await asyncio.to_thread(dying.wait) == -signal.SIGKILL
    [left] = _cached(team)
    assert left.startswith(".taking-")
    team.start_distant_worker()
    assert await team.ended(run_id) == "succeeded"
    assert _cached(team) == [left, tree_digest(team.dags)]
    assert team.effects_of("first") == ["whole"]


async def test_code_that_nobody_has_is_a_clear_reason_to_wait(team: Team) -> None:
    _say(team, "lost")
    team.write("steps.py", TWO_STEPS)
    team.start_engine()
    await _current(team)
    await team.connection.execute("delete from mainspring.snapshot_content")
    await team.trigger("steps")
    team.start_distant_worker()
    await _handed_back(team, "neither this worker nor the database has the code of snapshot")


# --- dags that come and go --------------------------------------------------------------------


async def test_a_dag_whose_file_is_gone_ends_its_runs_and_begins_none_until_it_is_back(
    team: Team,
) -> None:
    _say(team, "here")
    team.write("steps.py", TWO_STEPS)
    team.start_engine()
    await _current(team)
    run_id = await team.trigger("steps")
    text = (team.dags / "steps.py").read_text("utf-8")
    (team.dags / "steps.py").unlink()
    await team.until(lambda: team.rows("select 1 from mainspring.dag where gone_at is not null"))
    with pytest.raises(NotFoundError, match=r"`steps` is gone: .* the last was `steps.py`"):
        await team.trigger("steps")
    _go(team)
    team.start_distant_worker()
    assert await team.ended(run_id) == "succeeded"
    (team.dags / "steps.py").write_text(text, "utf-8")
    await team.until(lambda: team.rows("select 1 from mainspring.dag where gone_at is null"))
    assert await team.ended(await team.trigger("steps")) == "succeeded"


async def test_a_broken_file_does_not_make_its_dags_gone(team: Team) -> None:
    _say(team, "here")
    team.write("steps.py", TWO_STEPS)
    team.start_engine()
    await _current(team)
    (team.dags / "steps.py").write_text("import mainspring\n1 / 0\n", "utf-8")
    await team.until(lambda: team.rows("select 1 from mainspring.file_problem"))
    assert await team.rows("select gone_at from mainspring.dag") == [{"gone_at": None}]
    assert await team.trigger("steps")


async def test_two_files_with_one_dag_leave_the_last_good_version(team: Team) -> None:
    _say(team, "here")
    team.write("steps.py", TWO_STEPS)
    team.start_engine()
    await _current(team)
    # It would come first by its name.
    shutil.copy(team.dags / "steps.py", team.dags / "another.py")
    rows = await team.until(
        lambda: team.rows("select file, message from mainspring.file_problem order by file")
    )
    assert [row["file"] for row in rows] == ["another.py", "steps.py"]
    assert "the dag `steps` is defined also in `steps.py`; neither is used" in rows[0]["message"]
    assert "also in `another.py`" in rows[1]["message"]
    async with Client(team.url) as client:
        dag = await client.dag("steps")
    assert (dag.file, dag.gone_at, dag.spec.tasks[0].entry) == ("steps.py", None, "steps:first")


async def test_a_folder_that_cannot_be_kept_is_told_and_what_was_read_stays(team: Team) -> None:
    _say(team, "here")
    team.write("steps.py", TWO_STEPS)
    team.start_engine()
    await _current(team)
    (team.dags / "noise.bin").write_bytes(random.Random(1).randbytes(21 * 1024 * 1024))
    [problem] = await team.until(lambda: team.rows("select * from mainspring.file_problem"))
    assert problem["file"] == "."
    assert "20.0 MiB is the most that the database keeps" in problem["message"]
    assert "`noise.bin` (21.0 MiB)" in problem["message"]
    assert await team.trigger("steps")
    (team.dags / "noise.bin").unlink()

    async def forgiven() -> bool:
        return not await team.rows("select 1 from mainspring.file_problem")

    await team.until(forgiven)


# --- from a repository ------------------------------------------------------------------------


def _commit(folder: Path, origin: Path) -> None:
    """A repository with this folder as its only one."""
    origin.mkdir()
    shutil.move(folder, origin / "dags")
    for words in ("init --quiet --initial-branch=main", "add --all", "commit --quiet -m first"):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words.split()]
        subprocess.run(command, cwd=origin, check=True)


async def test_dags_of_a_repository_run_and_stay_when_it_is_out_of_reach(
    team: Team, tmp_path: Path
) -> None:
    _say(team, "committed")
    team.write("steps.py", TWO_STEPS)
    origin = tmp_path / "origin"
    _commit(team.dags, origin)
    engine = team.start_engine(MAINSPRING_DAGS=f"git+file://{origin}@main:dags")
    await team.known("steps")
    _go(team)
    team.start_distant_worker()
    assert await team.ended(await team.trigger("steps")) == "succeeded"
    assert set(team.effects_of("second")) == {"committed"}
    engine.terminate()
    engine.wait()
    origin.rename(tmp_path / "away")
    team.start_engine(MAINSPRING_DAGS=f"git+file://{origin}@main:dags")
    [problem] = await team.until(lambda: team.rows("select * from mainspring.file_problem"))
    assert "cannot be fetched" in problem["message"]
    assert await team.ended(await team.trigger("steps")) == "succeeded"
