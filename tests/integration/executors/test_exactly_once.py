"""Whatever happens around it, each job has one end."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Cancelled, Succeeded
from mainspring.executors.jobs import Job
from tests.integration.executors.trial import Trial, open_trial

JOBS = 400


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_every_job_ends_once_among_crashes_stops_and_timeouts(
    seed: int, tmp_path: Path
) -> None:
    """`Memory` asserts that nothing ends twice and no log comes after an end."""
    chance = random.Random(seed)
    async with open_trial(stop_grace_seconds=0.2, recycle_after_tasks=100) as trial:
        submitted: list[int] = []
        while len(submitted) < JOBS:
            batch = [some_job(trial, chance, tmp_path) for _ in range(chance.randint(1, 30))]
            trial.hosts.submit(batch)
            submitted += [job.task_id for job in batch]
            await asyncio.sleep(0)
            for _ in range(chance.randint(0, 3)):
                trial.hosts.stop(chance.choice(submitted), 1, Cancelled())
            if chance.random() < 0.1:
                trial.hosts.hand_back_unstarted()
            # As a worker would: no more than there is room for.
            await trial.memory.until(lambda: trial.hosts.running() < 40)
        await trial.memory.until(lambda: len(trial.memory.ends) == len(submitted))
        assert sorted(trial.memory.ends) == submitted
        assert trial.hosts.running() == 0


def some_job(trial: Trial, chance: random.Random, folder: Path) -> Job:
    roll = chance.random()
    alone = chance.random() < 0.02
    if roll < 0.01:
        name = chance.choice(["die_async", "die_in_thread", "die_process"])
        return trial.job(name, how=chance.choice(["exit", "kill"]), alone=alone)
    if roll < 0.03:
        name = chance.choice(["wait_async", "wait_in_thread", "wait_process", "stubborn_async"])
        return trial.job(name, timeout=0.05, alone=alone, begun=f"{folder}/{chance.random()}")
    if roll < 0.1:
        return trial.job(chance.choice(["speak_async", "speak_in_thread", "speak_process"]))
    if roll < 0.13:
        return trial.job("command", vector=["echo", "hello"], alone=alone)
    name = chance.choice(["add_async"] * 8 + ["add_in_thread"] * 3 + ["add"] * 2)
    return trial.job(name, a=1, alone=alone)


async def test_many_jobs_in_large_batches_all_succeed() -> None:
    async with open_trial(slots={SlotKind.ASYNC: 1000}) as trial:
        jobs = [trial.job("add_async", a=number) for number in range(20_000)]
        for start in range(0, len(jobs), 1000):
            trial.hosts.submit(jobs[start : start + 1000])
        await trial.memory.until(lambda: len(trial.memory.ends) == len(jobs))
        for job in jobs:
            end = trial.memory.ends[job.task_id]
            assert end.outcome == Succeeded(str(job.task_id).encode())


async def test_large_arguments_and_results_pass(trial: Trial) -> None:
    big = "é" * 1_500_000
    vector = ["true", big[:1000]]
    assert await trial.result_of("command", vector=vector) is None
    jobs = [trial.job("echo_async", value=big) for _ in range(5)]
    trial.hosts.submit(jobs)
    for job in jobs:
        outcome = await trial.end_of(job.task_id)
        assert isinstance(outcome, Succeeded)
        assert len(outcome.result) > 3_000_000
