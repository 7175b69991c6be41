"""Every figure that has a name: its words, its unit and its yardstick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Unit = Literal["/s", "ms", "µs", "MB", "", "cores"]
Against = Literal["ceiling", "commit", "insert"]


class Figure(msgspec.Struct, frozen=True):
    scenario: str
    key: str
    """Where it is among the figures of its scenario; a dot leads further down."""
    words: str
    unit: Unit
    against: Against | None = None
    kept: bool = False
    """Whether its ratio is kept in a baseline: those that are steady enough."""

    @property
    def name(self) -> str:
        return f"{self.scenario}.{self.key}"


FIGURES = (
    Figure("throughput", "saturated_per_s", "runs, saturated", "/s", "ceiling", kept=True),
    Figure("throughput", "ceiling_inserts_per_s", "raw ceiling: inserted rows", "/s"),
    Figure("throughput", "offered_per_s", "runs offered", "/s"),
    Figure("throughput", "done_per_s", "runs done of those", "/s", "ceiling"),
    Figure("throughput", "backlog_end", "backlog when the time was up", ""),
    Figure("throughput", "under_way_end", "under way when the time was up", ""),
    Figure("throughput", "lag_p50_ms", "due → start, p50", "ms", "commit"),
    Figure("throughput", "lag_p99_ms", "due → start, p99", "ms", "commit"),
    Figure(
        "throughput", "saturated_cpu_us.all", "CPU per run, saturated", "µs", "insert", kept=True
    ),
    Figure("throughput", "cpu_us.all", "CPU per run, at the rate offered", "µs", "insert"),
    Figure("throughput", "cores", "processors in use, all processes", "cores"),
    Figure("latency", "pickup_p50_ms", "enqueue → start, p50", "ms", "commit", kept=True),
    Figure("latency", "pickup_p99_ms", "enqueue → start, p99", "ms", "commit"),
    Figure("latency", "step_p50_ms", "task end → next start, p50", "ms", "commit", kept=True),
    Figure("latency", "step_p99_ms", "task end → next start, p99", "ms", "commit"),
    Figure("latency", "chain40_ms", "chain of 40 tasks", "ms", "commit", kept=True),
    Figure("dag", "tasks_per_s", "tasks in dags of 10", "/s", "ceiling", kept=True),
    Figure("dag", "chain_10_tasks_per_s", "of these: chains of 10", "/s", "ceiling"),
    Figure("dag", "wide_1_8_1_tasks_per_s", "of these: 1-8-1", "/s", "ceiling"),
    Figure("dag", "chain_10_cpu_us.all", "CPU per task, chains", "µs", "insert", kept=True),
    Figure("dag", "wide_1_8_1_cpu_us.all", "CPU per task, 1-8-1", "µs", "insert", kept=True),
    Figure("dag", "chain40_ms", "chain of 40 tasks", "ms", "commit"),
    Figure("dag", "fanout_100_ms", "fan of 100 and join", "ms", "commit"),
    Figure("dag", "fanout_1000_ms", "fan of 1,000 and join", "ms", "commit", kept=True),
    Figure("dag", "fanout_10000_ms", "fan of 10,000 and join", "ms", "commit"),
    Figure("history", "rate_0", "saturated, no history", "/s", "ceiling"),
    Figure("history", "rate_1m", "saturated, 1 million finished", "/s", "ceiling"),
    Figure("history", "rate_5m", "saturated, 5 million finished", "/s", "ceiling"),
    Figure("history", "rate_snapshot", "saturated, a snapshot held open", "/s", "ceiling"),
    Figure("isolation", "process_per_s", "tasks in processes", "/s", "ceiling"),
    Figure("isolation", "thread_per_s", "tasks in threads", "/s", "ceiling"),
    Figure("isolation", "command_per_s", "commands", "/s", "ceiling"),
    Figure("concurrent", "tasks", "tasks at the same time", ""),
    Figure("concurrent", "rss_mb", "memory of the worker and its host", "MB"),
    Figure("concurrent", "beat_age_max_s", "oldest heartbeat seen, seconds", ""),
    Figure("concurrent", "reaped", "workers given up", ""),
    Figure("tick", "schedules", "schedules stored", ""),
    Figure("tick", "idle_tick_ms", "a tick with nothing due", "ms", "commit"),
    Figure("tick", "due_10k_lag_p50_ms", "10,000 due at once: due → start, p50", "ms", "commit"),
    Figure("tick", "due_10k_lag_p99_ms", "10,000 due at once: due → start, p99", "ms", "commit"),
    Figure("tick", "offered_per_s", "fires due", "/s"),
    Figure("tick", "fired_per_s", "fired of those", "/s", "ceiling"),
    Figure("tick", "backlog_end", "backlog when the time was up", ""),
    Figure("tick", "lag_p50_ms", "due → start, p50", "ms", "commit"),
    Figure("tick", "lag_p99_ms", "due → start, p99", "ms", "commit"),
    Figure("tick", "cpu_us.all", "CPU per fire", "µs", "insert"),
    Figure("tick", "cores", "processors in use, all processes", "cores"),
    Figure("api", "jobs_per_s", "jobs made one by one, `POST /jobs`", "/s", "ceiling"),
    Figure("api", "jobs_bulk_per_s", "jobs made in bulk, 2,000 a request", "/s", "ceiling"),
    Figure("api", "stored_runs", "finished runs stored", ""),
    Figure("api", "runs_list_per_s", "lists of 50 runs, `GET /runs`", "/s"),
    Figure("api", "runs_list_p99_ms", "lists of 50 runs, p99", "ms", "commit"),
    Figure("api", "run_detail_1000_ms", "one run of 1,002 tasks, p50", "ms", "commit"),
    Figure("api", "gateway_tasks_per_s", "tasks of remote workers", "/s", "ceiling"),
    Figure("api", "gateway_beat_late_p99_ms", "their beats: due → answered, p99", "ms"),
    Figure("api", "gateway_late_beats", "beats that came too late", ""),
    Figure("api", "gateway_connections", "connections of the server to the database", ""),
)

Results = Mapping[str, Mapping[str, Any]]
"""Figures by scenario, each with the yardstick of that scenario among them."""

_YARDSTICKS: Mapping[Against, str] = {
    "ceiling": "ceiling_inserts_per_s",
    "commit": "commit_ms",
    "insert": "insert_cpu_us",
}


def value_of(figure: Figure, results: Results) -> float | None:
    value: Any = results.get(figure.scenario, {})
    for step in figure.key.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value if isinstance(value, (int, float)) else None


def ratio_of(figure: Figure, results: Results) -> float | None:
    """To what the machine does without us: a share of its rate, a multiple of its times."""
    value = value_of(figure, results)
    if value is None or figure.against is None:
        return None
    yardstick = results[figure.scenario].get(_YARDSTICKS[figure.against])
    return value / yardstick if yardstick else None


# --- as people read them ------------------------------------------------------------------


def value_words(figure: Figure, value: float) -> str:
    match figure.unit:
        case "/s":
            return f"{value:,.0f}/s"
        case "ms":
            return f"{value:,.2f} ms" if value < 100 else f"{value:,.0f} ms"
        case "µs":
            return f"{value:,.1f} µs"
        case "MB":
            return f"{value:,.0f} MB"
        case "cores":
            return f"{value:.2f}"
        case _:
            return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def ratio_words(figure: Figure, ratio: float) -> str:
    match figure.against:
        case "ceiling":
            return f"{ratio:.1%} of the ceiling"
        case "commit":
            return f"{ratio:,.1f} commits"
        case _:
            return f"{ratio:,.1f} inserted rows"


# --- where the time goes ------------------------------------------------------------------

CPU_FIGURES = {
    "throughput.saturated_cpu_us": "saturated",
    "throughput.cpu_us": "offered",
    "dag.chain_10_cpu_us": "chain of 10",
    "dag.wide_1_8_1_cpu_us": "1-8-1",
    "isolation.process_cpu_us": "process",
    "isolation.thread_cpu_us": "thread",
    "isolation.command_cpu_us": "command",
    "tick.cpu_us": "fire",
}
"""CPU time by part, and whose it is."""


def cpu_columns(results: Results) -> dict[str, dict[str, float]]:
    """Microseconds by part, for all that was measured."""
    found = {}
    for name, words in CPU_FIGURES.items():
        scenario, _, key = name.partition(".")
        if parts := results.get(scenario, {}).get(key):
            found[words] = parts
    return found


def cpu_order(part: str) -> tuple[int, str]:
    order = ("postgresql", "worker", "hosts", "engine", "load generator", "all")
    return order.index(part.partition(":")[0]), part.replace("rest", "~")
