"""`mainspring.testing.run_dag`: a run in this process, in virtual time, with production's rules."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from mainspring import (
    Command,
    DefinitionError,
    Fail,
    InputError,
    NotFoundError,
    Retry,
    RetryPolicy,
    Skip,
    context,
    dag,
    task,
)
from mainspring.operators import shell as shell_operator
from mainspring.testing import Lost, TimedOut, edges_of, run_dag, tasks_of


@task(retry=RetryPolicy(attempts=3, first="1m", factor=2))
def extract(region: str) -> list[int]:
    print("asking", region)
    return [len(region)]


@task
async def load(numbers: list[int]) -> int:
    await asyncio.sleep(3600)
    logging.getLogger("sales").info("loaded %d", len(numbers))
    return sum(numbers)


@task
def tell(total: int) -> str:
    return f"{total} in all"


@dag
def sales(region: str = "eu") -> None:
    tell(load(extract(region)))


# --- values and order ------------------------------------------------------------------------


def test_results_travel_from_task_to_task() -> None:
    result = run_dag(sales, region="asia")
    assert result.state == "succeeded"
    assert result.parameters == {"region": "asia"}
    assert result["tell"].result == "4 in all"
    assert result.order == ["extract", "load", "tell"]
    assert result.elapsed_seconds == 3600
    assert result["extract"].log == "asking asia\n"
    assert result["load"].log == "INFO sales: loaded 1\n"


def test_a_task_with_a_given_result_is_not_called() -> None:
    result = run_dag(sales, results={"extract": [1, 2]})
    assert result["tell"].result == "3 in all"
    assert (result["extract"].attempts, result["extract"].calls) == (1, 0)
    assert result["extract"].log == ""
    assert result["load"].calls == 1


def test_a_function_stands_in_for_a_task() -> None:
    result = run_dag(sales, results={"extract": lambda region: [10, len(region)]})
    assert result["tell"].result == "12 in all"
    assert result["extract"].calls == 0


def test_a_given_result_of_the_wrong_type_fails_the_task_that_takes_it() -> None:
    result = run_dag(sales, results={"extract": "three"})
    assert result["load"].state == "failed"
    assert result["load"].error is not None
    assert "argument `numbers`" in result["load"].error.message


def test_a_task_alone_is_a_dag() -> None:
    result = run_dag(extract, region="eu")
    assert result["extract"].result == [2]


def test_arguments_are_converted_as_on_a_worker() -> None:
    @task
    def weekday(day: date) -> str:
        return f"{day:%A}"

    assert run_dag(weekday, day="2026-11-15")["weekday"].result == "Sunday"
    with pytest.raises(InputError):
        run_dag(weekday, day="someday")


def test_what_cannot_travel_as_json_fails() -> None:
    @task
    def returns_an_object() -> object:
        return object()

    result = run_dag(returns_an_object)
    assert result["returns_an_object"].error is not None
    assert result["returns_an_object"].error.type == "ResultError"


def test_higher_priority_begins_first() -> None:
    @task
    def step() -> None: ...

    @task(priority=9)
    def urgent() -> None: ...

    @dag
    def two() -> None:
        step()
        urgent()

    assert run_dag(two).order == ["urgent", "step"]


def test_what_ends_at_an_instant_comes_before_what_begins_then() -> None:
    called: list[str] = []

    @task
    def ends_at_ten() -> None:
        time.sleep(10)

    @task(priority=9)
    def urgent() -> None:
        called.append("urgent")

    @task(retry=RetryPolicy(attempts=2, first="10s"))
    def again() -> None:
        called.append("again")

    @dag
    def at_ten() -> None:
        again()
        ends_at_ten() >> urgent()

    run_dag(at_ten, fail={"again": [OSError("no")]})
    assert called == ["urgent", "again"]


# --- the graph -------------------------------------------------------------------------------


def test_the_graph_is_told_by_names() -> None:
    assert edges_of(sales) == {("extract", "load"), ("load", "tell")}
    assert tasks_of(sales)["extract"].retry.attempts == 3
    assert list(tasks_of(extract)) == ["extract"]
    assert edges_of(extract) == set()


# --- failures and virtual time ---------------------------------------------------------------


def test_a_task_that_always_fails_is_tried_as_its_policy_says() -> None:
    result = run_dag(sales, fail={"extract": ConnectionError("no")})
    assert result.state == "failed"
    assert result.states == {
        "extract": "failed",
        "load": "upstream_failed",
        "tell": "upstream_failed",
    }
    assert result["extract"].attempts == 3
    assert result.elapsed_seconds == 60 + 120
    assert [tried.began_seconds for tried in result["extract"].tries] == [0, 60, 180]
    assert result["extract"].error is not None
    assert (result["extract"].error.type, result["extract"].error.message) == (
        "ConnectionError",
        "no",
    )
    assert result.order == ["extract"]
    assert result["load"].began_seconds is None


def test_a_list_of_failures_is_for_the_first_attempts() -> None:
    result = run_dag(sales, fail={"extract": [ConnectionError("no"), OSError]})
    assert result.state == "succeeded"
    assert [str(tried.state) for tried in result["extract"].tries] == [
        "failed",
        "failed",
        "succeeded",
    ]
    assert result["extract"].calls == 1


def test_the_traces_of_failures_are_logged_for_whoever_looks_into_a_failed_test(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run_dag(sales, fail={"load": ValueError("not today")})
    assert "task `load`, attempt 1 failed: ValueError: not today" in caplog.text


def test_retry_fail_and_skip_mean_what_they_mean() -> None:
    later = run_dag(sales, fail={"extract": [Retry("later", after="7s")]})
    assert (later.state, later["load"].began_seconds) == ("succeeded", 7)
    hopeless = run_dag(sales, fail={"extract": Fail("never")})
    assert (hopeless["extract"].attempts, hopeless["extract"].state) == (1, "failed")
    skipped = run_dag(sales, fail={"load": Skip("holiday")})
    assert skipped.state == "succeeded"
    assert skipped.states == {"extract": "succeeded", "load": "skipped", "tell": "skipped"}


def test_a_lost_attempt_is_not_charged() -> None:
    result = run_dag(sales, fail={"extract": [Lost(), Lost()]})
    assert [tried.number for tried in result["extract"].tries] == [1, 1, 1]
    assert result.elapsed_seconds == 3600
    assert run_dag(sales, fail={"extract": Lost()})["extract"].state == "failed"


def test_a_given_timeout_is_one_of_the_attempts() -> None:
    result = run_dag(sales, fail={"extract": [TimedOut()]})
    assert [str(tried.state) for tried in result["extract"].tries] == ["timed_out", "succeeded"]


def delay_of(attempt: int, error: BaseException) -> str:
    return f"{attempt * 10}s"


@task(retry=RetryPolicy(attempts=3, delay=delay_of))
def with_delay_function() -> None: ...


def test_the_delay_function_of_a_policy_is_asked() -> None:
    result = run_dag(with_delay_function, fail={"with_delay_function": OSError("no")})
    assert result.elapsed_seconds == 10 + 20


def test_a_local_task_with_a_delay_function_is_refused_since_it_would_be_forgotten() -> None:
    @task(retry=RetryPolicy(attempts=3, delay=delay_of))
    def local() -> None: ...

    with pytest.raises(DefinitionError, match="delay function"):
        run_dag(local)


_strays: set[asyncio.Future[None]] = set()


# --- sleeping and timeouts -------------------------------------------------------------------


@task(timeout="30s")
def sleeps(seconds: float) -> str:
    try:
        time.sleep(seconds)
    finally:
        print("cleaned up")
    return "awake"


@task(timeout="30s")
async def sleeps_async(seconds: float) -> str:
    try:
        await asyncio.sleep(seconds)
    finally:
        print("cleaned up")
    return "awake"


@pytest.mark.parametrize("subject", [sleeps, sleeps_async])
def test_sleeping_takes_no_time_and_timeouts_pass(subject: Any) -> None:
    awake = run_dag(subject, seconds=29.5)
    assert (awake.state, awake.elapsed_seconds) == ("succeeded", 29.5)
    late = run_dag(subject, seconds=86400)
    [tried] = late[subject.name].tries
    assert (str(tried.state), tried.seconds, tried.log) == ("timed_out", 30, "cleaned up\n")
    assert tried.error is not None
    assert tried.error.message == "took longer than 30 s"


@task(timeout="30s")
async def refuses_to_stop_async() -> None:
    while True:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            print("no")


def test_a_coroutine_that_refuses_to_stop_is_left_after_the_grace() -> None:
    [tried] = run_dag(refuses_to_stop_async)["refuses_to_stop_async"].tries
    assert (str(tried.state), tried.seconds) == ("timed_out", 35)


def test_tasks_side_by_side_sleep_at_the_same_time() -> None:
    @task
    def short() -> None:
        time.sleep(5)

    @task
    async def long() -> None:
        await asyncio.sleep(10)

    @task
    def after_short() -> None: ...

    @task
    def join() -> None: ...

    @dag
    def forked() -> None:
        end, other = short(), long()
        end >> after_short()
        [end, other] >> join()

    result = run_dag(forked)
    assert result.order == ["short", "long", "after_short", "join"]
    assert result["after_short"].began_seconds == 5
    assert result["join"].began_seconds == 10
    assert result.elapsed_seconds == 10


def test_the_timeout_of_a_run_cancels_what_is_left() -> None:
    @dag(timeout="1m")
    def hurried() -> None:
        tell(load(extract("eu")))

    result = run_dag(hurried)
    assert result.state == "failed"
    assert result.states == {"extract": "succeeded", "load": "cancelled", "tell": "cancelled"}
    assert result.elapsed_seconds == 60
    resting = run_dag(hurried, fail={"extract": [OSError("no"), OSError("no")]})
    assert set(resting.states.values()) == {"cancelled"}
    assert resting["extract"].attempts == 1


def test_time_in_a_thread_is_real_and_awaited() -> None:
    @task(timeout="10m")
    async def asks_a_thread() -> str:
        async def never() -> None:
            await asyncio.sleep(100)

        _strays.add(asyncio.ensure_future(never()))
        return await asyncio.to_thread(lambda: "answer")

    result = run_dag(asks_a_thread)
    assert result["asks_a_thread"].result == "answer"


def test_sleep_is_real_again_afterwards() -> None:
    before = time.sleep
    run_dag(sales)
    assert time.sleep is before


def test_what_a_test_has_put_in_place_of_sleep_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(time, "sleep", asked.append)
    assert run_dag(sleeps, seconds=86400).state == "succeeded"
    assert asked == [86400]


# --- context ---------------------------------------------------------------------------------


@task(retry=RetryPolicy(attempts=2))
def tells_context() -> list[Any]:
    here = context()
    if here.attempt == 1:
        raise OSError("first")
    return [here.idempotency_key, here.attempt_key, here.fencing_token, here.due_at.isoformat()]


@task
async def tells_parameters() -> dict[str, Any]:
    await asyncio.sleep(1)
    return dict(context().parameters)


@dag
def telling(day: str) -> None:
    tells_context()
    tells_parameters()


def test_tasks_have_a_context() -> None:
    result = run_dag(telling, day="today", at=datetime(2026, 11, 15, 6, tzinfo=UTC))
    assert result["tells_context"].result == [
        "1/tells_context/1",
        "telling/1/tells_context/2",
        2,
        "2026-11-15T06:00:00+00:00",
    ]
    assert result["tells_parameters"].result == {"day": "today"}
    with pytest.raises(DefinitionError):
        context()


@task
async def counts(upto: int) -> None:
    for number in range(1, upto + 1):
        await asyncio.sleep(60)
        context().progress(100 * number / upto, f"{number} of {upto}")


def test_progress_is_kept() -> None:
    [tried] = run_dag(counts, upto=2)["counts"].tries
    assert tried.progress == ((50, "1 of 2"), (100, "2 of 2"))


# --- commands --------------------------------------------------------------------------------


@task(executor="command", timeout="10s")
def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def test_commands_are_run() -> None:
    result = run_dag(shell, script="echo one; echo $MAINSPRING_TASK")
    assert result["shell"].result == "shell"
    assert result["shell"].log == "one\nshell\n"
    failed = run_dag(shell, script="echo gone >&2; exit 3")["shell"]
    assert failed.error is not None
    assert failed.error.message == "`sh` exited with status 3: gone"
    assert run_dag(shell, script="exit 1", results={"shell": "faked"}).state == "succeeded"


@task(executor="command")
def says_where() -> Command:
    return Command(
        ["sh", "-c", 'echo "$GREETING from $(basename "$PWD")"'], {"GREETING": "hi"}, "."
    )


def test_a_command_has_its_surroundings() -> None:
    folder = Path(__file__).parents[__name__.count(".")].name
    assert run_dag(says_where)["says_where"].result == f"hi from {folder}"


@dag
def with_operators(path: str) -> None:
    shell_operator('echo "$1"', arguments=[path], name="echo")


def test_ready_made_tasks_are_run_or_faked() -> None:
    assert run_dag(with_operators, path="a b")["echo"].result == "a b"
    assert run_dag(with_operators, path="", results={"echo": "c"})["echo"].result == "c"


@task(executor="command", timeout="200ms")
def too_long() -> list[str]:
    return ["sleep", "60"]


def test_a_command_is_killed_at_its_timeout() -> None:
    [tried] = run_dag(too_long)["too_long"].tries
    assert (str(tried.state), tried.seconds) == ("timed_out", 0.2)


@task(timeout="1s")
def waits_for_a_program() -> int:
    return subprocess.run(["sleep", "0.2"], timeout=30, check=False).returncode


def test_waiting_for_a_program_does_not_move_the_clock() -> None:
    result = run_dag(waits_for_a_program)
    assert (result["waits_for_a_program"].result, result.elapsed_seconds) == (0, 0)


# --- where it is called ----------------------------------------------------------------------


async def test_it_can_be_called_while_an_event_loop_runs() -> None:
    assert run_dag(sales)["tell"].result == "2 in all"


def test_what_ends_a_test_is_let_through() -> None:
    def skips(region: str) -> None:
        pytest.skip("not here")

    def interrupts(region: str) -> None:
        raise KeyboardInterrupt

    for fake, kind in ((skips, pytest.skip.Exception), (interrupts, KeyboardInterrupt)):
        with pytest.raises(kind):
            run_dag(sales, results={"extract": fake})


def test_sys_exit_is_a_failure_as_on_a_worker() -> None:
    assert run_dag(sales, fail={"load": SystemExit(1)})["load"].state == "failed"


# --- slips -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: run_dag(sales, region=1), "region"),
        (lambda: run_dag(sales, regoin="eu"), "regoin"),
        (lambda: run_dag(sales, results={"extrct": 1}), "no task `extrct`"),
        (lambda: run_dag(sales, fail={"extrct": OSError()}), "no task `extrct`"),
        (lambda: run_dag(sales, fail={"extract": "no"}), "no exception"),  # type: ignore[dict-item]
        (lambda: run_dag("sales"), "neither a dag nor a task"),  # type: ignore[arg-type]
        (lambda: run_dag(sales, at=datetime(2026, 1, 1)), "no time zone"),
        (lambda: run_dag(sales, parameters={}, region="eu"), "given twice"),
    ],
)
def test_slips_are_told_before_anything_runs(ask: Callable[[], object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        ask()


def test_a_parameter_may_be_named_like_an_option() -> None:
    @task
    def sends(at: str) -> str:
        return at

    assert run_dag(sends, parameters={"at": "noon"})["sends"].result == "noon"
    with pytest.raises(InputError, match="named like an option"):
        run_dag(sends, results={"sends": ""}, at=datetime(2026, 1, 1, tzinfo=UTC))


def test_an_unknown_task_of_a_result_is_told_with_the_nearest() -> None:
    with pytest.raises(NotFoundError) as raised:
        run_dag(sales)["exract"]
    assert raised.value.hint == "did you mean `extract`?"


# --- size ------------------------------------------------------------------------------------


def test_deep_graphs_are_walked_without_recursion() -> None:
    @task
    def link(before: int) -> int:
        return before + 1

    @dag
    def chain() -> None:
        value: Any = 0
        for _ in range(3000):
            value = link(value)

    assert run_dag(chain)["link_3000"].result == 3000
    assert run_dag(chain, fail={"link": Fail("no")})["link_3000"].state == "upstream_failed"
