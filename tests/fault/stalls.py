"""How long the machine keeps processes waiting that have something to do.

Promises about time hold as far as the machine lets anybody run: on two cores that twenty
processes want, a worker may be ready to beat, and wait for its turn until its lease is over. The
kernel counts that wait for every process (`/proc/*/schedstat`), so it is read there instead of
being guessed from the load. What a process does with the time that it is given is its own affair,
and no excuse.

All messages to the database go through proxies in our own process. When its loop is late, for
whatever reason, so is everybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.checker.evidence import Log, Stall, now

_LOOK_SECONDS = 0.2
_LEAST_SECONDS = 0.01
"""What is shorter, in one look, is how schedulers work."""


async def note_stalls(path: Path, pids: Callable[[], Iterable[int]]) -> None:
    """Write down for ever who was kept waiting, at the end of each look as if it were in one."""
    log = Log(path)
    try:
        await _note(log, pids)
    finally:
        log.close()


async def _note(log: Log, pids: Callable[[], Iterable[int]]) -> None:
    waited: dict[int, float] = {}
    while True:
        looked_at = now()
        await asyncio.sleep(_LOOK_SECONDS)
        at = now()
        if at - looked_at > _LOOK_SECONDS + _LEAST_SECONDS:
            log.write(Stall(looked_at + _LOOK_SECONDS, at))
        before, waited = waited, {pid: waited_seconds(pid) for pid in pids()}
        for pid, seconds in waited.items():
            stalled = seconds - before.get(pid, seconds)
            if stalled > _LEAST_SECONDS:
                log.write(Stall(at - stalled, at, pid))


def waited_seconds(pid: int) -> float:
    """How long in all its first thread, which has the loop, was ready to run and did not."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0  # It is gone, or this kernel does not count: then nobody has an excuse.
