"""`mainspring simulate FOLDER`: the schedules of dags that no database knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mainspring.cli import run_command

Printed = pytest.CaptureFixture[str]

SHOP = """
from mainspring import Schedule, dag, task

@task
def work() -> None: ...

@dag(schedule="0 */8 * * *", timezone="Europe/Berlin")
def books():
    work()

@dag(schedule=[Schedule("30 4 * * *", name="early", exclude="closed"),
               Schedule("every 12h", name="often", overlap="skip")])
def stock():
    work()

@dag
def by_hand():
    work()
"""
DAY = ("--from", "2026-03-28T12:00Z", "--to", "2026-03-29T12:00Z")


@pytest.fixture
def dags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", "postgresql://nobody@localhost:1/none")
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def simulated(capsys: Printed, *arguments: object, code: int = 0) -> dict[str, Any]:
    assert run_command(["simulate", *map(str, arguments), "--json"]) == code
    document: dict[str, Any] = msgspec.json.decode(capsys.readouterr().out)
    return document


def test_the_schedules_of_a_folder_fire_without_a_database(dags: Path, capsys: Printed) -> None:
    document = simulated(capsys, dags, *DAY)
    assert [
        (fire["fire_at"][8:16], fire["schedule"], fire["dag"]) for fire in document["fires"]
    ] == [
        ("28T12:00", "stock.often", "stock"),
        ("28T15:00", "books", "books"),
        ("28T23:00", "books", "books"),
        ("29T00:00", "stock.often", "stock"),
        ("29T04:30", "stock.early", "stock"),
        ("29T06:00", "books", "books"),
    ]
    assert document["starts"] == 6
    assert any("calendar `closed`" in note for note in document["notes"])
    assert any("1 schedule depends on how runs go" in note for note in document["notes"])


def test_what_a_change_of_clocks_does_is_noted(dags: Path, capsys: Printed) -> None:
    head, _, _ = SHOP.partition("@dag(schedule=[")
    (dags / "shop.py").write_text(head.replace("0 */8 * * *", "30 2 * * *"))
    [fire] = simulated(capsys, dags, *DAY)["fires"]
    assert fire["fire_at"] == "2026-03-29T01:00:00Z"
    assert "moved out of a gap" in fire["note"]


def test_files_that_cannot_be_read_are_told_and_the_rest_is_shown(
    dags: Path, capsys: Printed
) -> None:
    (dags / "broken.py").write_text("import mainspring\nraise RuntimeError('no')\n")
    document = simulated(capsys, dags, *DAY, code=1)
    assert document["starts"] == 6
    assert document["problems"][0]["file"] == "broken.py"
    assert run_command(["simulate", str(dags), *DAY]) == 1
    told = capsys.readouterr()
    assert "6 starts of 3 schedules" in told.out
    assert "not read: broken.py:2" in told.err


def test_a_folder_that_is_not_there_is_an_error(dags: Path, capsys: Printed) -> None:
    assert run_command(["simulate", str(dags / "none")]) == 2
    assert "there is no folder" in capsys.readouterr().err
