"""What user code leaves running does not outlive its host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.executors.trial import Trial, alive, exists, until


async def left_in(folder: Path) -> list[int]:
    return [int(await exists(folder / f"left-{number}")) for number in range(4)]


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("name", ["leave_programs", "leave_programs_and_wait"])
async def test_programs_left_behind_end_with_their_host(
    trial: Trial, tmp_path: Path, name: str, kill: bool
) -> None:
    number = trial.start(name, module="sample.unkind", folder=str(tmp_path))
    pids = await left_in(tmp_path)
    if name == "leave_programs":
        await trial.end_of(number)
    assert all(alive(pid) for pid in pids)
    await trial.hosts.close(kill=kill)
    await until(lambda: not any(alive(pid) for pid in pids))


async def test_a_thread_left_behind_does_not_keep_its_host(trial: Trial, tmp_path: Path) -> None:
    host = await trial.result_of(
        "leave_a_thread_in_thread", module="sample.unkind", begun=f"{tmp_path}/begun"
    )
    await trial.hosts.close()
    assert not alive(host)
