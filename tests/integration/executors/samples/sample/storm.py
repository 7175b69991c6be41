"""One task that does as it is told, as a coroutine, in a thread or as a process alike."""

from __future__ import annotations

import asyncio
import os
import sys
import time

from mainspring import Retry, Skip, task


@task
async def act_async(how: str) -> str:
    if how == "stay":
        await asyncio.sleep(3600)
    return _act(how)


@task(executor="process")
def act(how: str) -> str:
    while how == "stay":
        time.sleep(0.01)
    return _act(how)


@task(executor="command")
def act_command(how: str) -> list[str]:
    match how:
        case "stay":
            return ["sleep", "3600"]
        case "succeed":
            return ["echo", "done"]
        case "raise" | "retry":
            return ["sh", "-c", "echo no >&2; exit 1"]
    return [_act(how)]


def _act(how: str) -> str:
    match how:
        case "raise":
            raise ValueError("no")
        case "retry":
            raise Retry("later", after=3)
        case "skip":
            raise Skip("nothing to do")
        case "exit":
            sys.exit(1)
        case "die":
            os._exit(3)
        case "speak":
            print("x" * 100_000)
    return "done"
