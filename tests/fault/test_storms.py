"""Everything goes wrong at once, and nothing that was promised is broken.

A storm that fails prints its seed and keeps its evidence; `python -m tests.fault --seed …` has it
again, with the same plan.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.checker.promises import PROMISES
from tests.fault.__main__ import STORMS_FOR_ALL, Races, Sums, table
from tests.fault.nemesis import scale_of
from tests.fault.storm import Summary, storm
from tests.support.launcher import Launcher

pytestmark = [pytest.mark.fault, pytest.mark.slow]

SECONDS = 8.0
ALWAYS = (
    "L1",
    "L2",
    "L3",
    "T1",
    "T2",
    "D1",
    "D3",
    "N1",
    "C1",
    "H1",
    "T4",
    "K1",
    "S1",
    "S2",
    "S3",
    "O1",
)
"""Promises that every storm of this length puts to the test, whatever its seed."""


async def rage(seed: int, folder: Path, launcher: Launcher | None = None) -> None:
    print(f"storm {seed}")
    summary = await storm(
        seed, folder, seconds=SECONDS, scale=scale_of(seed), expect=ALWAYS, launcher=launcher
    )
    assert summary.ok, "\n".join(
        [f"storm {seed} broke promises; its evidence is in {folder}", *summary.broken]
    )


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_known_storm_breaks_no_promise(
    seed: int, tmp_path: Path, launcher: Launcher
) -> None:
    """With processes that are back at once; those of a fresh storm take their time."""
    await rage(seed, tmp_path, launcher)


async def test_a_fresh_storm_breaks_no_promise(tmp_path: Path) -> None:
    await rage(secrets.randbelow(2**32), tmp_path)


def test_the_sums_of_storms_name_what_failed_and_what_was_never_tested() -> None:
    fine = Summary(seed=1, seconds=15, promises=dict.fromkeys(PROMISES, 1), faults={"kill": 2})
    failed = Summary(seed=2, seconds=15, broken=["L1: two holders"])
    assert Sums(storms=[fine]).ok
    assert not Sums(storms=[fine, failed]).ok
    assert "FAILED: storm 2" in table(Sums(storms=[fine, failed]))
    assert not Sums(storms=[fine], races=[Races(seed=3, failures=["an order"])]).ok
    assert not Sums().ok
    idle = Summary(seed=4, seconds=15, promises={**fine.promises, "L5": 0})
    assert Sums(storms=[idle]).ok
    many = Sums(storms=[idle] * STORMS_FOR_ALL)
    assert not many.ok
    assert "FAILED: L5 was never put to the test" in table(many)
