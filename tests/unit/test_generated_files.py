"""The generated files are current, and the check notices when they are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.generate import FILES, ROOT, main

each_file = pytest.mark.parametrize("path", [generated.path for generated in FILES])


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder that holds the generated files and nothing else."""
    assert main([], root=tmp_path) == 0
    return tmp_path


def test_the_generated_files_of_the_repository_are_current() -> None:
    ran = subprocess.run(
        [sys.executable, "tools/generate.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@each_file
def test_a_generated_file_begins_with_where_it_comes_from(path: str) -> None:
    first = (ROOT / path).read_text(encoding="utf-8").splitlines()[0]
    assert "Generated from src/mainspring/" in first
    assert "`make gen`" in first


@each_file
def test_an_altered_file_fails_the_check(
    path: str, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--check"], root=copy) == 0
    with (copy / path).open("a", encoding="utf-8") as file:
        file.write("altered by hand\n")
    capsys.readouterr()

    assert main(["--check"], root=copy) == 1

    shown = capsys.readouterr()
    assert "-altered by hand" in shown.out
    assert path in shown.err
    assert "run `make gen`" in shown.err


@each_file
def test_a_missing_file_fails_the_check(path: str, copy: Path) -> None:
    (copy / path).unlink()
    assert main(["--check"], root=copy) == 1


@each_file
def test_foreign_line_ends_fail_the_check(path: str, copy: Path) -> None:
    file = copy / path
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert main(["--check"], root=copy) == 1


def test_the_check_writes_nothing(tmp_path: Path) -> None:
    assert main(["--check"], root=tmp_path) == 1
    assert list(tmp_path.iterdir()) == []


def test_writing_again_leaves_current_files_alone(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main([], root=copy) == 0
    assert capsys.readouterr().out == ""
