"""Hosts come and go without anybody noticing."""

from __future__ import annotations

import shutil
from pathlib import Path

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Succeeded
from tests.integration.executors.trial import SAMPLES, alive, exists, open_trial, until


async def test_a_host_is_replaced_after_its_share_of_tasks(tmp_path: Path) -> None:
    async with open_trial(recycle_after_tasks=50) as trial:
        long = trial.start("wait_async", begun=f"{tmp_path}/1", until=f"{tmp_path}/until")
        first = int(await exists(tmp_path / "1"))
        used = {first}
        while len(used) < 3:
            used.add(await trial.result_of("pid_async"))
        # The old one stays for as long as something runs in it.
        assert alive(first)
        (tmp_path / "until").write_text("now")
        assert isinstance(await trial.end_of(long), Succeeded)
        await until(lambda: not alive(first))


async def test_process_hosts_are_replaced_too() -> None:
    async with open_trial(recycle_after_tasks=10, slots={SlotKind.PROCESS: 2}) as trial:
        used: set[int] = set()
        while len(used) < 4:
            used.add(await trial.result_of("pid_process"))
            assert len(trial.hosts.processes()) <= 4
        await until(lambda: len(trial.hosts.processes()) <= 2)


async def test_a_host_that_has_grown_large_is_replaced() -> None:
    async with open_trial(recycle_rss_mb=150) as trial:
        first = await trial.result_of("keep", megabytes=200)
        while await trial.result_of("pid_process") == first:
            pass
        await until(lambda: not alive(first))


async def test_idle_hosts_of_other_snapshots_make_room(tmp_path: Path) -> None:
    folders = [str(tmp_path / str(number)) for number in range(6)]
    for folder in folders:
        shutil.copytree(SAMPLES, folder)
    async with open_trial(
        slots={SlotKind.PROCESS: 2, SlotKind.ASYNC: 9}, idle_hosts_max=3
    ) as trial:
        for folder in folders:
            await trial.result_of("pid_process", snapshot=folder)
            assert sum(1 for link in trial.hosts._links if not link.retiring) <= 2
        pids = [await trial.result_of("pid_async", snapshot=folder) for folder in folders]
        await until(lambda: len(trial.hosts.processes()) <= 3)
        # The most recently used one has stayed.
        assert await trial.result_of("pid_async", snapshot=folders[-1]) == pids[-1]


async def test_hosts_not_used_for_a_while_end() -> None:
    async with open_trial(idle_seconds=0.1) as trial:
        await trial.result_of("pid_async")
        await trial.result_of("pid_process")
        await until(lambda: not trial.hosts.processes())
        assert await trial.result_of("add", a=1) == 2
