"""A dag whose first task ends in every way there is, for comparing two ways to run it."""

from __future__ import annotations

import asyncio
import time

from mainspring import Fail, Retry, RetryPolicy, Skip, context, dag, task

WAYS = ("well", "second", "never", "retry", "fail", "skip", "late", "late async", "odd")


@task(retry=RetryPolicy(attempts=2, first="10ms"), timeout="300ms")
def knead(how: str) -> list[str]:
    print("kneading", how)
    match how:
        case "second" if context().attempt == 1:
            raise ConnectionError("the mill hung up")
        case "never":
            raise ConnectionError("no flour")
        case "retry" if context().attempt == 1:
            raise Retry("rising", after="20ms")
        case "fail":
            raise Fail("salt for sugar")
        case "skip":
            raise Skip("closed today")
        case "late":
            time.sleep(60)
        case "odd":
            return [how, object()]  # type: ignore[list-item]
    return [how, context().attempt_key.rpartition("/")[2]]


@task(timeout="300ms")
async def heat(how: str) -> int:
    if how == "late async":
        await asyncio.sleep(60)
    return 230


@task
def shape(dough: list[str]) -> str:
    return " ".join(dough)


@task
async def put_in(loaf: str, degrees: int) -> str:
    print(f"{loaf} at {degrees}")
    return loaf


@task(executor="command")
def announce(loaf: str) -> list[str]:
    return ["echo", loaf]


@dag
def bake(how: str) -> None:
    dough = knead(how)
    announce(put_in(shape(dough), heat(how)))
