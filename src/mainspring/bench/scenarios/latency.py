"""One run at a time on an idle system: how long until it starts, and from task to task.

A run is triggered as an application would do it. The next one comes when the last has ended, after
a pause of random length, so that no rhythm of ours meets one of theirs.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

from mainspring.bench import tables
from mainspring.bench.numbers import percentile
from mainspring.bench.stage import Stage

_WARM_UP_RUNS = 20
_PAUSE_SECONDS = (0.002, 0.02)
_CHAIN_TASKS = 40


async def measure_latency(stage: Stage) -> dict[str, Any]:
    samples = stage.settings.samples
    await stage.dag("bench_one")
    await stage.dag("bench_chain_40")
    stage.watcher.phase("one run at a time: warming up")
    await _one_by_one(stage, "bench_one", min(_WARM_UP_RUNS, samples))
    await _one_by_one(stage, "bench_chain_40", 1)
    stage.watcher.phase(f"{samples:,} runs, one at a time")
    pickups = await tables.pickups_ms(stage.watch, await _one_by_one(stage, "bench_one", samples))
    chains = -(-samples // _CHAIN_TASKS)
    stage.watcher.phase(f"{chains:,} chains of {_CHAIN_TASKS} tasks, one at a time")
    ids = await _one_by_one(stage, "bench_chain_40", chains)
    steps = await tables.steps_ms(stage.watch, ids)
    return {
        "pickup_p50_ms": round(percentile(pickups, 0.5), 3),
        "pickup_p99_ms": round(percentile(pickups, 0.99), 3),
        "step_p50_ms": round(percentile(steps, 0.5), 3),
        "step_p99_ms": round(percentile(steps, 0.99), 3),
        "chain40_ms": round(percentile(await tables.lengths_ms(stage.watch, ids), 0.5), 1),
        "pickup_max_ms": round(max(pickups), 3),
        "step_max_ms": round(max(steps), 3),
        "samples": len(pickups),
    }


async def _one_by_one(stage: Stage, dag_name: str, count: int) -> list[int]:
    ids = []
    for number in range(count):
        run_id = await stage.trigger(dag_name)
        ids.append(run_id)
        # Nobody asks before it can have started: the question would be in its way.
        await asyncio.sleep(random.uniform(*_PAUSE_SECONDS))
        await stage.finish(run_id)
        if number % 20 == 0:
            stage.watcher.live(f"{number:,} of {count:,}")
    return ids
