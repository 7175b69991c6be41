"""What `mainspring.testing` promises, and what pytest pays for having it around."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

from mainspring import testing


def test_public_names_are_exactly_these() -> None:
    assert testing.__all__ == [
        "AttemptResult",
        "Lost",
        "RunResult",
        "TaskResult",
        "TimedOut",
        "edges_of",
        "run_dag",
        "tasks_of",
    ]
    for name in testing.__all__:
        assert getattr(testing, name) is not None


def test_pytest_finds_the_fixture_by_itself() -> None:
    [found] = entry_points(group="pytest11", name="mainspring")
    assert found.value == "mainspring.testing.pytest_plugin"


def test_the_plugin_loads_no_database_driver_before_a_test_asks() -> None:
    script = (
        "import sys, mainspring.testing.pytest_plugin; "
        "print([m for m in ('asyncpg', 'uvloop', 'mainspring.embedded') if m in sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert told.stdout == "[]\n"
