"""Ten thousand tasks at the same time on one worker, and whether it still keeps its lease."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from mainspring.bench import cpu, tables
from mainspring.bench.stage import Stage
from mainspring.config import Leases

TASKS = 10_000
_SECONDS = 20.0
_SECONDS_MIN = 12.0
"""Long enough for all to have started, and for two renewals."""
_BATCH = 1_000
_SLACK_SECONDS = 1.0
_LOOK_SECONDS = 0.1


class Seen(msgspec.Struct):
    """The worst of all looks."""

    rss_mb: float = 0.0
    beat_age_seconds: float = 0.0


async def measure_concurrent(stage: Stage) -> dict[str, Any]:
    dag = await stage.dag("bench_sleep")
    seconds = max(stage.settings.length(_SECONDS), _SECONDS_MIN)
    seen = Seen()
    stage.watcher.phase(f"{TASKS:,} tasks that sleep", seconds)
    looking = asyncio.create_task(_look(stage, seen))
    try:
        ids: list[int] = []
        while len(ids) < TASKS:
            ids += await stage.load.make(dag, _BATCH, parameters=b'{"seconds":%g}' % seconds)
        await stage.drain()
        if looking.done():
            looking.result()
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    renew_seconds = Leases().renew_seconds
    return {
        "tasks": await tables.at_the_same_time(stage.watch, ids),
        "rss_mb": round(seen.rss_mb) if cpu.KNOWN else None,
        "reaped": await tables.reaped_workers(stage.watch),
        "lost": await tables.lost_attempts(stage.watch, stage.first_id),
        "beat_age_max_s": round(seen.beat_age_seconds, 2),
        "beats_on_time": seen.beat_age_seconds <= renew_seconds + _SLACK_SECONDS,
    }


async def _look(stage: Stage, seen: Seen) -> None:
    while True:
        (worker,) = stage.team.worker_pids
        seen.rss_mb = max(seen.rss_mb, cpu.rss_mb_of(worker))
        age = await tables.oldest_beat_seconds(stage.watch)
        seen.beat_age_seconds = max(seen.beat_age_seconds, age)
        stage.watcher.live(f"{seen.rss_mb:,.0f} MB, last beat {age:.1f} s ago")
        await asyncio.sleep(_LOOK_SECONDS)
