"""The example package, installed as anybody would, listed, and used by a dag on real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import msgspec
import pytest

from tests.support.team import Team

EXAMPLE = Path(__file__).parents[3] / "examples" / "plugins" / "mainspring-polite"

DAG = """
from mainspring.operators import pack_folder

@task(executor="polite")
def how_nice():
    return ["nice"]

@task
def tell(nice, file):
    effect("nice", nice)
    effect("packed", file)

@dag
def nightly(folder: str, file: str):
    tell(how_nice(), pack_folder(folder, to=file))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    run(
        *("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"),
        *("--no-deps", "--no-build-isolation", "--target", str(folder), str(EXAMPLE)),
    )
    return folder


def run(*arguments: str, path: Path | None = None) -> str:
    environment = {**os.environ, **({} if path is None else {"PYTHONPATH": str(path)})}
    told = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


@pytest.mark.slow
def test_it_is_listed(installed: Path) -> None:
    listed = msgspec.json.decode(
        run("-m", "mainspring", "plugins", "list", "--json", path=installed)
    )
    others = [line for line in listed if not line["ours"]]
    assert others == [
        {
            "kind": kind,
            "name": name,
            "package": "mainspring-polite",
            "version": "1.0",
            "place": place,
            "ours": False,
            "healthy": True,
            "problem": None,
        }
        for kind, name, place in (
            ("executor", "polite", "mainspring_polite.executor:PoliteHost"),
            ("operator", "pack_folder", "mainspring_polite.operator:pack_folder"),
            ("schedule", "quiet", "mainspring_polite.schedule:QuietNights"),
        )
    ]
    assert all(line["healthy"] for line in listed)
    told = run("-m", "mainspring", "plugins", "list", path=installed)
    assert "mainspring-polite 1.0  third-party  healthy" in told


@pytest.mark.slow
def test_its_own_tests_pass(installed: Path) -> None:
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests"), path=installed)


@pytest.mark.slow
async def test_a_dag_uses_it(
    installed: Path, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(installed))
    folder, file = tmp_path / "data", tmp_path / "data.tar.gz"
    folder.mkdir()
    (folder / "one.txt").write_text("one")
    async with Team(database_url, tmp_path) as team:
        team.write("nightly.py", DAG)
        team.start_engine()
        team.start_worker()
        await team.known("nightly")
        run_id = await team.trigger("nightly", {"folder": str(folder), "file": str(file)})
        assert await team.ended(run_id) == "succeeded"
        assert team.effects_of("nice") == ["19"]
        assert team.effects_of("packed") == [str(file)]
    with tarfile.open(file) as packed:
        assert "./one.txt" in packed.getnames()


@pytest.mark.slow
async def test_a_worker_without_the_package_says_what_it_lacks(
    installed: Path, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Team(database_url, tmp_path) as team:
        team.write(
            "far.py",
            """
            @task(executor="polite")
            def work(): return ["true"]
            @dag
            def far(): work()
            """,
        )
        team.write(
            "near.py",
            """
            @task(executor="command")
            def work(): return ["true"]
            @dag
            def near(): work()
            """,
        )
        monkeypatch.setenv("PYTHONPATH", str(installed))
        team.start_engine()
        await team.known("far")
        await team.known("near")
        monkeypatch.delenv("PYTHONPATH")
        team.start_worker()
        far, near = await team.trigger("far"), await team.trigger("near")
        assert await team.ended(far) == "failed"
        assert "there is no executor `polite`" in await team.error_of(far)
        assert await team.ended(near) == "succeeded"
