"""A worker that cannot act: its guard freezes, continues and kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mainspring.domain.outcomes import Cancelled
from tests.integration.executors.trial import (
    Trial,
    alive,
    exists,
    open_trial,
    state_of,
    until,
)

pytestmark = pytest.mark.fault


async def test_hosts_are_frozen_when_the_lease_passes_and_go_on_when_it_is_renewed(
    trial: Trial, tmp_path: Path
) -> None:
    trial.hosts.lease_until(time.monotonic() + 3600)
    counting = trial.start("count_forever", path=f"{tmp_path}/count")
    script = f"echo $$ > {tmp_path}/shell; sleep 3600"
    trial.start("command", vector=["sh", "-c", script])
    shell = int(await exists(tmp_path / "shell"))
    await exists(tmp_path / "count")
    hosts = trial.hosts.processes()

    trial.hosts.lease_until(time.monotonic() - 1)
    await until(lambda: all(state_of(pid) == "T" for pid in [*hosts, shell]))
    size = (tmp_path / "count").stat().st_size

    trial.hosts.lease_until(time.monotonic() + 3600)
    await until(lambda: (tmp_path / "count").stat().st_size > size)
    await until(lambda: state_of(shell) != "T")
    trial.hosts.stop(counting, 1, Cancelled())
    assert await trial.end_of(counting) == Cancelled()


async def test_a_frozen_job_can_still_be_stopped(trial: Trial, tmp_path: Path) -> None:
    trial.hosts.lease_until(time.monotonic() - 1)
    number = trial.start("count_forever", path=f"{tmp_path}/count")
    (host,) = trial.hosts.processes()
    await until(lambda: state_of(host) == "T")
    trial.hosts.stop(number, 1, Cancelled())
    trial.hosts.lease_until(time.monotonic() + 3600)
    assert await trial.end_of(number) == Cancelled()


async def test_without_a_lease_nothing_is_frozen(trial: Trial, tmp_path: Path) -> None:
    number = trial.start("wait_async", begun=f"{tmp_path}/1", until=f"{tmp_path}/until")
    await trial.start_of(number)
    assert all(state_of(pid) != "T" for pid in trial.hosts.processes())


async def test_a_dead_guard_is_replaced_and_knows_all(trial: Trial, tmp_path: Path) -> None:
    trial.hosts.lease_until(time.monotonic() + 3600)
    trial.start("wait_process", begun=f"{tmp_path}/begun")
    host = int(await exists(tmp_path / "begun"))
    first = trial.hosts.guard_pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await until(lambda: trial.hosts.guard_pid not in (None, first))
    trial.hosts.lease_until(time.monotonic() - 1)
    await until(lambda: state_of(host) == "T")


async def test_without_any_guard_the_worker_freezes_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_trial() as trial:
        trial.start("wait_process", begun=f"{tmp_path}/begun")
        host = int(await exists(tmp_path / "begun"))
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        guard = trial.hosts.guard_pid
        assert guard is not None
        os.kill(guard, signal.SIGKILL)
        await until(lambda: trial.hosts.guard_pid is None)
        trial.hosts.lease_until(time.monotonic() - 1)
        await until(lambda: state_of(host) == "T")
        trial.hosts.lease_until(time.monotonic() + 3600)
        await until(lambda: state_of(host) != "T")


WORKER = """
import asyncio, sys, time
from tests.integration.executors.trial import open_trial, exists

async def main(folder, lease_seconds):
    async with open_trial() as trial:
        trial.start("leave_children", folder=folder)
        trial.start("wait_async", begun=f"{folder}/async")
        script = f"echo $$ > {folder}/shell; sleep 3600"
        trial.start("command", vector=["sh", "-c", script])
        for name in ("begun", "async", "shell"):
            await exists(f"{folder}/{name}")
        pids = [*trial.hosts.processes(), trial.hosts.guard_pid]
        trial.hosts.lease_until(time.monotonic() + lease_seconds)
        print(*pids, flush=True)
        await asyncio.sleep(3600)

asyncio.run(main(sys.argv[1], float(sys.argv[2])))
"""


def start_worker(folder: Path, lease_seconds: float) -> tuple[subprocess.Popen[str], list[int]]:
    """A worker in a process of its own, and all that it has started; the guard is the last."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(folder), str(lease_seconds)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    assert worker.stdout is not None
    pids = [int(pid) for pid in worker.stdout.readline().split()]
    children = [int((folder / f"child-{number}").read_text()) for number in range(3)]
    return worker, [int((folder / "shell").read_text()), *children, *pids]


async def test_nothing_outlives_a_worker_that_was_killed(tmp_path: Path) -> None:
    worker, pids = start_worker(tmp_path, 3600)
    with worker:
        assert all(alive(pid) for pid in pids)
        worker.kill()
        await until(lambda: not any(alive(pid) for pid in pids))


async def test_a_stopped_worker_has_its_hosts_frozen(tmp_path: Path) -> None:
    worker, pids = start_worker(tmp_path, 0.5)
    with worker:
        try:
            worker.send_signal(signal.SIGSTOP)
            *others, guard = pids
            await until(lambda: all(state_of(pid) == "T" for pid in others))
            assert state_of(guard) != "T"
        finally:
            worker.kill()
        await until(lambda: not any(alive(pid) for pid in pids))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signals_to_the_whole_tree_are_the_workers_business(
    trial: Trial, tmp_path: Path, number: signal.Signals
) -> None:
    jobs = [
        trial.start(name, begun=f"{tmp_path}/{name}", until=f"{tmp_path}/until")
        for name in ("wait_process", "wait_in_thread", "wait_async")
    ]
    for name in ("wait_process", "wait_in_thread", "wait_async"):
        await exists(tmp_path / name)
    guard = trial.hosts.guard_pid
    assert guard is not None
    for pid in [*trial.hosts.processes(), guard]:
        os.kill(pid, number)
    (tmp_path / "until").write_text("now")
    for job in jobs:
        await trial.end_of(job)
    assert trial.hosts.guard_pid == guard
