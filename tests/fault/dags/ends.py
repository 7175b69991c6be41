"""Runs that end in every other way: failures, timeouts, skips, deadlines."""

import asyncio
import time

from release import RELEASE  # type: ignore[import-not-found]

from mainspring import RetryPolicy, Skip, dag, task
from tests.fault.acts import act, command

_SHORTLY = RetryPolicy(attempts=4, backoff="fixed", first="50ms")
_TWICE = RetryPolicy(attempts=2, backoff="fixed", first="50ms")


@task(retry=_SHORTLY)
async def fails_at_first(times: int) -> None:
    with act("async", RELEASE) as me:
        await asyncio.sleep(0.01)
        if me.attempt <= times:
            raise ConnectionError(f"attempt {me.attempt} fails on purpose")


@task(executor="process", retry=_SHORTLY)
def fails_at_first_in_process(times: int) -> None:
    with act("process", RELEASE) as me:
        if me.attempt <= times:
            raise ConnectionError(f"attempt {me.attempt} fails on purpose")


@task(retry=_TWICE)
async def always_fails() -> None:
    with act("async", RELEASE):
        raise ConnectionError("fails on purpose")


@task
async def never_reached() -> None:
    with act("async", RELEASE):
        pass


@task
async def beside() -> None:
    with act("async", RELEASE):
        await asyncio.sleep(0.05)


@task(timeout="400ms", retry=_TWICE)
async def takes_too_long() -> None:
    with act("async", RELEASE) as me:
        await asyncio.sleep(30 if me.attempt == 1 else 0)


@task(executor="process", timeout="400ms", retry=_TWICE)
def takes_too_long_in_process() -> None:
    with act("process", RELEASE) as me:
        time.sleep(30 if me.attempt == 1 else 0)


@task(executor="command", timeout="800ms", retry=_TWICE)
def command_takes_too_long() -> list[str]:
    return command(30, RELEASE)


@task
async def nothing_to_do() -> None:
    with act("async", RELEASE):
        raise Skip("nothing to do")


@task(queue="nowhere", on_lost="fail")
async def is_taken_away() -> None:
    """Whoever takes it is never heard of again, see `tests/fault/feeding.py`."""


@task(queue="nobody")
async def is_left_alone() -> None:
    """No worker looks into its queue."""


@task
async def slow() -> None:
    with act("async", RELEASE):
        await asyncio.sleep(0.8)


@dag
def flaky(times: int) -> None:
    fails_at_first(times) >> fails_at_first_in_process(times)


@dag
def hopeless() -> None:
    top = beside()
    top >> always_fails() >> never_reached()


@dag
def overtime() -> None:
    takes_too_long() >> takes_too_long_in_process()


@dag
def overtime_command() -> None:
    command_takes_too_long()


@dag
def skipping() -> None:
    beside()
    nothing_to_do() >> never_reached()


@dag
def forsaken() -> None:
    is_taken_away()


@dag(timeout="100ms")
def overdue() -> None:
    is_left_alone()


@dag(timeout="1s")
def too_slow() -> None:
    slow() >> slow.named("slower")() >> slow.named("slowest")()
