"""Who is kept waiting by the machine is told, and who rests is not."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.checker.evidence import Stall, now, read_log
from tests.fault.stalls import note_stalls, waited_seconds

pytestmark = pytest.mark.fault


async def test_of_two_who_want_one_core_each_is_kept_waiting_and_who_rests_is_not(
    tmp_path: Path,
) -> None:
    core = {min(os.sched_getaffinity(0))}
    with _running("while True: pass") as one, _running("while True: pass") as other:
        for pid in (one, other):
            os.sched_setaffinity(pid, core)
        with _running("import sys; sys.stdin.read()") as resting:
            log = tmp_path / "stalls"
            noting = asyncio.create_task(note_stalls(log, lambda: [one, other, resting]))
            told: dict[int | None, float] = {}
            while min(told.get(one, 0.0), told.get(other, 0.0)) < 0.2:
                await asyncio.sleep(0.05)
                told = _told(log)
            noting.cancel()
            await asyncio.gather(noting, return_exceptions=True)
            assert told.get(resting, 0.0) < min(told[one], told[other])
            assert told[one] <= waited_seconds(one)
    assert waited_seconds(one) == 0.0


async def test_a_loop_that_is_late_keeps_everybody_waiting(tmp_path: Path) -> None:
    log = tmp_path / "stalls"
    looked = asyncio.Event()

    def look() -> list[int]:
        looked.set()
        return []

    noting = asyncio.create_task(note_stalls(log, look))
    for _ in range(2):
        looked.clear()
        await looked.wait()
        until = now() + 0.5
        while now() < until:
            pass  # The next look is late.
    looked.clear()
    await looked.wait()
    noting.cancel()
    await asyncio.gather(noting, return_exceptions=True)
    assert _told(log)[None] > 0.2


def _told(log: Path) -> dict[int | None, float]:
    seconds: dict[int | None, float] = {}
    for stall in read_log(log, Stall):
        seconds[stall.pid] = seconds.get(stall.pid, 0.0) + stall.until - stall.at
    return seconds


@contextmanager
def _running(program: str) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    try:
        yield process.pid
    finally:
        process.kill()
        process.communicate()
