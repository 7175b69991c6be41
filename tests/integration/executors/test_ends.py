"""How a job ends when nothing worse happens than what user code says."""

from __future__ import annotations

import os

import pytest

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Failed, Skipped, Succeeded
from tests.integration.executors.trial import Trial, alive, until

ADDERS = ["add", "add_in_thread", "add_async"]
FAILERS = ["fail", "fail_in_thread", "fail_async"]


@pytest.mark.parametrize("name", ADDERS)
async def test_arguments_go_in_and_the_result_comes_out(trial: Trial, name: str) -> None:
    assert await trial.result_of(name, a=2, b=3) == 5
    assert await trial.result_of(name, a=2) == 3


@pytest.mark.parametrize("name", ADDERS)
async def test_bad_arguments_fail_the_job_and_leave_the_host_alone(trial: Trial, name: str) -> None:
    outcome = await trial.run(name, a="two")
    assert isinstance(outcome, Failed)
    assert "argument `a`" in outcome.error.message
    assert await trial.result_of(name, a=2) == 3
    assert len(trial.hosts.processes()) == 1


@pytest.mark.parametrize("name", FAILERS)
async def test_what_user_code_raises_becomes_the_outcome(trial: Trial, name: str) -> None:
    raised = await trial.run(name, how="raise")
    assert isinstance(raised, Failed)
    assert raised.error.type == "ValueError"
    assert raised.error.message == "no such region"
    assert "builtins.ValueError" in raised.error.types or "ValueError" in raised.error.types
    assert "no such region" in raised.error.trace

    exited = await trial.run(name, how="exit")
    assert isinstance(exited, Failed)
    assert "sys.exit(3)" in exited.error.message

    retried = await trial.run(name, how="retry")
    assert isinstance(retried, Failed)
    assert retried.delay_seconds == 7

    hopeless = await trial.run(name, how="fail")
    assert isinstance(hopeless, Failed)
    assert not hopeless.retry

    assert await trial.run(name, how="skip") == Skipped("nothing to do")

    unstorable = await trial.run(name, how="result")
    assert isinstance(unstorable, Failed)
    assert len(trial.hosts.processes()) == 1


async def test_unknown_entries_and_broken_modules_fail_clearly(trial: Trial) -> None:
    async def message(name: str, module: str) -> str:
        outcome = await trial.run(name, module=module, kind=SlotKind.ASYNC)
        assert isinstance(outcome, Failed)
        return outcome.error.message

    assert "no_such_task" in await message("no_such_task", "sample.plain")
    assert "no_such_module" in await message("x", "no_such_module")
    assert "this module cannot be imported" in await message("x", "sample.raises")
    assert "not today" in await message("x", "sample.exits")
    assert await trial.result_of("add_async", a=1) == 2
    assert len(trial.hosts.processes()) == 1


async def test_hosts_stay_warm_and_are_shared_by_kind(trial: Trial) -> None:
    assert await trial.result_of("pid_async") == await trial.result_of("pid_async")
    assert await trial.result_of("pid_process") == await trial.result_of("pid_process")
    assert len(trial.hosts.processes()) == 2


async def test_each_snapshot_has_hosts_of_its_own(trial: Trial) -> None:
    here = await trial.result_of("pid_async")
    there = await trial.result_of("pid_async", snapshot=f"{os.path.dirname(__file__)}/./samples")
    assert here != there


async def test_user_code_sees_the_environment_without_the_database(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("MAINSPRING_DATABASE_URL_FILE", "/run/secret")
    monkeypatch.setenv("REGION", "eu")
    environment = await trial.result_of("environment")
    assert environment["REGION"] == "eu"
    assert environment["PYTHONUNBUFFERED"] == "1"
    assert not any("secret" in value for value in environment.values())


# --- commands -----------------------------------------------------------------------------


async def test_a_command_gives_its_last_line(trial: Trial) -> None:
    number = trial.start("command", vector=["printf", "one\\ntwo \\377\\n\\n"])
    assert await trial.end_of(number) == Succeeded('"two �"'.encode())
    assert trial.log_of(number) == b"one\ntwo \xff\n\n"


async def test_a_silent_command_gives_null(trial: Trial) -> None:
    assert await trial.result_of("command", vector=["true"]) is None


async def test_there_is_no_shell(trial: Trial) -> None:
    assert await trial.result_of("command", vector=["echo", "$HOME; ls"]) == "$HOME; ls"


async def test_a_failing_command_tells_its_status_and_the_end_of_stderr(trial: Trial) -> None:
    script = "echo useless; echo disk full >&2; exit 3"
    number = trial.start("command", vector=["sh", "-c", script])
    outcome = await trial.end_of(number)
    assert isinstance(outcome, Failed)
    assert outcome.error.message == "`sh` exited with status 3: disk full"
    assert sorted(trial.log_of(number).splitlines()) == [b"disk full", b"useless"]


async def test_a_killed_command_tells_the_signal(trial: Trial) -> None:
    outcome = await trial.run("command", vector=["sh", "-c", "kill -9 $$"])
    assert isinstance(outcome, Failed)
    assert outcome.error.message == "`sh` was killed by SIGKILL"


async def test_a_command_that_cannot_be_started_fails_clearly(trial: Trial) -> None:
    missing = await trial.run("command", vector=["no-such-program"])
    assert isinstance(missing, Failed)
    assert "cannot start `no-such-program`" in missing.error.message
    wrong = await trial.run("bad_command")
    assert isinstance(wrong, Failed)
    assert "list of texts" in wrong.error.message
    assert await trial.result_of("command", vector=["echo", "fine"]) == "fine"


async def test_what_a_command_leaves_behind_ends_with_it(trial: Trial) -> None:
    pid = await trial.result_of("command", vector=["sh", "-c", "sleep 3600 & echo $!"])
    await until(lambda: not alive(int(pid)))
