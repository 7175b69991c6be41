"""The main road: a place, then each scenario on a stage of its own, then the figures."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from mainspring.bench.machine import describe_machine
from mainspring.bench.numbers import median_of
from mainspring.bench.place import Place, opened_place
from mainspring.bench.scenarios import SCENARIOS
from mainspring.bench.settings import Settings
from mainspring.bench.stage import staged
from mainspring.bench.watcher import Watcher
from mainspring.bench.yardstick import mean_of
from mainspring.client.link import reached


class Outcome(msgspec.Struct, frozen=True):
    machine: dict[str, Any]
    violations: dict[str, int]
    """Promises that did not hold, and how many rows broke each."""
    results: dict[str, dict[str, Any]]
    """Figures by scenario: medians, if there were several runs."""
    leaves_runs: bool
    """Whether the runs stay in the given database."""

    def document(self) -> dict[str, Any]:
        """What `--json` writes."""
        return {
            "machine": self.machine,
            "violations": sum(self.violations.values()),
            **self.results,
            "broken_promises": self.violations,
        }


async def run_benchmark(names: Sequence[str], settings: Settings, watcher: Watcher) -> Outcome:
    """Measure the named scenarios; whatever happens, nothing of it is left behind."""
    _heed_sigterm()
    async with opened_place(settings) as place:
        async with reached(place.url, name="bench look") as connection:
            machine = await describe_machine(
                connection, embedded=place.embedded, folder=place.folder
            )
        violations: dict[str, int] = {}
        results: dict[str, dict[str, Any]] = {}
        for name in names:
            measured = []
            for repetition in range(1, settings.runs + 1):
                watcher.scenario(name, repetition, settings.runs)
                measured.append(await _measure(name, place, settings, watcher, violations))
            results[name] = median_of(measured)
        watcher.phase("tidying up")
        leaves_runs = not place.owns_schema
    return Outcome(machine, violations, results, leaves_runs)


async def _measure(
    name: str, place: Place, settings: Settings, watcher: Watcher, violations: dict[str, int]
) -> dict[str, Any]:
    scenario = SCENARIOS[name]
    async with staged(
        place,
        settings,
        watcher,
        dag_files=scenario.dag_files,
        slots=scenario.slots,
        workers=1 if scenario.one_worker else settings.workers,
        server=scenario.server,
        violations=violations,
    ) as stage:
        figures: dict[str, Any] = msgspec.to_builtins(await scenario.measure(stage))
    return figures | msgspec.structs.asdict(mean_of(stage.yardsticks))


def _heed_sigterm() -> None:
    """SIGTERM ends us as Ctrl-C does: through every `finally`."""
    task = asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError, RuntimeError, ValueError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
