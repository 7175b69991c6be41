"""`context()` in every kind of host, and wherever a task goes on from there."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mainspring.domain.outcomes import Failed, Succeeded
from tests.integration.executors.trial import ATTEMPT, Trial, until

MODULE = "sample.contexts"
ASKERS = ["ask", "ask_in_thread", "ask_async"]
PAY = msgspec.structs.replace(
    ATTEMPT,
    run_id=4711,
    dag="orders",
    task="pay",
    number=2,
    generation=3,
    epoch=5,
    term=7,
    parameters=b'{"day":"today"}',
)
TOLD = {
    "run_id": 4711,
    "dag": "orders",
    "task": "pay",
    "attempt": 2,
    "generation": 3,
    "idempotency_key": "4711/pay/3",
    "attempt_key": "orders/4711/pay/2",
    "fencing_token": 5 * 2**32 + 7,
    "due_at": "2026-11-15T00:00:00Z",
    "parameters": {"day": "today"},
}


@pytest.mark.parametrize("name", ASKERS)
async def test_a_task_is_told_of_its_attempt(trial: Trial, name: str) -> None:
    assert await trial.result_of(name, module=MODULE, attempt=PAY, amount=3) == TOLD


@pytest.mark.parametrize("name", ASKERS)
async def test_parameters_that_are_the_arguments_come_with_them(trial: Trial, name: str) -> None:
    plain = msgspec.structs.replace(PAY, parameters=None)
    found = await trial.result_of(name, module=MODULE, attempt=plain, day="tomorrow")
    assert found["parameters"] == {"day": "tomorrow"}


async def test_a_command_is_told_in_its_environment(trial: Trial) -> None:
    variables = {
        "MAINSPRING_RUN_ID": "4711",
        "MAINSPRING_DAG": "orders",
        "MAINSPRING_TASK": "pay",
        "MAINSPRING_ATTEMPT": "2",
        "MAINSPRING_IDEMPOTENCY_KEY": "4711/pay/3",
        "MAINSPRING_ATTEMPT_KEY": "orders/4711/pay/2",
        "MAINSPRING_FENCING_TOKEN": str(5 * 2**32 + 7),
    }
    found = await trial.result_of("ask_command", module=MODULE, attempt=PAY, names=[*variables])
    assert found == " ".join(["4711/pay/3", *variables.values()])


async def test_commands_side_by_side_are_told_of_their_own_attempts(trial: Trial) -> None:
    numbers = [
        trial.start(
            "ask_command",
            module=MODULE,
            attempt=msgspec.structs.replace(PAY, run_id=run_id),
            names=["MAINSPRING_RUN_ID"],
        )
        for run_id in range(8)
    ]
    ends = [await trial.end_of(number) for number in numbers]
    assert ends == [Succeeded(f'"{run_id}/pay/3 {run_id}"'.encode()) for run_id in range(8)]


async def test_other_tasks_do_not_see_the_attempt_of_a_command_around_their_worker(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_RUN_ID", "1")
    monkeypatch.setenv("MAINSPRING_FENCING_TOKEN", "1")
    environment = await trial.result_of("environment")
    assert not {"MAINSPRING_RUN_ID", "MAINSPRING_FENCING_TOKEN"} & environment.keys()


async def test_the_context_goes_where_python_takes_context_variables(trial: Trial) -> None:
    found = await trial.result_of("ask_everywhere_async", module=MODULE, attempt=PAY)
    assert found == {
        "after an await": TOLD,
        "in a task": TOLD,
        "in a helper thread": TOLD,
    }
    child = await trial.result_of("ask_in_a_forked_child", module=MODULE, attempt=PAY)
    assert child == "4711/pay/3"


@pytest.mark.parametrize("kind", ["process", "in_thread", "async"])
async def test_a_bare_thread_has_a_context_only_if_it_is_handed_on(trial: Trial, kind: str) -> None:
    name = f"ask_in_bare_threads_{kind}"
    refused, handed_on = await trial.result_of(name, module=MODULE, attempt=PAY)
    assert "copy_context" in refused
    assert handed_on == "4711/pay/3"


async def test_tasks_that_take_turns_in_one_host_keep_their_own_context(trial: Trial) -> None:
    numbers = {
        run_id: trial.start(
            "ask_in_turns_async",
            module=MODULE,
            attempt=msgspec.structs.replace(PAY, run_id=run_id),
            turns=20,
        )
        for run_id in range(100)
    }
    for run_id, number in numbers.items():
        outcome = await trial.end_of(number)
        assert isinstance(outcome, Succeeded)
        assert msgspec.json.decode(outcome.result) == [f"{run_id}/pay/3"] * 20


async def test_a_module_has_no_context_while_it_is_imported(trial: Trial) -> None:
    """Not even in a process that has run a task before: what it kept would be of the wrong one."""
    assert await trial.result_of("ask", module=MODULE, attempt=PAY) == TOLD
    outcome = await trial.run("keyed", module="sample.early")
    assert isinstance(outcome, Failed)
    assert "does not run in a task" in outcome.error.message
    assert len(trial.hosts.processes()) == 1


# --- large parameters -----------------------------------------------------------------------

LARGE = msgspec.json.encode({"orders": ["x" * 1000] * 1000})
APART = msgspec.structs.replace(PAY, parameters=b"")


@pytest.mark.parametrize("name", ASKERS)
async def test_large_parameters_are_told_apart(trial: Trial, name: str) -> None:
    options = {"module": MODULE, "attempt": APART, "large_parameters": LARGE}
    for _ in range(3):
        found = await trial.result_of(name, **options)
        assert found["parameters"] == msgspec.json.decode(LARGE)


async def test_large_parameters_are_there_once_for_all_tasks_of_a_run(
    trial: Trial, tmp_path: Path
) -> None:
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    numbers = [
        trial.start(
            "size_and_place_async",
            module=MODULE,
            attempt=APART,
            large_parameters=LARGE,
            begun=str(begun),
            until=str(gate),
        )
        for _ in range(50)
    ]
    await until(lambda: begun.exists() and begun.stat().st_size == 50)
    gate.touch()
    ends = {await trial.end_of(number) for number in numbers}
    [end] = ends
    assert isinstance(end, Succeeded)
    assert msgspec.json.decode(end.result)[0] == len(LARGE)


@pytest.mark.parametrize("kind", ["process", "in_thread", "async"])
async def test_large_parameters_go_when_no_task_of_their_run_is_left(
    trial: Trial, kind: str
) -> None:
    asker = {"process": "ask", "in_thread": "ask_in_thread", "async": "ask_async"}[kind]
    for run_id in (1, 2):
        apart = msgspec.structs.replace(APART, run_id=run_id)
        found = await trial.result_of(asker, module=MODULE, attempt=apart, large_parameters=LARGE)
        assert found["run_id"] == run_id
    assert await trial.result_of(f"runs_kept_{kind}", module=MODULE) == []
    inside = await trial.result_of(
        f"runs_kept_{kind}", module=MODULE, attempt=APART, large_parameters=LARGE
    )
    assert inside == [4711]
    assert await trial.result_of(f"runs_kept_{kind}", module=MODULE) == []
