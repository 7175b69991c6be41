"""The command as such: help, usage, errors, exit codes. No database is asked."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from mainspring.cli import run_command


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("MAINSPRING_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["up"],
        ["engine"],
        ["worker"],
        ["worker", "list"],
        ["migrate"],
        ["doctor"],
        ["dag"],
        ["dag", "list"],
        ["dag", "show"],
        ["dag", "trigger"],
        ["dag", "test"],
        ["dag", "pause"],
        ["dag", "resume"],
        ["run"],
        ["run", "list"],
        ["run", "show"],
        ["run", "watch"],
        ["run", "logs"],
        ["run", "why"],
        ["run", "cancel"],
        ["run", "rerun"],
        ["run", "priority"],
        ["schedule"],
        ["schedule", "preview"],
        ["queue"],
        ["queue", "list"],
        ["queue", "show"],
        ["queue", "pause"],
        ["queue", "resume"],
    ],
)
def test_every_command_has_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([*command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: mainspring {' '.join(command)}".rstrip())


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["dag", "frobnicate"],
        ["dag", "show"],
        ["run", "list", "--limit", "0"],
        ["run", "list", "--state", "odd"],
        ["dag", "trigger", "x", "--at", "2030-01-01", "--in", "1m"],
        ["run", "logs", "1", "--attempt", "1", "--term", "1"],
        ["worker", "--queues", ","],
        ["worker", "--slots", "async=x"],
        ["dag", "test", "x"],
    ],
)
def test_slips_of_usage_end_with_2_and_say_so(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert "Traceback" not in captured.err


def test_nothing_running_says_how_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["dag", "list"]) == 1
    assert "hint: start it with `mainspring up`" in capsys.readouterr().err


def test_with_json_an_error_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["dag", "list", "--json"]) == 1
    error = msgspec.json.decode(capsys.readouterr().err)["error"]
    assert error["code"] == "unavailable"
    assert error["hint"].startswith("start it with `mainspring up`")


@pytest.mark.parametrize("command", ["run list", "engine", "worker", "migrate"])
def test_an_unreachable_database_is_told_at_once(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    assert run_command(command.split()) == 1
    assert "the database cannot be reached" in capsys.readouterr().err


def test_doctor_without_a_database_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["doctor", "--json"]) == 1
    answer = msgspec.json.decode(capsys.readouterr().out)
    assert answer["ok"] is False
    assert [check["verdict"] for check in answer["checks"]] == ["broken"]


def test_an_unexpected_error_is_a_line_and_a_way_to_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def explode(**_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("mainspring.config.load_config", explode)
    assert run_command(["doctor"]) == 1
    assert capsys.readouterr().err == (
        "error: unexpected RuntimeError: boom\n"
        "hint: set MAINSPRING_DEBUG=1 to see where it comes from\n"
    )


def test_an_argument_that_is_no_text_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["dag", "show", "\udcff"]) == 2
    assert "not valid UTF-8" in capsys.readouterr().err


def test_help_needs_neither_a_driver_nor_a_terminal_library() -> None:
    code = (
        "import sys; from mainspring.cli import run_command; run_command(['--help']);"
        "print([name for name in ('asyncpg', 'rich', 'uvloop') if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert answer.stdout.endswith("[]\n")


def test_a_closed_pipe_is_no_traceback() -> None:
    began = time.monotonic()
    reading, writing = os.pipe()
    os.close(reading)
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "mainspring", "--help"],
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writing)
    assert b"Traceback" not in answer.stderr
    assert b"BrokenPipe" not in answer.stderr
    assert time.monotonic() - began < 60
