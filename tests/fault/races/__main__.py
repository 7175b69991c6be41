"""`python -m tests.fault.races --seed N --seconds S`: random mixes for as long as you like.

With `--all` every order of every pair is played instead, without a limit. Prints what was played as
JSON; failing orders come as tests to paste into `test_kept_orders.py`, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import tempfile
import time
from pathlib import Path

import structlog

from mainspring.embedded import EmbeddedPostgres, destroy
from mainspring.store.connection import connect
from mainspring.store.migrate import migrate
from tests.fault.races.arena import Arena, Failure
from tests.fault.races.mixes import play_mix
from tests.fault.races.play import all_endings, pairs_of, play_operations
from tests.fault.races.worlds import WORLDS

_FAILURES_MAX = 5


async def play_mixes(arena: Arena, *, seed: int, seconds: float) -> list[Failure]:
    """Mixes with seeds from `seed` on, until the time is over or there are failures enough."""
    failures: list[Failure] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until and len(failures) < _FAILURES_MAX:
        if failure := await play_mix(arena, seed):
            failures.append(failure)
        seed += 1
    return failures + await arena.failures()


async def play_all(arena: Arena) -> list[Failure]:
    failures: list[Failure] = []
    for world in WORLDS:
        for pair in pairs_of(world):
            report = await play_operations(arena, world, pair, endings=all_endings(2))
            failures += report.failures + await arena.failures()
            print(f"{world}: {' and '.join(pair)}: {report.counts.orders}", file=sys.stderr)
    return failures


async def run(url: str, options: argparse.Namespace) -> int:
    connection = await connect(url, name="races")
    await migrate(connection)
    await connection.close()
    async with Arena.open(url) as arena:
        if options.all:
            failures = await play_all(arena)
        else:
            failures = await play_mixes(arena, seed=options.seed, seconds=options.seconds)
        counts = vars(arena.counts)
    print(json.dumps({"seed": options.seed, **counts, "failures": list(map(str, failures))}))
    for failure in failures:
        print(f"\n{failure}", file=sys.stderr)
    return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fault.races", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--all", action="store_true", help="every order of every pair")
    options = parser.parse_args()
    # A reaped worker is worth a line in the log of an engine, and no news here.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        postgres = EmbeddedPostgres(home, settings={"fsync": "off"})
        try:
            return asyncio.run(run(postgres.start(), options))
        finally:
            postgres.stop()
            destroy(home)


if __name__ == "__main__":
    sys.exit(main())
