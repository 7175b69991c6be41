"""Nothing is kept: no process, no zombie, no descriptor."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from pathlib import Path

import pytest

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Failed, Succeeded
from tests.integration.executors.trial import Trial, alive, open_trial, until


def descriptors() -> list[str]:
    """What is open in this process, without the numbers that differ each time."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}").partition(":")[0])
        except OSError:
            continue  # the listing's own
    return sorted(found)


def children() -> set[int]:
    """Of this process, zombies included."""
    pids = set()
    for thread in os.listdir("/proc/self/task"):
        pids |= set(map(int, Path(f"/proc/self/task/{thread}/children").read_text().split()))
    return pids


@pytest.mark.slow
async def test_fifty_rounds_leave_no_process_no_zombie_and_no_descriptor() -> None:
    async def one_round(number: int) -> None:
        async with open_trial(slots={SlotKind.PROCESS: 1, SlotKind.ASYNC: 5}) as trial:
            name = ("add", "add_async", "die_process", "die_async")[number % 4]
            arguments = {"how": "exit"} if name.startswith("die") else {"a": 1}
            if number % 5 == 0:
                trial.start(name, **arguments)  # closed while its host is starting
            else:
                await trial.run(name, **arguments)

    # The first round opens what stays: the loop's own means, the thread pool of `to_thread`.
    await one_round(1)
    before, family = descriptors(), children()
    for number in range(50):
        await one_round(number)
    assert descriptors() == before
    assert children() == family


async def test_hosts_that_come_and_go_leave_nothing_while_the_worker_lives(
    tmp_path: Path,
) -> None:
    async with open_trial(recycle_after_tasks=1) as trial:
        await trial.result_of("add", a=1)
        await trial.result_of("add_async", a=1)
        before = len(descriptors())
        pids: set[int] = set()
        for _ in range(10):
            pids |= set(trial.hosts.processes())
            await trial.run("die_process", how="exit")
            await trial.result_of("add_async", a=1)
        # As many hosts as at first, so as many descriptors.
        await until(lambda: len(trial.hosts.processes()) <= 2 and len(descriptors()) <= before)
        assert all(not alive(pid) for pid in pids - set(trial.hosts.processes()))
        assert children() >= set(trial.hosts.processes())
        gone = pids - set(trial.hosts.processes())
        assert not gone & children()


async def test_a_worker_out_of_descriptors_fails_no_host_half_way(trial: Trial) -> None:
    """Whatever step of a start fails, nothing stays open, and later starts succeed."""
    assert await trial.result_of("add_async", a=1) == 2
    before = descriptors()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    for spare in range(8):
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + spare, hard))
        try:
            number = trial.start("add", a=1, alone=True)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        outcome = await trial.end_of(number)
        assert isinstance(outcome, (Succeeded, Failed))
        await until(lambda: len(trial.hosts.processes()) == 1)
    assert await trial.result_of("add", a=1, alone=True) == 2
    await until(lambda: len(trial.hosts.processes()) == 1)
    assert descriptors() == before


async def test_a_lease_told_after_the_close_starts_nothing() -> None:
    async with open_trial() as trial:
        await trial.result_of("add_async", a=1)
        await trial.hosts.close()
        trial.hosts.lease_until(time.monotonic() + 10)
        assert trial.hosts.guard_pid is None


async def test_too_many_idle_hosts_end_by_number() -> None:
    async with open_trial(idle_hosts_max=1) as trial:
        await asyncio.gather(
            trial.result_of("pid_async"), trial.result_of("pid_process"), trial.run("add", a=1)
        )
        await until(lambda: len(trial.hosts.processes()) == 1)
