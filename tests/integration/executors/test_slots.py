"""No more jobs of a kind run at once than it has slots, however many are held."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Succeeded
from mainspring.executors.jobs import Job
from tests.integration.executors.trial import SAMPLES, Memory, Trial, open_trial

SLEEP = ["sleep", "0.05"]


def most_at_once(memory: Memory, jobs: Iterable[Job]) -> int:
    edges: list[tuple[int, int]] = []
    for job in jobs:
        end = memory.ends[job.task_id]
        assert isinstance(end.outcome, Succeeded), end
        assert end.started_us is not None
        edges += [(end.started_us, 1), (end.finished_us, -1)]
    most = running = 0
    for _, step in sorted(edges):
        running += step
        most = max(most, running)
    return most


async def run_all(trial: Trial, jobs: list[Job]) -> int:
    """The most that ran at the same moment."""
    trial.hosts.submit(jobs)
    for job in jobs:
        await trial.end_of(job.task_id)
    return most_at_once(trial.memory, jobs)


@pytest.fixture
def other(tmp_path: Path) -> str:
    """Another snapshot, with the same code in it."""
    shutil.copytree(SAMPLES, tmp_path / "other")
    return str(tmp_path / "other")


async def test_jobs_alone_and_jobs_together_share_the_slots() -> None:
    async with open_trial(slots={SlotKind.PROCESS: 2}) as trial:
        jobs = [trial.job("nap_process", seconds=0.05, alone=n % 2 == 0) for n in range(16)]
        assert await run_all(trial, jobs) <= 2


async def test_commands_alone_and_together_share_the_slots() -> None:
    async with open_trial(slots={SlotKind.COMMAND: 2}) as trial:
        jobs = [trial.job("command", vector=SLEEP, alone=n % 3 == 0) for n in range(12)]
        assert await run_all(trial, jobs) <= 2


async def test_two_snapshots_share_the_slots(other: str) -> None:
    async with open_trial(slots={SlotKind.PROCESS: 2}) as trial:
        jobs = [
            trial.job("nap_process", seconds=0.05, snapshot=snapshot)
            for _ in range(8)
            for snapshot in (SAMPLES, other)
        ]
        assert await run_all(trial, jobs) <= 2


async def test_a_host_that_is_replaced_leaves_no_slot_too_many() -> None:
    async with open_trial(slots={SlotKind.PROCESS: 2}, recycle_after_tasks=3) as trial:
        jobs = [trial.job("nap_process", seconds=0.02) for _ in range(40)]
        assert await run_all(trial, jobs) <= 2
