"""Runs of one task that does nothing: as fast as it goes, and at a given rate."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from mainspring.bench import cpu, tables
from mainspring.bench.load import Offer, clock_ahead_seconds
from mainspring.bench.stage import Stage
from mainspring.bench.tables import Bin, Window
from mainspring.store.dags import DagRow

_SATURATED_SECONDS = 15.0
_OFFERED_SECONDS = 60.0
_BACKLOG_SECONDS = 0.5
"""What has been due for longer and is not done has piled up; the rest is merely under way."""
_BINS_MAX = 60
_BIN_SECONDS = 0.5


async def measure_throughput(stage: Stage) -> dict[str, Any]:
    dag = await stage.dag("bench_one")
    saturated = await stage.saturate([dag], stage.settings.length(_SATURATED_SECONDS))
    saturated_bins = await _bins(stage, saturated.window)
    offered = await _offer(stage, dag)
    return {
        "saturated_per_s": round(saturated.per_s),
        **offered,
        "saturated_hot_runs": saturated.hot_runs,
        "saturated_cores": _rounded(saturated.spent.cores),
        "saturated_cpu_us": saturated.cpu_us,
        "saturated_series": saturated_bins,
    }


async def _offer(stage: Stage, dag: DagRow) -> dict[str, Any]:
    settings = stage.settings
    seconds = settings.length(_OFFERED_SECONDS)
    words = f"{settings.rate:,} runs a second"
    ahead = await clock_ahead_seconds(stage.watch)
    over = asyncio.Event()
    offering = asyncio.create_task(Offer(stage.load, dag, settings.rate).run(ahead, over.is_set))
    try:
        warm_up = stage.begin_load()
        stage.watcher.phase(f"{words}: warming up", warm_up)
        await _watch_offer(stage, offering, warm_up)
        stage.watcher.phase(words, seconds)
        cpu_before, begin = await stage.read_cpu(), await tables.now(stage.watch)
        made_before = stage.load.made
        await _watch_offer(stage, offering, seconds)
        end, cpu_after = await tables.now(stage.watch), await stage.read_cpu()
        made = stage.load.made - made_before
    finally:
        stage.end_load()
        over.set()
        await asyncio.gather(offering, return_exceptions=True)
    stage.watcher.phase(f"{words}: running the queue empty")
    await stage.drain()
    window = Window(begin, end, stage.first_id)
    done = await tables.done_in(stage.watch, window)
    lag = await tables.lag_in(stage.watch, window)
    spent = cpu.spent(cpu_before, cpu_after)
    return {
        "offered_per_s": round(settings.rate),
        "done_per_s": round(done / window.seconds),
        "backlog_end": await tables.open_at_end(stage.watch, window, _BACKLOG_SECONDS),
        "under_way_end": await tables.open_at_end(stage.watch, window),
        "lag_p50_ms": None if lag is None else round(lag.p50_ms, 2),
        "lag_p99_ms": None if lag is None else round(lag.p99_ms, 2),
        "cores": _rounded(spent.cores),
        "lag_max_ms": None if lag is None else round(lag.max_ms, 2),
        "made_per_s": round(made / window.seconds),
        "made_p99_ms": None if lag is None else round(lag.made_p99_ms, 2),
        "cores_without_server": _rounded(spent.cores_without_server),
        "cpu_us": spent.each_us(done),
        "series": await _bins(stage, window),
    }


async def _watch_offer(stage: Stage, offering: asyncio.Task[None], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    made, at = stage.load.made, time.monotonic()
    while (left := deadline - time.monotonic()) > 0:
        await asyncio.wait([offering], timeout=min(0.5, left))
        if offering.done():
            offering.result()
        stage.team.check()
        rate = (stage.load.made - made) / (time.monotonic() - at)
        made, at = stage.load.made, time.monotonic()
        stage.watcher.live(f"{rate:,.0f}/s enqueued")


async def _bins(stage: Stage, window: Window) -> list[Bin]:
    count = max(1, min(_BINS_MAX, round(window.seconds / _BIN_SECONDS)))
    return await tables.bins_of(stage.watch, window, count)


def _rounded(cores: float | None) -> float | None:
    return None if cores is None else round(cores, 2)
