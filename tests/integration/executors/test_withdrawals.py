"""Jobs taken back before user code is reached."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Cancelled, Failed, HandedBack, Succeeded
from tests.integration.executors.trial import Trial, exists, open_trial

CANCEL = Cancelled("by request")


@pytest.fixture
def slow_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLOW_IMPORT", str(tmp_path))
    return tmp_path


async def looked(trial: Trial, tmp_path: Path) -> None:
    """Wait until the hosts were looked at: a job that runs is reported after 0.3 s."""
    number = trial.start("wait_process", begun=f"{tmp_path}/w", until=f"{tmp_path}/never")
    await trial.memory.until(lambda: number in trial.memory.begun)
    trial.hosts.stop(number, 1, CANCEL)
    await trial.end_of(number)


@pytest.mark.parametrize("kind", [SlotKind.ASYNC, SlotKind.THREAD, SlotKind.PROCESS])
async def test_a_job_handed_back_while_its_module_is_imported_does_not_run(
    trial: Trial, slow_import: Path, kind: SlotKind
) -> None:
    number = trial.start("ran_async", module="sample.slow", kind=kind)
    await exists(slow_import / "importing")
    assert trial.hosts.hand_back_unstarted() == []
    await looked(trial, slow_import)
    (slow_import / "import").write_text("now")
    assert isinstance(await trial.end_of(number), HandedBack)
    assert trial.memory.ends[number].started_us is None
    assert not (slow_import / "ran").exists()
    # The host is as good as before.
    assert isinstance(await trial.run("add_async", a=1, kind=kind), Succeeded)


async def test_a_job_that_waits_for_a_host_of_its_own_is_handed_back(
    trial: Trial, tmp_path: Path
) -> None:
    number = trial.start("wait_async", alone=True, begun=f"{tmp_path}/begun")
    trial.hosts.hand_back_unstarted()
    assert isinstance(await trial.end_of(number), HandedBack)
    assert not (tmp_path / "begun").exists()


async def test_stopping_jobs_that_wait_for_hosts_of_their_own_blames_no_host(
    trial: Trial,
) -> None:
    for _ in range(4):
        number = trial.start("add_async", alone=True, a=1)
        waiting = trial.start("add_async", a=1)
        await asyncio.sleep(0)
        trial.hosts.stop(number, 1, CANCEL)
        assert await trial.end_of(number) == CANCEL
        assert isinstance(await trial.end_of(waiting), Succeeded)


@pytest.mark.parametrize("name", ["add_async", "add_in_thread", "add"])
async def test_a_job_stopped_right_after_it_was_sent_ends_as_asked_or_by_itself(
    trial: Trial, name: str
) -> None:
    await trial.result_of(name, a=1)
    for _ in range(20):
        number = trial.start(name, a=1)
        trial.hosts.stop(number, 1, CANCEL)
        assert await trial.end_of(number) in (CANCEL, Succeeded(b"2"))


@pytest.mark.parametrize("kind", [SlotKind.ASYNC, SlotKind.THREAD, SlotKind.PROCESS])
async def test_a_job_that_never_reached_user_code_has_no_start(
    trial: Trial, kind: SlotKind
) -> None:
    unknown = trial.start("absent", kind=kind)
    broken = trial.start("never", module="sample.raises", kind=kind)
    misfit = trial.start("add_async", kind=kind, a="two")
    fine = trial.start("add_async", kind=kind, a=1)
    for number in (unknown, broken, misfit):
        assert isinstance(await trial.end_of(number), Failed)
        assert trial.memory.ends[number].started_us is None
    await trial.end_of(fine)
    assert trial.memory.ends[fine].started_us is not None


async def test_a_job_that_nothing_could_be_sent_to_has_no_start(tmp_path: Path) -> None:
    async with open_trial(slots={SlotKind.PROCESS: 1}) as trial:
        running = trial.start("wait_process", begun=f"{tmp_path}/begun")
        await exists(tmp_path / "begun")
        waiting = trial.start("add", a=1)
        trial.hosts.stop(waiting, 1, CANCEL)
        assert await trial.end_of(waiting) == CANCEL
        assert trial.memory.ends[waiting].started_us is None
        assert running not in trial.memory.ends
