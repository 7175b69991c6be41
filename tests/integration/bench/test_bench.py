"""`mainspring bench`, very small, as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytestmark = pytest.mark.slow

KEYS = {
    "throughput": {
        "saturated_per_s",
        "ceiling_inserts_per_s",
        "offered_per_s",
        "done_per_s",
        "backlog_end",
        "lag_p50_ms",
        "lag_p99_ms",
        "cores",
    },
    "latency": {"pickup_p50_ms", "pickup_p99_ms", "step_p50_ms", "step_p99_ms", "chain40_ms"},
    "dag": {"tasks_per_s", "fanout_100_ms", "fanout_1000_ms", "fanout_10000_ms"},
}


def _bench(*arguments: object, home: Path) -> subprocess.Popen[str]:
    environment = {name: v for name, v in os.environ.items() if not name.startswith("MAINSPRING_")}
    return subprocess.Popen(
        [sys.executable, "-m", "mainspring", "bench", *map(str, arguments)],
        # The throw-away home is made beside this one, which is not touched.
        env={**environment, "MAINSPRING_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_small_benchmark_tells_all_figures_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "homes"
    figures, baseline = tmp_path / "figures.json", tmp_path / "baseline.json"
    process = _bench(
        *("throughput", "latency", "dag", "--seconds", 0.5, "--samples", 5, "--rate", 200),
        *("--json", figures, "--save", baseline),
        home=folder / "home",
    )
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert list(folder.iterdir()) == []

    document: dict[str, Any] = msgspec.json.decode(figures.read_bytes())
    assert document["violations"] == 0
    assert document["machine"]["settings"]["fsync"] == "on"
    for scenario, keys in KEYS.items():
        assert keys <= document[scenario].keys()
        assert all(document[scenario][key] is not None for key in keys), document[scenario]
    assert document["throughput"]["offered_per_s"] == 200
    assert "✓ all held" in out
    ratios = msgspec.json.decode(baseline.read_bytes())["ratios"]
    # Not the saturated rate: within half a second a busy machine may end nothing.
    assert {"latency.step_p50_ms", "dag.tasks_per_s"} <= ratios.keys()


def test_a_small_benchmark_of_ticks_fires_every_schedule(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    process = _bench(
        *("tick", "--schedules", 500, "--rate", 50, "--seconds", 1, "--json", figures),
        home=tmp_path / "homes" / "home",
    )
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    document: dict[str, Any] = msgspec.json.decode(figures.read_bytes())
    assert document["violations"] == 0
    tick = document["tick"]
    assert tick["schedules"] == 500
    assert tick["offered_per_s"] == tick["fired_per_s"] == 50
    for key in ("idle_tick_ms", "due_10k_lag_p99_ms", "lag_p99_ms"):
        assert tick[key] > 0


def test_a_small_benchmark_of_the_server_makes_jobs_that_all_run(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    process = _bench(
        *("api", "--stored-runs", 2_000, "--seconds", 0.5, "--json", figures),
        home=tmp_path / "homes" / "home",
    )
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    document: dict[str, Any] = msgspec.json.decode(figures.read_bytes())
    assert document["violations"] == 0
    api = document["api"]
    assert api["stored_runs"] == 2_000
    keys = ("jobs_per_s", "jobs_bulk_per_s", "runs_list_per_s", "runs_list_p99_ms")
    for key in (*keys, "run_detail_1000_ms", "gateway_tasks_per_s"):
        assert api[key] > 0
    assert 0 < api["gateway_connections"] <= 20


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_benchmark_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "homes"
    process = _bench("throughput", "--seconds", 60, home=folder / "home")
    assert process.stdout is not None
    for line in process.stdout:
        if "warming up" in line:
            break
    process.send_signal(number)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "a second, 60 s" not in out, "it went on measuring"
    assert list(folder.iterdir()) == []


def test_a_database_with_runs_is_refused(database_with_a_run: str, tmp_path: Path) -> None:
    process = _bench("--database-url", database_with_a_run, home=tmp_path / "homes" / "home")
    _, err = process.communicate()
    assert process.returncode == 2
    assert "holds runs" in err
    assert "--yes" in err
