"""Who is blamed when a host breaks in unusual ways."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mainspring.domain.outcomes import Cancelled, Failed, Lost, Succeeded
from tests.integration.executors.trial import Trial, exists

CANCEL = Cancelled("by request")


async def test_who_closes_the_hosts_connection_has_failed(trial: Trial, tmp_path: Path) -> None:
    outcome = await trial.run("close_all_process", module="sample.unkind", begun=f"{tmp_path}/b")
    assert isinstance(outcome, Failed)
    assert outcome.error.message == "the host process closed its connection"


async def test_a_host_that_cannot_answer_any_more_ends(trial: Trial, tmp_path: Path) -> None:
    """A thread that reads keeps the closed socket open, so the worker sees no end of it."""
    outcome = await trial.run("close_all_in_thread", module="sample.unkind", begun=f"{tmp_path}/b")
    assert isinstance(outcome, Lost)
    assert "before it could tell the result" in outcome.error.message


async def test_who_writes_into_the_hosts_connection_has_failed(
    trial: Trial, tmp_path: Path
) -> None:
    outcome = await trial.run("scribble_process", module="sample.unkind", begun=f"{tmp_path}/b")
    assert isinstance(outcome, Failed)
    assert "broke the protocol" in outcome.error.message


async def test_a_host_that_is_as_good_as_dead_can_be_spoken_to(
    trial: Trial, tmp_path: Path
) -> None:
    number = trial.start("shut_async", module="sample.unkind", begun=f"{tmp_path}/begun")
    await exists(tmp_path / "begun")
    later = []
    while number not in trial.memory.ends:
        trial.hosts.pause_reading(number, 1)
        trial.hosts.resume_reading(number, 1)
        later.append(trial.start("add_async", a=1))
        await asyncio.sleep(0.01)
    outcome = await trial.end_of(number)
    assert isinstance(outcome, Failed)
    assert outcome.error.message == "the host process closed its connection"
    for other in later:
        assert isinstance(await trial.end_of(other), Succeeded)


async def test_a_job_that_dies_of_being_stopped_is_not_its_neighbours_fault(
    trial: Trial, tmp_path: Path
) -> None:
    neighbour = trial.start("wait_quietly_async", module="sample.unkind", begun=f"{tmp_path}/1")
    stopped = trial.start("exit_when_stopped_async", module="sample.unkind", begun=f"{tmp_path}/2")
    await exists(tmp_path / "1")
    await exists(tmp_path / "2")
    trial.hosts.stop(stopped, 1, CANCEL)
    assert await trial.end_of(stopped) == CANCEL
    assert isinstance(await trial.end_of(neighbour), Lost)
