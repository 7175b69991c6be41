"""Engines and workers tell what they do, if they are asked to."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx2

from tests.support.team import Team


async def test_engine_and_worker_tell_fires_claims_retries_and_leases(
    database_url: str, tmp_path: Path
) -> None:
    async with Team(database_url, tmp_path) as team:
        team.write(
            "flaky.py",
            """
            @task(retry=RetryPolicy(attempts=2, first="10ms"))
            def once_more() -> None:
                effect("tried")
                if open(os.environ["EFFECTS"]).read().count("tried") == 1:
                    raise RuntimeError("not yet")

            @dag(schedule="* * * * * *")
            def flaky():
                once_more()
            """,
        )
        team.start_engine(MAINSPRING_METRICS_PORT="0")
        await team.known("flaky")
        await team.scheduled("flaky")
        engine = await team.until(lambda: _door(team, 1))
        team.start_worker("--metrics-port", "0")
        worker = await team.until(lambda: _door(team, 2))
        await team.until(lambda: _rises(worker, 'mainspring_attempts_total{outcome="succeeded"}'))
        told = await _figures(worker)
        assert told["mainspring_retries_total"] == 1
        assert told['mainspring_attempts_total{outcome="failed"}'] == 1
        assert told["mainspring_claimed_tasks_total"] >= 2
        assert told["mainspring_leases_lost_total"] == 0
        assert 0 < told["mainspring_lease_trusted_seconds"] <= team.lease_seconds
        for name in ("claim", "pickup", "completion", "lease_renewal"):
            assert told[f"mainspring_{name}_seconds_count"] >= 1, name
        told = await _figures(engine)
        assert told["mainspring_fires_total"] >= 1
        assert told["mainspring_fire_late_seconds_count"] == told["mainspring_fires_total"]
        assert told["mainspring_shards_held"] > 0
        assert told["mainspring_engine_leads"] == 1
        assert told["mainspring_reaped_workers_total"] == 0


async def _door(team: Team, number: int) -> str | None:
    found = re.findall(r"http://127\.0\.0\.1:\d+/metrics", team.log())
    return found[number - 1] if len(found) >= number else None


async def _rises(door: str, name: str) -> bool:
    return (await _figures(door)).get(name, 0.0) > 0


async def _figures(door: str) -> dict[str, float]:
    text = (await asyncio.to_thread(httpx2.get, door, trust_env=False)).text
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}
