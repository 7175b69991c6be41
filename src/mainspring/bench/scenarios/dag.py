"""Runs of many tasks: a long chain, wide fans, and small dags as fast as they go."""

from __future__ import annotations

from typing import Any

from mainspring.bench import tables
from mainspring.bench.numbers import percentile
from mainspring.bench.stage import Stage

_SECONDS = 10.0
_WIDTHS = (100, 1_000, 10_000)
_REPEATS_MAX = 5


async def measure_dag(stage: Stage) -> dict[str, Any]:
    alone = {"chain40_ms": await _length_ms(stage, "bench_chain_40")}
    for width in _WIDTHS:
        alone[f"fanout_{width}_ms"] = await _length_ms(stage, f"bench_fan_{width}")
    chain, wide = await stage.dag("bench_chain_10"), await stage.dag("bench_1_8_1")
    # Half of the time each; a queue of 2,000 runs is 20,000 tasks.
    seconds = stage.settings.length(_SECONDS) / 2
    chains = await stage.saturate([chain], seconds, words="chains of 10", queued=2_000, batch=100)
    wides = await stage.saturate([wide], seconds, words="dags of 1-8-1", queued=2_000, batch=100)
    tasks = chains.tasks + wides.tasks
    return {
        "tasks_per_s": round(tasks / (chains.window.seconds + wides.window.seconds)),
        **alone,
        "chain_10_tasks_per_s": round(chains.per_s),
        "wide_1_8_1_tasks_per_s": round(wides.per_s),
        "chain_10_cpu_us": chains.cpu_us,
        "wide_1_8_1_cpu_us": wides.cpu_us,
    }


async def _length_ms(stage: Stage, dag_name: str) -> float:
    """The median of a few; the first is left out, since it starts what later ones find."""
    stage.watcher.phase(f"`{dag_name.removeprefix('bench_')}`, one at a time")
    await stage.dag(dag_name)
    repeats = max(1, min(_REPEATS_MAX, stage.settings.samples // 200))
    ids = []
    for number in range(repeats + 1):
        stage.watcher.live(f"{number} of {repeats}")
        run_id = await stage.trigger(dag_name)
        await stage.finish(run_id)
        ids.append(run_id)
    return round(percentile(await tables.lengths_ms(stage.watch, ids[1:]), 0.5), 1)
