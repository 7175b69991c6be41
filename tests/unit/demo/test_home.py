"""The home of a demo: somebody's own is refused, a whole one is used again."""

from __future__ import annotations

from pathlib import Path

import pytest

from mainspring.cli import run_command
from mainspring.demo.home import Marker, read_marker, write_dags, write_marker
from mainspring.demo.seeding import ensure_demo
from mainspring.domain.errors import InputError


def test_a_folder_that_is_no_demo_is_refused_and_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The command sets some for the processes that it starts; here that is to end with the test.
    for name in ("KEEP", "DATABASE_URL", "URL", "TOKEN", "HOME", "DAGS", "OBJECTS", "APPS"):
        monkeypatch.setenv(f"MAINSPRING_{name}", "1d")
    (tmp_path / "mine.txt").write_text("mine")
    for words in ([], ["--anew"]):
        assert run_command(["demo", "--home", str(tmp_path), "--only-seed", *words]) != 0
        assert "is not the home of a demo" in " ".join(capsys.readouterr().err.split())
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


async def test_a_whole_demo_is_used_again(tmp_path: Path) -> None:
    write_marker(tmp_path, Marker(seed=5, runs=2_000, whole=True))

    def hear(words: str, done: int, total: int) -> None:
        raise AssertionError(words)

    seeded = await ensure_demo(tmp_path, runs=200_000, seed=7, progress=hear)
    assert (seeded.new, seeded.seed, seeded.runs) == (False, 5, 2_000)


def test_a_marker_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "demo.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        read_marker(tmp_path)


def test_the_first_version_of_the_dags_lacks_what_is_new(tmp_path: Path) -> None:
    first = (write_dags(tmp_path, first=True) / "shop.py").read_text()
    now = (write_dags(tmp_path) / "shop.py").read_text()
    assert "warm_caches" not in first
    assert "warm_caches" in now
    assert "# new" not in now
