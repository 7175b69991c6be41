"""`mainspring completion`: scripts that shells can use."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mainspring.cli import run_command


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The command on a path of its own, as the scripts call it."""
    file = tmp_path / "mainspring"
    file.write_text(f'#!/bin/sh\nexec {sys.executable} -m mainspring "$@"\n')
    file.chmod(0o755)
    return file


def ask(shell: str, script: str, program: Path) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [shell, "-c", script],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_bash_completes_commands_and_options(program: Path) -> None:
    script = """
        eval "$(mainspring completion bash)"
        COMP_WORDS=(mainspring dag tr); COMP_CWORD=2; _mainspring_completion mainspring
        echo "${COMPREPLY[@]}"; COMPREPLY=()
        COMP_WORDS=(mainspring run list --js); COMP_CWORD=3; _mainspring_completion mainspring
        echo "${COMPREPLY[@]}"
    """
    assert ask("bash", script, program).splitlines() == ["trigger", "--json"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_the_script(shell: str, program: Path) -> None:
    printed = ask(shell, f"mainspring completion {shell}", program)
    only_read = "-n" if shell == "zsh" else "--no-execute"
    subprocess.run([shell, only_read], input=printed, text=True, check=True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_calls_the_command_back(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert f"_MAINSPRING_COMPLETE={shell}_complete" in printed


def test_the_answer_to_a_shell_names_what_there_is() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "mainspring"],
        env={
            **os.environ,
            "_MAINSPRING_COMPLETE": "zsh_complete",
            "COMP_WORDS": "mainspring comp",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stdout.splitlines()[:2] == ["plain", "completion"]


def test_another_shell_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["completion", "tcsh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err
