"""Runs of many tasks. Each checks what it was handed: a result that went astray is an error."""

import asyncio
import time

from release import RELEASE  # type: ignore[import-not-found]

from mainspring import dag, task
from tests.fault.acts import act, command


@task
async def first() -> int:
    with act("async", RELEASE):
        return 1


@task
async def link(number: int) -> int:
    with act("async", RELEASE):
        await asyncio.sleep(0.01)
        return number + 1


@task(executor="thread")
def left(number: int) -> int:
    with act("thread", RELEASE):
        time.sleep(0.02)
        return number + 10


@task(executor="process")
def right(number: int) -> int:
    with act("process", RELEASE):
        time.sleep(0.02)
        return number + 100


@task(executor="process")
def both(left: int, right: int) -> None:
    with act("process", RELEASE):
        assert (left, right) == (11, 101), f"got {left} and {right}"


@task(executor="command")
def aside(number: int) -> list[str]:
    assert number == 1, f"got {number}"
    return command(0.02, RELEASE)


@task
async def piece(number: int, place: int) -> int:
    with act("async", RELEASE):
        await asyncio.sleep(0.02)
        return number + place


@task
async def collected(pieces: list[int]) -> None:
    with act("async", RELEASE):
        assert pieces == list(range(1, 9)), f"got {pieces}"


@task
async def last_link(number: int) -> None:
    with act("async", RELEASE):
        assert number == 6, f"got {number}"


@dag
def chain() -> None:
    number = first()
    for place in range(5):
        number = link.named(f"link_{place}")(number)
    last_link(number)


@dag
def diamond() -> None:
    top = first()
    both(left(top), right(top))


@dag
def fan() -> None:
    top = first()
    collected([piece.named(f"piece_{place}")(top, place) for place in range(8)])


@dag
def mixed() -> None:
    top = first()
    side = aside(top)
    bottom = both(left(top), right(top))
    side >> bottom
