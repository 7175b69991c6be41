"""`python -m tests.fault --minutes 20`: storm after storm, with races in between, each by a seed.

    python -m tests.fault --minutes 20 --json storms.json
    python -m tests.fault --seed 4711          one storm again, by the seed that it printed

A storm that fails keeps its evidence in a folder, which is named, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.checker.promises import PROMISES
from tests.fault.nemesis import scale_of
from tests.fault.storm import Summary, storm

SEED_MAX = 2**32
STORMS_FOR_ALL = 20
"""So many storms put every promise to the test; if not, something keeps them from it."""


class Races(msgspec.Struct, kw_only=True):
    """What a round of random races came to."""

    seed: int
    counts: dict[str, Any] = {}
    failures: list[str] = []


class Sums(msgspec.Struct, kw_only=True):
    storms: list[Summary] = []
    races: list[Races] = []

    @property
    def untested(self) -> list[str]:
        """Promises that enough storms have left alone."""
        exercised = _added(storm.promises for storm in self.storms)
        if len(self.storms) < STORMS_FOR_ALL:
            return []
        return [promise for promise in PROMISES if not exercised[promise]]

    @property
    def ok(self) -> bool:
        failed = [storm for storm in self.storms if not storm.ok]
        lost = [races for races in self.races if races.failures]
        return bool(self.storms) and not (failed or lost or self.untested)


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    folder = given.evidence or Path(tempfile.mkdtemp(prefix="mainspring-storms-"))
    folder.mkdir(parents=True, exist_ok=True)
    sums = Sums()
    until = time.monotonic() + given.minutes * 60
    try:
        while True:
            seed = secrets.randbelow(SEED_MAX) if given.seed is None else given.seed
            sums.storms.append(_storm(seed, folder, given.seconds))
            if given.seed is not None or time.monotonic() >= until:
                break
            if given.race_seconds:
                sums.races.append(_race(seed, given.race_seconds))
    except KeyboardInterrupt:
        print("stopped")
    print("\n" + table(sums))
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(sums), indent=2) + b"\n")
    return 0 if sums.ok else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fault", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--minutes", type=float, default=1.0, help="for how long (default: 1)")
    parser.add_argument("--seed", type=int, help="one storm, with this seed")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each storm (default: 15)")
    parser.add_argument(
        "--race-seconds", type=float, default=10.0, help="of races after each storm (default: 10)"
    )
    parser.add_argument("--evidence", type=Path, help="folder for the evidence of what failed")
    parser.add_argument("--json", type=Path, help="write all sums to this file")
    return parser


def _storm(seed: int, folder: Path, seconds: float) -> Summary:
    evidence = folder / f"storm-{seed}"
    shutil.rmtree(evidence, ignore_errors=True)
    evidence.mkdir()
    summary = asyncio.run(storm(seed, evidence, seconds=seconds, scale=scale_of(seed)))
    verdict = "ok" if summary.ok else "FAILED"
    print(
        f"storm {seed:>10}: {verdict}, {sum(summary.faults.values())} faults,"
        f" {summary.runs} runs, {sum(summary.attempts.values())} ends other than success,"
        f" {summary.answers.get('unknown', 0)} unknown answers,"
        f" {sum(summary.phases.values()):.0f} s",
        flush=True,
    )
    if summary.ok:
        shutil.rmtree(evidence)
    else:
        print("\n".join([f"  evidence: {evidence}", *(f"  - {b}" for b in summary.broken)]))
        sys.stdout.flush()
    return summary


def _race(seed: int, seconds: float) -> Races:
    """A process of its own, since races have a database of their own."""
    command = [sys.executable, "-m", f"{__package__}.races"]
    done = subprocess.run(
        [*command, "--seed", str(seed), "--seconds", str(seconds)],
        check=False,
        capture_output=True,
        text=True,
    )
    try:
        told = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        races = Races(seed=seed, failures=[f"no answer, status {done.returncode}: {done.stderr}"])
    else:
        counts = {name: told[name] for name in told if name not in ("seed", "failures")}
        races = Races(seed=seed, counts=counts, failures=told["failures"])
    print(f"races {seed:>10}: {'FAILED' if races.failures else 'ok'}, {races.counts}", flush=True)
    for failure in races.failures:
        print(f"  - {failure}", flush=True)
    return races


# --- the table at the end ----------------------------------------------------------------------


def table(sums: Sums) -> str:
    storms = sums.storms
    seconds, failed = sum(s.seconds for s in storms), sum(not s.ok for s in storms)
    runs, tasks = sum(s.runs for s in storms), sum(s.tasks for s in storms)
    lines = [f"{len(storms)} storms, {seconds:g} s in all, {failed} failed"]
    lines.append(f"{runs:,} runs with {tasks:,} tasks")
    lines += _columns("faults", _added(storm.faults for storm in storms))
    lines += _columns("answers", _added(storm.answers for storm in storms))
    lines += _columns("ends of attempts", _added(storm.attempts for storm in storms))
    lines += _columns("commits without an answer", _added(storm.spoiled for storm in storms))
    lines += _columns("promises exercised", _added(storm.promises for storm in storms))
    lines += ["", "latest fires, in seconds, by what was broken"]
    lines += [f"  {around:<24} {late:>10g}" for around, late in _latest(storms).items()]
    if sums.races:
        failed = sum(bool(races.failures) for races in sums.races)
        lines.append(f"{len(sums.races)} rounds of races, {failed} failed")
        lines += _columns("races", _added(_numbers(races.counts) for races in sums.races))
    lines += [f"FAILED: {promise} was never put to the test" for promise in sums.untested]
    lines += [f"FAILED: storm {storm.seed}" for storm in storms if not storm.ok]
    lines += [f"FAILED: races {races.seed}" for races in sums.races if races.failures]
    return "\n".join(lines)


def _added(parts: Iterable[Mapping[str, int]]) -> Counter[str]:
    added: Counter[str] = Counter()
    for part in parts:
        added.update(part)
    return added


def _latest(storms: Iterable[Summary]) -> dict[str, float]:
    """For kills and freezes alone there is a promise; what else was broken tells of itself."""
    latest: dict[str, float] = {}
    for each in storms:
        for around, late in each.latest.items():
            latest[around] = max(latest.get(around, 0.0), late)
    return dict(sorted(latest.items()))


def _numbers(counts: Mapping[str, Any]) -> dict[str, int]:
    return {name: value for name, value in counts.items() if isinstance(value, int)}


def _columns(title: str, counts: Mapping[str, int]) -> Sequence[str]:
    return ["", title, *(f"  {name:<24} {count:>10,}" for name, count in counts.items())]


if __name__ == "__main__":
    sys.exit(main())
