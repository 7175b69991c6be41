"""Copies of a host that user code forks: they never speak or act for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mainspring.domain.outcomes import Succeeded
from tests.integration.executors.trial import Trial, exists

FORKERS = ["fork_process", "fork_in_thread", "fork_async"]


@pytest.mark.parametrize("name", FORKERS)
async def test_a_forked_child_that_comes_back_does_not_end_its_parents_job(
    trial: Trial, tmp_path: Path, name: str
) -> None:
    names: dict[str, Any] = {"child_back": f"{tmp_path}/back", "until": f"{tmp_path}/until"}
    number = trial.start(name, module="sample.unkind", **names)
    await exists(tmp_path / "back")
    # A start is reported by what the board says: that the child returned must not show there.
    await trial.memory.until(lambda: number in trial.memory.begun)
    assert number not in trial.memory.ends
    (tmp_path / "until").write_text("now")
    outcome = await trial.end_of(number)
    assert isinstance(outcome, Succeeded)
    assert msgspec.json.decode(outcome.result) == "parent"


@pytest.mark.parametrize("name", FORKERS)
async def test_a_forked_child_takes_no_later_job(trial: Trial, tmp_path: Path, name: str) -> None:
    names: dict[str, Any] = {"child_back": f"{tmp_path}/back", "until": f"{tmp_path}/until"}
    (tmp_path / "until").write_text("now")
    await trial.result_of(name, module="sample.unkind", **names)
    pids = {await trial.result_of("pid_async") for _ in range(20)}
    pids |= {await trial.result_of("pid_process") for _ in range(20)}
    assert pids <= set(trial.hosts.processes())
    assert os.getpid() not in pids


async def test_what_a_forked_child_prints_cannot_break_the_hosts_own_words(trial: Trial) -> None:
    number = trial.start("print_in_a_forked_child_in_thread", module="sample.unkind", lines=500)
    assert await trial.end_of(number) == Succeeded(b'"ended with 0"')
    assert trial.log_of(number) == (b"x" * 1023 + b"\n") * 500
