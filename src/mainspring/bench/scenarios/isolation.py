"""What it costs to run a task in a process of its own, in a thread, or as a command."""

from __future__ import annotations

from typing import Any

from mainspring.bench.stage import Stage

_SECONDS = 5.0
_QUEUED = {"process": 2_000, "thread": 2_000, "command": 500}


async def measure_isolation(stage: Stage) -> dict[str, Any]:
    seconds = stage.settings.length(_SECONDS)
    figures: dict[str, Any] = {}
    cpu_us: dict[str, Any] = {}
    for kind, queued in _QUEUED.items():
        dag = await stage.dag(f"bench_{kind}")
        saturated = await stage.saturate(
            [dag], seconds, words=f"{kind} tasks", queued=queued, batch=queued // 10
        )
        figures[f"{kind}_per_s"] = round(saturated.per_s)
        cpu_us[f"{kind}_cpu_us"] = saturated.cpu_us
    return figures | cpu_us
