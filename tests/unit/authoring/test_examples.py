"""The examples are read without a problem, and do what they say, without a database."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mainspring import Dag
from mainspring.bundles.read import read_bundle
from mainspring.testing import RunResult, edges_of, run_dag

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)


def example(name: str) -> Dag[...]:
    found: Dag[...] = getattr(importlib.import_module(name), name)
    return found


def run(example_name: str, /, **given: Any) -> RunResult:
    return run_dag(example(example_name), **given)


async def test_the_examples_are_read_without_a_problem_and_each_is_in_the_list() -> None:
    report = await read_bundle(EXAMPLES)
    assert report.problems == []
    names = [
        "commands",
        "daily_sales",
        "etl",
        "fan_out",
        "flaky",
        "hello",
        "http_shop",
        "long_task",
        "nightly",
    ]
    assert report.files == {name: f"{name}.py" for name in names}
    page = (EXAMPLES / "README.md").read_text()
    assert [name for name in names if f"[{name}.py]({name}.py)" not in page] == []


def test_hello_greets() -> None:
    result = run("hello", name="Ada")
    assert result["say"].result == "Hello, Ada! The sun is out."
    assert {task.attempts for task in result} == {1}


def test_daily_sales_retries_once_and_reports() -> None:
    result = run("daily_sales", region="us")
    assert result["report"].result.startswith("us: ")
    assert [task.name for task in result if task.attempts > 1] == ["fetch_rates"]
    assert "boston" in result["report"].log
    assert result.order[-1] == "close_day"


def test_daily_sales_runs_each_morning_of_each_region() -> None:
    result = run("daily_sales", fire_at=datetime(2026, 11, 15, 11, 30, tzinfo=UTC), schedule="us")
    assert result.parameters == {"region": "us"}
    assert result["report"].result.startswith("us: ")


def test_nightly_is_about_the_day_of_its_fire() -> None:
    # Two in the morning in Berlin, whatever the clock shows now.
    result = run("nightly", fire_at=datetime(2026, 11, 15, 1, tzinfo=UTC))
    assert result["choose_day"].result == "2026-11-14"
    assert run("nightly", day="2026-11-02")["choose_day"].result == "2026-11-02"


def test_etl_keeps_what_makes_sense() -> None:
    result = run("etl")
    assert result["transform"].log == "1 of 4 rows make no sense\n"
    assert result["summarize"].result == {"ada": 5350, "bob": 899}
    file = Path(result["load"].result)
    assert file.read_text() == "1,ada,1250\n2,bob,899\n3,ada,4100\n"
    file.unlink()


def test_etl_has_nothing_to_do_in_the_future() -> None:
    result = run("etl", day="9999-12-31")
    assert result.state == "succeeded"
    assert set(result.states.values()) == {"skipped"}


def test_fan_out_joins_all_parts() -> None:
    result = run("fan_out", text="one two two")
    assert result["join"].result == "9 letters, at most 3 different words"
    parts = {before for before, after in edges_of(example("fan_out")) if after == "join"}
    assert len(parts) == 16
    # Side by side: all take as long as the longest.
    assert result["join"].began_seconds == max(result[part].ended_seconds or 0 for part in parts)


def test_fan_out_does_not_join_if_a_part_fails() -> None:
    result = run("fan_out", fail={"count_part_3": ValueError("no")})
    assert result["join"].state == "upstream_failed"
    assert result["count_part_4"].state == "succeeded"


def test_flaky_succeeds_at_the_third_attempt() -> None:
    result = run("flaky")
    assert result["call_service"].attempts == 3
    assert result.elapsed_seconds == 1 + 1.5
    assert result["store"].result == "it answered at attempt 3; stored under 1/store/1"


def test_flaky_gives_up_in_a_storm_and_on_a_wrong_password() -> None:
    assert run("flaky", weather="stormy")["call_service"].attempts == 1
    wrong = importlib.import_module("flaky").WrongPassword
    assert run("flaky", fail={"call_service": wrong("?")})["call_service"].attempts == 1


def test_commands_are_run_and_read() -> None:
    result = run("commands")
    assert result["report"].result.startswith("/usr/bin on ")
    assert result["who_am_i"].result == "run 1, task who_am_i, attempt 1"


def test_an_order_by_http_is_asked_for_twice_and_placed_once() -> None:
    result = run("http_shop")
    assert result["confirm"].result == "ordered tea for Ada, 1 time; the shop had 12"
    busy, placed = result["order"].tries
    assert "answered 503" in str(busy.error)
    assert str(placed.state) == "succeeded"


def test_what_is_sold_out_is_not_asked_for_again() -> None:
    result = run("http_shop", item="coffee")
    assert result["order"].attempts == 1
    assert result["confirm"].state == "upstream_failed"


def test_a_long_task_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = run("long_task", pages=10, seconds=600)
    late, second = result["copy_pages"].tries
    assert str(late.state) == "timed_out"
    assert late.log.endswith("copied page 6\nputting the copier away\n")
    assert late.progress[-1] == (60.0, "page 6 of 10")
    assert second.log.startswith("going on after page 6\n")
    assert result["copy_pages"].result == 4
    assert list(tmp_path.iterdir()) == []
