"""Runs of one task, of every kind, short and long, urgent and not."""

import asyncio
import time

from release import RELEASE  # type: ignore[import-not-found]

from mainspring import dag, task
from tests.fault.acts import act, command


@task
async def in_loop(seconds: float) -> None:
    with act("async", RELEASE):
        await asyncio.sleep(seconds)


@task(executor="thread")
def in_thread(seconds: float) -> None:
    with act("thread", RELEASE):
        time.sleep(seconds)


@task(executor="process")
def in_process(seconds: float) -> None:
    with act("process", RELEASE):
        time.sleep(seconds)


@task(executor="command")
def in_command(seconds: float) -> list[str]:
    return command(seconds, RELEASE)


@task(executor="thread", priority=0)
def in_no_hurry(seconds: float) -> None:
    with act("thread", RELEASE):
        time.sleep(seconds)


@task(executor="thread", priority=9)
def in_a_hurry(seconds: float) -> None:
    with act("thread", RELEASE):
        time.sleep(seconds)


@task(executor="process", on_lost="fail")
def once(seconds: float) -> None:
    with act("process", RELEASE):
        time.sleep(seconds)


@dag
def single_async(seconds: float) -> None:
    in_loop(seconds)


@dag
def single_thread(seconds: float) -> None:
    in_thread(seconds)


@dag
def single_process(seconds: float) -> None:
    in_process(seconds)


@dag
def single_command(seconds: float) -> None:
    in_command(seconds)


@dag
def patient(seconds: float) -> None:
    in_no_hurry(seconds)


@dag
def urgent(seconds: float) -> None:
    in_a_hurry(seconds)


@dag
def at_most_once(seconds: float) -> None:
    once(seconds)
