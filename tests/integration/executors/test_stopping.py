"""Time limits, stops, hand-backs and the close."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Cancelled, HandedBack, Lost, Succeeded, TimedOut
from tests.integration.executors.trial import Trial, alive, exists, open_trial, until

CANCEL = Cancelled("by request")


@pytest.mark.parametrize("name", ["wait_process", "wait_in_thread", "wait_async"])
async def test_a_time_limit_stops_the_task(trial: Trial, tmp_path: Path, name: str) -> None:
    outcome = await trial.run(name, timeout=0.3, begun=f"{tmp_path}/begun")
    assert isinstance(outcome, TimedOut)
    assert outcome.error.message == "took longer than 0.3 s"


async def test_a_time_limit_stops_a_command(trial: Trial) -> None:
    outcome = await trial.run("command", timeout=0.3, vector=["sleep", "3600"])
    assert isinstance(outcome, TimedOut)
    stubborn = ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]
    outcome = await trial.run("command", timeout=0.3, vector=stubborn)
    assert isinstance(outcome, TimedOut)
    # The host itself was not given up for it.
    assert len(trial.hosts.processes()) == 1


@pytest.mark.parametrize(
    "name", ["stubborn_process", "block_in_thread", "stubborn_async", "block_async"]
)
async def test_code_that_cannot_be_stopped_is_killed(
    trial: Trial, tmp_path: Path, name: str
) -> None:
    number = trial.start(name, timeout=0.3, begun=f"{tmp_path}/begun")
    host = int(await exists(tmp_path / "begun"))
    assert isinstance(await trial.end_of(number), TimedOut)
    assert not alive(host)


@pytest.mark.parametrize("name", ["wait_process", "wait_in_thread", "wait_async"])
async def test_a_stopped_job_ends_with_the_given_outcome(
    trial: Trial, tmp_path: Path, name: str
) -> None:
    number = trial.start(name, begun=f"{tmp_path}/begun")
    await exists(tmp_path / "begun")
    trial.hosts.stop(number, 1, CANCEL)
    trial.hosts.stop(number, 1, Cancelled("a second time"))
    assert await trial.end_of(number) == CANCEL
    trial.hosts.stop(number, 1, CANCEL)


async def test_stopping_lets_user_code_clean_up(trial: Trial, tmp_path: Path) -> None:
    first = trial.start("cleanup_async", begun=f"{tmp_path}/1", cleaned=f"{tmp_path}/2")
    second = trial.start("wait_process", begun=f"{tmp_path}/3", cleaned=f"{tmp_path}/4")
    await exists(tmp_path / "1")
    await exists(tmp_path / "3")
    trial.hosts.stop(first, 1, CANCEL)
    trial.hosts.stop(second, 1, CANCEL)
    assert await trial.end_of(first) == CANCEL
    assert await trial.end_of(second) == CANCEL
    assert (tmp_path / "2").exists()
    assert (tmp_path / "4").exists()


async def test_bystanders_of_a_killed_host_are_lost(trial: Trial, tmp_path: Path) -> None:
    bystander = trial.start("wait_async", begun=f"{tmp_path}/1")
    blocker = trial.start("block_async", timeout=0.3, begun=f"{tmp_path}/2")
    await exists(tmp_path / "1")
    await exists(tmp_path / "2")
    # The loop is blocked, so this one cannot begin before the host is killed.
    unstarted = trial.start("add_async", a=1)
    assert isinstance(await trial.end_of(blocker), TimedOut)
    outcome = await trial.end_of(bystander)
    assert isinstance(outcome, Lost)
    assert isinstance(await trial.end_of(unstarted), Succeeded)


async def test_a_stopped_neighbour_leaves_threads_alone(trial: Trial, tmp_path: Path) -> None:
    names: dict[str, Any] = {"begun": f"{tmp_path}/1", "until": f"{tmp_path}/until"}
    bystander = trial.start("wait_in_thread", **names)
    stopped = trial.start("wait_in_thread", begun=f"{tmp_path}/2")
    await exists(tmp_path / "1")
    await exists(tmp_path / "2")
    trial.hosts.stop(stopped, 1, CANCEL)
    assert await trial.end_of(stopped) == CANCEL
    (tmp_path / "until").write_text("now")
    assert isinstance(await trial.end_of(bystander), Succeeded)


async def test_a_job_behind_a_blocked_loop_can_be_stopped(trial: Trial, tmp_path: Path) -> None:
    names: dict[str, Any] = {"begun": f"{tmp_path}/begun", "until": f"{tmp_path}/until"}
    blocker = trial.start("block_async", **names)
    await exists(tmp_path / "begun")
    stopped = trial.start("wait_async", begun=f"{tmp_path}/never")
    trial.hosts.stop(stopped, 1, CANCEL)
    assert await trial.end_of(stopped) == CANCEL
    (tmp_path / "until").write_text("now")
    assert isinstance(await trial.end_of(blocker), Succeeded)
    assert await trial.result_of("add_async", a=1) == 2
    assert not (tmp_path / "never").exists()


async def test_a_wait_behind_a_blocked_loop_is_not_charged(trial: Trial, tmp_path: Path) -> None:
    names: dict[str, Any] = {"begun": f"{tmp_path}/begun", "until": f"{tmp_path}/until"}
    blocker = trial.start("block_async", **names)
    await exists(tmp_path / "begun")
    behind = trial.start("add_async", a=1, timeout=0.01)
    # A start is reported after 0.3 s, so by then the limit of the other has long passed.
    await trial.start_of(blocker)
    assert behind not in trial.memory.ends
    (tmp_path / "until").write_text("now")
    assert isinstance(await trial.end_of(behind), Succeeded)
    assert isinstance(await trial.end_of(blocker), Succeeded)


async def test_long_tasks_are_reported_as_started(trial: Trial, tmp_path: Path) -> None:
    names: dict[str, Any] = {"begun": f"{tmp_path}/begun", "until": f"{tmp_path}/until"}
    for name in ("wait_process", "block_async", "wait_in_thread"):
        number = trial.start(name, **names)
        await trial.start_of(number)
        (tmp_path / "until").write_text("now")
        assert isinstance(await trial.end_of(number), Succeeded)
        assert trial.memory.begun[number] == pytest.approx(
            trial.memory.ends[number].started_us, abs=5_000
        )
        (tmp_path / "until").unlink()
    quick = trial.start("add", a=1)
    await trial.end_of(quick)
    assert quick not in trial.memory.begun


async def test_unstarted_jobs_are_handed_back_and_started_ones_go_on(tmp_path: Path) -> None:
    async with open_trial(slots={SlotKind.PROCESS: 1, SlotKind.ASYNC: 10}) as trial:
        names: dict[str, Any] = {"begun": f"{tmp_path}/1", "until": f"{tmp_path}/until"}
        running = trial.start("wait_process", **names)
        blocker = trial.start("block_async", begun=f"{tmp_path}/2", until=f"{tmp_path}/until")
        await exists(tmp_path / "1")
        await exists(tmp_path / "2")
        waiting = trial.start("add", a=1)
        behind = trial.start("add_async", a=1)
        assert trial.hosts.hand_back_unstarted() == [(waiting, 1)]
        assert isinstance(await trial.end_of(waiting), HandedBack)
        assert isinstance(await trial.end_of(behind), HandedBack)
        (tmp_path / "until").write_text("now")
        assert isinstance(await trial.end_of(running), Succeeded)
        assert isinstance(await trial.end_of(blocker), Succeeded)


@pytest.mark.parametrize("kill", [False, True])
async def test_close_ends_every_job_and_every_process(tmp_path: Path, kill: bool) -> None:
    async with open_trial(slots={SlotKind.PROCESS: 2, SlotKind.ASYNC: 10}) as trial:
        names = ["wait_process", "wait_async", "stubborn_async", "leave_children"]
        numbers = [
            trial.start("wait_process", begun=f"{tmp_path}/0"),
            trial.start("wait_async", begun=f"{tmp_path}/1"),
            trial.start("stubborn_async", begun=f"{tmp_path}/2"),
            trial.start("leave_children", folder=str(tmp_path), alone=True),
        ]
        for name in ("0", "1", "2", "begun"):
            await exists(tmp_path / name)
        numbers.append(trial.start("add", a=1))
        assert len(names) + 1 == len(numbers)
        pids = trial.hosts.processes()
        pids += [int((tmp_path / f"child-{number}").read_text()) for number in range(3)]
        await trial.hosts.close(kill=kill)
        for number in numbers:
            assert isinstance(trial.memory.ends[number].outcome, HandedBack)
        await until(lambda: not any(alive(pid) for pid in pids))


async def test_closing_hosts_that_never_ran_anything() -> None:
    async with open_trial():
        pass


async def test_closing_while_hosts_are_starting() -> None:
    for kill in (False, True):
        async with open_trial() as trial:
            numbers = [trial.start("add", a=1), trial.start("add_async", a=1, alone=True)]
            await trial.hosts.close(kill=kill)
            for number in numbers:
                assert isinstance(trial.memory.ends[number].outcome, HandedBack)


@pytest.mark.parametrize("name", ["stubborn_process", "command"])
async def test_what_is_stopped_at_once_gets_no_time(tmp_path: Path, name: str) -> None:
    """With the usual time, here an hour, this would not end."""
    begun = tmp_path / "begun"
    stubborn = f"trap '' TERM; echo $$ > {begun}; while :; do sleep 1; done"
    async with open_trial(stop_grace_seconds=3600) as trial:
        if name == "command":
            number = trial.start(name, vector=["sh", "-c", stubborn])
        else:
            number = trial.start(name, begun=str(begun))
        await exists(begun)
        trial.hosts.stop(number, 1, CANCEL, at_once=True)
        assert await trial.end_of(number) == CANCEL
