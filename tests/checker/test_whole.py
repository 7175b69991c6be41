"""The checker as a whole: what holds is proven, what was not put to the test is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from mainspring.store.connection import Connection
from tests.checker.__main__ import main
from tests.checker.case import Case, read_case
from tests.checker.check import judge
from tests.checker.conftest import Played, Scene
from tests.checker.evidence import CLIENT, EFFECTS, FAULTS, Effect, read_log
from tests.checker.journal import EvidenceError
from tests.checker.promises import PROMISES

ROOT = Path(__file__).parents[2]


def test_every_promise_is_exercised_by_the_piece_and_holds(case: Case) -> None:
    report = judge(case)
    assert report.ok, report.text()
    assert all(finding.verdict == "ok" for finding in report.findings), report.text()


async def test_what_was_not_exercised_fails_if_it_was_expected(scene: Scene) -> None:
    case = await read_case(scene.folder, scene.connection)
    report = judge(case)
    assert not report.ok
    assert [finding.promise for finding in report.failures] == list(PROMISES)
    assert {finding.verdict for finding in report.failures} == {"not exercised"}
    assert judge(case, expect=[]).ok


def test_only_what_is_expected_must_have_been_exercised(case: Case) -> None:
    case.faults.clear()
    case.fenced.clear()
    assert [finding.promise for finding in judge(case).failures] == ["L4"]
    without = judge(case, expect=["T1", "D1"])
    assert not without.ok, "a violation fails, expected or not"


def test_the_report_names_each_promise_and_shows_the_first_violations(case: Case) -> None:
    case.effects.clear()
    report = judge(case)
    text = report.text()
    for name, finding in zip(PROMISES, report.findings, strict=True):
        assert f"{name} " in text
        assert finding.title in text
    told = report.finding("N1").violations
    assert told[0] in text
    assert f"… and {len(told) - 5} more" in text


def test_an_unknown_promise_is_refused_with_a_list(case: Case) -> None:
    with pytest.raises(EvidenceError, match="there is no promise L9\nhint: there are L1, L2"):
        judge(case, expect=["L9"])


async def test_a_database_without_a_journal_proves_nothing(
    connection: Connection, tmp_path: Path
) -> None:
    with pytest.raises(EvidenceError, match="install_journal"):
        await read_case(tmp_path, connection)


# --- the command --------------------------------------------------------------------------------


def test_the_command_ends_well_only_if_everything_is_proven(
    played: Played, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--database-url", played.url, "--json"]
    assert main([str(played.folder), *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["ok"]
    for name in (CLIENT, FAULTS):
        (tmp_path / name).write_bytes((played.folder / name).read_bytes())
    assert main([str(tmp_path), *arguments]) == 1, "nobody has told a sink anything"
    answer = json.loads(capsys.readouterr().out)
    unproven = {f["promise"] for f in answer["findings"] if f["verdict"] != "ok"}
    assert unproven == {"L5", "N1", "C1", "K1", "O1"}
    silent = [*arguments, "--silent", "one,diamond,urgent,calm", "--expect", "N1"]
    assert main([str(tmp_path), *silent]) == 0


def test_the_command_says_what_is_missing(
    played: Played, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "nowhere"), "--database-url", played.url]) == 1
    assert "hint: give the one with the logs" in capsys.readouterr().err
    assert main([str(tmp_path), "--database-url", "postgresql:///x?host=/nowhere"]) == 1
    assert "error: the database cannot be asked" in capsys.readouterr().err


def test_it_runs_as_a_module(played: Played) -> None:
    command = [sys.executable, "-m", "tests.checker", str(played.folder)]
    done = subprocess.run(
        [*command, "--database-url", played.url],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "violated" not in done.stdout


def test_a_line_that_was_cut_short_by_a_kill_is_left_out(case: Case, tmp_path: Path) -> None:
    line = msgspec.json.encode(case.effects[0])
    (tmp_path / EFFECTS).write_bytes(line + b"\n" + line[:20])
    assert read_log(tmp_path / EFFECTS, Effect) == case.effects[:1]
