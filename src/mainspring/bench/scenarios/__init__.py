"""The scenarios: what each needs on its stage, and the function that measures it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from mainspring.bench.scenarios.api import measure_api
from mainspring.bench.scenarios.concurrent import measure_concurrent
from mainspring.bench.scenarios.dag import measure_dag
from mainspring.bench.scenarios.history import measure_history
from mainspring.bench.scenarios.isolation import measure_isolation
from mainspring.bench.scenarios.latency import measure_latency
from mainspring.bench.scenarios.throughput import measure_throughput
from mainspring.bench.scenarios.tick import measure_tick
from mainspring.bench.stage import Stage


class Scenario(msgspec.Struct, frozen=True):
    measure: Callable[[Stage], Awaitable[dict[str, Any]]]
    dag_files: tuple[str, ...]
    words: str
    slots: str | None = "async=1000"
    """As for `mainspring worker --slots`; None for its default."""
    one_worker: bool = False
    """Whether `--workers` is of no use here."""
    server: bool = False
    """Whether a server for HTTP is there, too."""


SCENARIOS: dict[str, Scenario] = {
    "throughput": Scenario(
        measure_throughput, ("one",), "runs of one task: as fast as it goes, and at a given rate"
    ),
    "latency": Scenario(
        measure_latency, ("one", "graphs"), "one run at a time on an idle system", one_worker=True
    ),
    "dag": Scenario(measure_dag, ("graphs", "fans"), "chains, fans and small dags"),
    "history": Scenario(
        measure_history, ("one",), "with millions of finished runs, and under an open snapshot"
    ),
    "isolation": Scenario(
        measure_isolation, ("kinds",), "tasks in processes, in threads and as commands", slots=None
    ),
    "concurrent": Scenario(
        measure_concurrent,
        ("sleepers",),
        "10,000 tasks at the same time on one worker",
        slots="async=10000",
        one_worker=True,
    ),
    "tick": Scenario(
        measure_tick, ("one",), "schedules: none due, 10,000 at once, and a steady stream"
    ),
    "api": Scenario(
        measure_api,
        ("one", "fans"),
        "the server: jobs that are made, lists of runs, one large run",
        one_worker=True,
        server=True,
    ),
}
