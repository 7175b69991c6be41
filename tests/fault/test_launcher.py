"""Commands that are forked end like any other, whoever asks."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.support.launcher import Launcher

pytestmark = pytest.mark.fault


async def test_one_waits_for_a_command_while_another_asks_how_it_is(launcher: Launcher) -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    commands = [launcher.start(["--version"], os.environ, output=nothing) for _ in range(20)]
    os.close(nothing)
    waiting = [asyncio.create_task(asyncio.to_thread(command.wait)) for command in commands]
    asked: list[int | None] = []
    while not all(task.done() for task in waiting):
        asked += [command.poll() for command in commands]
        await asyncio.sleep(0)
    assert [task.result() for task in waiting] == [0] * len(commands)
    assert set(asked) <= {None, 0}
