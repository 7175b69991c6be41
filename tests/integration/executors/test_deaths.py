"""What the death of a host means for the jobs in it."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Cancelled, Failed, Lost, Succeeded
from tests.integration.executors.trial import SAMPLES, Trial, alive, exists, open_trial, until

DEATHS = [
    ("exit", "the host process exited with status 3"),
    ("kill", "the host process was killed by SIGKILL (out of memory?)"),
    ("segfault", "the host process was killed by SIGSEGV"),
]


@pytest.mark.parametrize("name", ["die_process", "die_async", "die_in_thread"])
@pytest.mark.parametrize(("how", "reason"), DEATHS)
async def test_who_kills_its_host_has_failed(
    trial: Trial, name: str, how: str, reason: str
) -> None:
    outcome = await trial.run(name, how=how)
    assert isinstance(outcome, Failed)
    assert outcome.error.message == reason


async def test_a_host_killed_from_outside_fails_its_only_job(trial: Trial, tmp_path: Path) -> None:
    number = trial.start("wait_process", begun=f"{tmp_path}/begun")
    os.kill(int(await exists(tmp_path / "begun")), signal.SIGKILL)
    outcome = await trial.end_of(number)
    assert isinstance(outcome, Failed)
    assert "SIGKILL (out of memory?)" in outcome.error.message
    assert await trial.result_of("add", a=1) == 2


async def test_of_several_suspects_each_is_lost(trial: Trial, tmp_path: Path) -> None:
    waiting = [trial.start("wait_async", begun=f"{tmp_path}/{number}") for number in range(3)]
    culprit = trial.start("die_async", how="exit", after=f"{tmp_path}/go")
    for number in range(3):
        await exists(tmp_path / str(number))
    (tmp_path / "go").write_text("go")
    for number in [*waiting, culprit]:
        outcome = await trial.end_of(number)
        assert isinstance(outcome, Lost)
        assert "exited with status 3" in outcome.error.message
    assert await trial.result_of("add_async", a=1) == 2


async def test_jobs_that_had_not_begun_go_elsewhere_uncharged(trial: Trial) -> None:
    """In one frame: some end, one kills the host, the rest never began."""
    await trial.run("noop")
    before = [trial.job("add_async", a=number) for number in range(10)]
    culprit = trial.job("die_async", how="exit")
    after = [trial.job("add_async", a=number) for number in range(50)]
    trial.hosts.submit([*before, culprit, *after])
    outcome = await trial.end_of(culprit.task_id)
    assert isinstance(outcome, Failed)
    for job in after:
        assert isinstance(await trial.end_of(job.task_id), Succeeded)
    for job in before:
        # Ended inside the host, but the answers died with it.
        outcome = await trial.end_of(job.task_id)
        assert isinstance(outcome, Lost)
        assert "before it could tell the result" in outcome.error.message


async def test_a_forked_child_that_holds_the_socket_hides_no_death(
    trial: Trial, tmp_path: Path
) -> None:
    outcome = await trial.run("die_with_forked_child", path=f"{tmp_path}/path")
    assert isinstance(outcome, Failed)
    assert outcome.error.message == "the host process exited with status 3"


async def test_a_module_that_kills_the_host_fails_only_who_imports_it(
    trial: Trial, tmp_path: Path
) -> None:
    bystander = trial.start("wait_async", begun=f"{tmp_path}/begun", until=f"{tmp_path}/until")
    await exists(tmp_path / "begun")
    outcome = await trial.run("never", module="sample.dies")
    assert isinstance(outcome, Lost)
    assert isinstance(await trial.end_of(bystander), Lost)
    alone = await trial.run("never", module="sample.dies", alone=True)
    assert isinstance(alone, Failed)
    assert "exited with status 4 while its module was imported" in alone.error.message


async def test_jobs_that_are_set_apart_share_a_host_with_their_like_only(trial: Trial) -> None:
    shared = await trial.result_of("pid_async")
    apart = await trial.result_of("pid_async", apart=True)
    assert apart != shared
    assert await trial.result_of("pid_async", apart=True) == apart
    assert await trial.result_of("pid_async") == shared


async def test_many_jobs_alone_take_turns(trial: Trial) -> None:
    """A dead worker leaves many; as many processes at once would stifle this one as well."""
    jobs = [trial.job("noop", alone=True) for _ in range(40)]
    trial.hosts.submit(jobs)
    most = 0
    while trial.hosts.running():
        most = max(most, len(trial.hosts.processes()))
        await asyncio.sleep(0.005)
    assert {type(end.outcome) for end in trial.memory.ends.values()} == {Succeeded}
    assert 1 <= most < len(jobs)


async def test_a_job_that_waits_to_be_alone_can_be_stopped(trial: Trial) -> None:
    jobs = [trial.job("noop", alone=True) for _ in range(10)]
    trial.hosts.submit(jobs)
    trial.hosts.stop(jobs[-1].task_id, 1, Cancelled("by request"))
    assert isinstance(await trial.end_of(jobs[-1].task_id), Cancelled)
    for job in jobs[:-1]:
        assert isinstance(await trial.end_of(job.task_id), Succeeded)


async def test_a_job_alone_runs_beside_nobody_and_its_host_ends(trial: Trial) -> None:
    shared = await trial.result_of("pid_async")
    alone = await trial.result_of("pid_async", alone=True)
    assert alone != shared
    await until(lambda: not alive(alone))
    assert await trial.result_of("pid_async") == shared
    process = await trial.result_of("pid_process", alone=True)
    await until(lambda: not alive(process))
    outcome = await trial.run("die_async", how="kill", alone=True)
    assert isinstance(outcome, Failed)
    assert await trial.result_of("pid_async") == shared


async def test_an_import_that_hangs_fails_its_jobs_and_ends() -> None:
    async with open_trial(import_seconds_max=0.2) as trial:
        jobs = [trial.job("never", module="sample.hangs") for _ in range(10)]
        trial.hosts.submit(jobs)
        messages = set()
        for job in jobs:
            outcome = await trial.end_of(job.task_id)
            assert isinstance(outcome, Failed)
            messages.add(outcome.error.message.partition(":")[0])
        assert messages == {
            "importing its module took longer than 0.2 s",
            "not started, 3 times",
        }
        assert await trial.result_of("add_async", a=1) == 2


async def test_hosts_that_cannot_start_fail_their_jobs_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "msgspec.py").write_text("raise SystemExit('a broken installation')")
    async with open_trial() as trial:
        for kind in (SlotKind.PROCESS, SlotKind.ASYNC):
            outcome = await trial.run("add", kind=kind)
            assert isinstance(outcome, Failed)
            assert outcome.error.type == "HostNotStarted"
            assert "exited with status 1" in outcome.error.message
            if kind is SlotKind.PROCESS:
                assert "a broken installation" in outcome.error.message
        alone = await trial.run("add_async", alone=True)
        assert isinstance(alone, Failed)


async def test_a_missing_snapshot_fails_clearly(trial: Trial) -> None:
    outcome = await trial.run("add", snapshot=f"{SAMPLES}/nowhere")
    assert isinstance(outcome, Failed)
    assert "cannot be imported" in outcome.error.message
