"""`mainspring dag test`: one run here, without a database."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import msgspec
import pytest

FILE = """
from mainspring import RetryPolicy, Schedule, Skip, context, dag, task

tried = []

@task(retry=RetryPolicy(attempts=3, first="90s"))
def extract(region: str) -> list[int]:
    print("asking", region)
    tried.append(1)
    if len(tried) < 2:
        raise ConnectionError("hung up")
    return [1, 2, 3]

@task
async def total(numbers: list[int]) -> int:
    return sum(numbers)

@task
def fails(number: list[int]) -> list[int]:
    raise ValueError(f"not {number}")

@task
def skips(number: int) -> int:
    raise Skip("nothing to do")

@dag
def good(region: str = "eu"):
    skips(total(extract(region)))

@dag
def bad(region: str):
    total(fails(extract(region)))

@task
def tell(region: str) -> list:
    here = context()
    return [region, here.schedule, here.fire_at, here.data_interval]

@dag(schedule=[
    Schedule("@daily", name="night", parameters={"region": "us"}),
    Schedule("easter:-2 09:00", name="friday"),
])
def timed(region: str = "eu"):
    tell(region)
"""


@pytest.fixture
def dags(tmp_path: Path) -> Path:
    (tmp_path / "sample.py").write_text(FILE)
    return tmp_path


async def run_test(dags: Path, *arguments: str) -> tuple[int, str, str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAINSPRING_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mainspring", "dag", "test", *arguments, "--dags", str(dags)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_a_good_dag_runs_with_its_retries_and_logs(dags: Path) -> None:
    code, out, err = await run_test(dags, "good")
    assert (code, err) == (0, "")
    assert "extract │ asking eu" in out
    assert "attempt 1 of 3: ConnectionError: hung up" in out
    assert "next attempt in 1 min " in out
    assert "shortened to 1 s" in out
    assert "→ 6" in out
    assert "skipped" in out
    assert out.endswith("✓ succeeded good\n")


async def test_a_bad_dag_ends_with_1_and_says_where(dags: Path) -> None:
    code, out, _ = await run_test(dags, "bad", "-p", "region=us", "--json")
    assert code == 1
    answer = msgspec.json.decode(out)
    assert answer["state"] == "failed"
    assert [task["state"] for task in answer["tasks"]] == [
        "succeeded",
        "failed",
        "upstream_failed",
    ]
    assert answer["tasks"][1]["attempts"][0]["error"]["message"] == "not [1, 2, 3]"


async def test_slips_are_told_before_anything_runs(dags: Path) -> None:
    assert (await run_test(dags, "bad"))[0] == 2
    code, _, err = await run_test(dags, "godo")
    assert code == 2
    assert "did you mean `good`?" in err


async def test_a_broken_file_is_named(dags: Path) -> None:
    (dags / "broken.py").write_text("import mainspring\ndef (:\n")
    code, _, err = await run_test(dags, "elsewhere")
    assert code == 1
    assert "broken.py:2" in err


CONTEXT = """
from mainspring import context, dag, task, RetryPolicy

@task(retry=RetryPolicy(attempts=2, first="10ms"))
def tell() -> list:
    here = context()
    if here.attempt == 1:
        print("first", here.fencing_token, here.idempotency_key, here.attempt_key)
        raise ConnectionError("not yet")
    return [here.run_id, here.fencing_token, here.idempotency_key, here.attempt_key,
            dict(here.parameters), here.due_at.isoformat()]

@dag
def telling(day: str):
    tell()
"""


async def test_tasks_have_a_context_of_a_run_that_no_database_has(dags: Path) -> None:
    (dags / "context.py").write_text(CONTEXT)
    runs = []
    for _ in range(2):
        code, out, _ = await run_test(dags, "telling", "-p", "day=today", "--json")
        assert code == 0
        [task] = msgspec.json.decode(out)["tasks"]
        run_id, token, key, attempt_key, parameters, due_at = task["result"]
        assert task["log"] == f"first 1 {run_id}/tell/1 telling/{run_id}/tell/1\n"
        assert (token, key) == (2, f"{run_id}/tell/1"), "below all tokens of databases"
        assert attempt_key == f"telling/{run_id}/tell/2"
        assert parameters == {"day": "today"}
        assert due_at.endswith("+00:00")
        runs.append(run_id)
    assert runs[0] != runs[1]


async def test_a_dag_runs_as_its_schedule_would(dags: Path) -> None:
    fire = ("--fire-at", "2026-11-15T00:00:00Z")
    code, out, err = await run_test(dags, "timed", "--json", *fire, "--schedule", "night")
    assert code == 0, err
    [told] = msgspec.json.decode(out)["tasks"]
    interval = ["2026-11-14T00:00:00Z", "2026-11-15T00:00:00Z"]
    assert told["result"] == ["us", "timed.night", "2026-11-15T00:00:00Z", interval]
    code, out, _ = await run_test(dags, "timed", "--json", *fire, "--schedule", "friday")
    [told] = msgspec.json.decode(out)["tasks"]
    assert told["result"][3][0] == "2026-04-03T09:00:00Z"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fire-at", "soon"), "`--fire-at`: `soon` is no instant"),
        (("--fire-at", "2026-11-15T00:00:00Z"), "has several schedules"),
        (("--schedule", "night"), "`schedule` belongs to a fire"),
    ],
)
async def test_a_fire_that_cannot_be_is_told(
    dags: Path, options: tuple[str, ...], said: str
) -> None:
    code, _, err = await run_test(dags, "timed", *options)
    assert code == 2
    assert said in err
