"""`python -m tests.fault.failover`: how late schedules fire when an engine is gone.

Three engines fire schedules every second or two. One is killed, one is frozen, one loses its
network, and then each is restarted in turn. What is printed are the latest fires, by what was
broken at that time; the promises of schedules are checked as after a storm, and the exit status is
1 if one is broken. The figures hold for the machine that they were measured on, so no test asserts
them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from pathlib import Path

from tests.checker.evidence import Fault, now
from tests.fault.cluster import Cluster, Member
from tests.fault.nemesis import Nemesis, Planned, Scale
from tests.fault.storm import storm
from tests.fault.workload import Books

_CALM_SECONDS = 6.0
_FROZEN_SECONDS = 8.0


async def trouble(cluster: Cluster, _: Books) -> None:
    """One after the other, with calm between them."""
    await asyncio.sleep(_CALM_SECONDS)
    for kind, target, seconds in (
        ("kill", "engine 1", 0.0),
        ("kill", "engine 2", 0.0),
        ("freeze", "engine 1", _FROZEN_SECONDS),
        ("half_open", "engine 2", _FROZEN_SECONDS),
    ):
        planned = [Planned(0.0, kind, target, seconds)]  # type: ignore[arg-type]
        await Nemesis(cluster, planned).play()
        await asyncio.sleep(_CALM_SECONDS)
    for engine in cluster.engines:
        await _restart(cluster, engine)
        await asyncio.sleep(_CALM_SECONDS / 2)


async def _restart(cluster: Cluster, engine: Member) -> None:
    began = now()
    pid = engine.signal(signal.SIGTERM)

    async def is_back() -> bool:
        return engine.pid not in (None, pid)

    await cluster.until(is_back)
    cluster.faults.write(Fault(began, now(), "drain", engine.name, pid))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fault.failover", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mainspring-failover-") as folder:
        summary = asyncio.run(
            storm(
                given.seed,
                Path(folder),
                seconds=0,
                scale=Scale(engines=3, workers=1),
                callers=0,
                expect=("S1", "S2", "S3"),
                trouble=trouble,
            )
        )
    fires = {name: summary.promises.get(name, 0) for name in ("S1", "S2", "S3")}
    told = {"latest_seconds": summary.latest, "exercised": fires, "broken": summary.broken}
    print(json.dumps(told, indent=2))
    return 0 if summary.ok else 1


if __name__ == "__main__":
    sys.exit(main())
