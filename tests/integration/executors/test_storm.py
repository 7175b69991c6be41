"""Hundreds of jobs that end in every way at once: each is told exactly one end."""

from __future__ import annotations

import asyncio
import os
import random
import signal

import pytest

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Cancelled, Failed, HandedBack, Lost, Skipped, Succeeded
from mainspring.executors.jobs import Job
from tests.integration.executors.trial import Trial, open_trial

CANCEL = Cancelled("by request")
JOBS = 300
WAYS = ["succeed"] * 10 + ["raise", "retry", "skip", "exit", "speak", "stay", "stay"] * 2 + ["die"]
SLOTS = {SlotKind.ASYNC: 20, SlotKind.THREAD: 6, SlotKind.PROCESS: 3, SlotKind.COMMAND: 4}
ENTRIES = {
    SlotKind.ASYNC: "act_async",
    SlotKind.THREAD: "act",
    SlotKind.PROCESS: "act",
    SlotKind.COMMAND: "act_command",
}

COLLATERAL = (Cancelled, Lost, HandedBack)
"""Any job may be stopped by us, or lose its host to another."""
EXPECTED = {
    "succeed": (Succeeded,),
    "speak": (Succeeded, Failed),
    "raise": (Failed,),
    "retry": (Failed,),
    "skip": (Skipped, Failed),
    "exit": (Failed,),
    "die": (Failed,),
    "stay": (),
}


def random_job(trial: Trial, chance: random.Random) -> tuple[Job, str]:
    kind = chance.choice(list(SlotKind))
    how = chance.choice(WAYS)
    alone = chance.random() < 0.02
    return trial.job(ENTRIES[kind], module="sample.storm", kind=kind, alone=alone, how=how), how


@pytest.mark.slow
@pytest.mark.parametrize("killing", [False, True])
async def test_every_job_ends_exactly_once(killing: bool) -> None:
    chance = random.Random(1)
    async with open_trial(slots=SLOTS, stop_grace_seconds=0.5, recycle_after_tasks=60) as trial:
        jobs = [random_job(trial, chance) for _ in range(JOBS)]
        ways = {job.task_id: how for job, how in jobs}
        sent = 0
        while sent < JOBS:
            batch = [job for job, _ in jobs[sent : sent + chance.randint(1, 40)]]
            sent += len(batch)
            trial.hosts.submit(batch)
            enough = min(chance.randint(0, sent), sent - 40)
            await stopping(trial, ways, chance, enough, killing)
        await stopping(trial, ways, chance, JOBS, killing)
        assert trial.hosts.running() == 0
    for number, how in ways.items():
        outcome = trial.memory.ends[number].outcome
        # A host that dies with a job alone fails it, and so do three that die before it begins.
        died = isinstance(outcome, Failed) and outcome.error.type in ("HostDied", "HostNotStarted")
        assert died or isinstance(outcome, (*EXPECTED[how], *COLLATERAL)), (how, outcome)


async def stopping(
    trial: Trial, ways: dict[int, str], chance: random.Random, enough: int, killing: bool
) -> None:
    """Stop what would stay for ever, and now and then another one, until enough have ended."""
    while len(trial.memory.ends) < enough:
        open_numbers = [number for number in ways if number not in trial.memory.ends]
        for number in open_numbers:
            if ways[number] == "stay" or chance.random() < 0.005:
                trial.hosts.stop(number, 1, CANCEL)
        if killing and chance.random() < 0.1 and (pids := trial.hosts.processes()):
            os.kill(chance.choice(pids), signal.SIGKILL)
        await one_more(trial)


async def one_more(trial: Trial) -> None:
    before = len(trial.memory.ends)
    await trial.memory.until(lambda: len(trial.memory.ends) > before)


@pytest.mark.parametrize("kill", [False, True])
async def test_a_close_in_the_middle_ends_every_job_exactly_once(kill: bool) -> None:
    chance = random.Random(3)
    async with open_trial(slots=SLOTS, stop_grace_seconds=0.5) as trial:
        jobs = [random_job(trial, chance) for _ in range(150)]
        trial.hosts.submit([job for job, _ in jobs])
        await trial.memory.until(lambda: len(trial.memory.ends) >= 20)
        await trial.hosts.close(kill=kill)
        await asyncio.sleep(0)
        assert set(trial.memory.ends) == {job.task_id for job, _ in jobs}
