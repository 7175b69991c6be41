"""The time of one attempt: it passes when the attempt sleeps, and costs nothing.

`time.sleep` moves the clock. Coroutines run on an event loop that jumps to its next timer instead
of waiting for it, unless something outside is awaited, a socket or a thread: then it waits, and as
much passes on the clock as it took. Computing takes no time.

At the attempt's limit user code is asked to stop as a host asks it: a coroutine is cancelled, a
function gets `Stopped` from its sleep. What takes longer than the grace to clean up is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextvars import ContextVar
from typing import Any, TypeVar, TypeVarTuple

from mainspring.executors.calls import Stopped

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")

GRACE_SECONDS = 5.0


class Clock:
    def __init__(self, limit_seconds: float | None = None) -> None:
        self.seconds = 0.0
        self.limit_seconds = limit_seconds
        self.stopped = False

    def sleep(self, seconds: float) -> None:
        until = self.seconds + seconds
        end = self._end()
        if end is None or until <= end:
            self.seconds = until
            return
        self.seconds = end
        self.stopped = True
        raise Stopped("stopped")

    def _end(self) -> float | None:
        """How far it may go: to the limit, and when asked to stop there, to the end of grace."""
        if self.limit_seconds is None:
            return None
        return self.limit_seconds + (GRACE_SECONDS if self.stopped else 0.0)


_current: ContextVar[Clock | None] = ContextVar("mainspring_testing_clock", default=None)

follow = _current.set
"""From here on, this code sleeps by that clock."""


# --- plain functions -----------------------------------------------------------------------

_really_sleep = time.sleep
_patching = threading.Lock()
_patches: list[None] = []


@contextlib.contextmanager
def virtual_sleep() -> Iterator[None]:
    """`time.sleep` moves the clock of whoever follows one. What a test put there is left alone."""
    with _patching:
        _patches.append(None)
        if time.sleep is _really_sleep:
            time.sleep = _sleep
    try:
        yield
    finally:
        with _patching:
            _patches.pop()
            if not _patches and time.sleep is _sleep:
                time.sleep = _really_sleep


def _sleep(seconds: Any, /) -> None:
    clock = _current.get()
    # Between two looks at a program that was started, which knows no virtual time.
    waits_for_program = sys._getframe(1).f_globals.get("__name__") == "subprocess"
    if clock is None or waits_for_program or not seconds > 0:
        _really_sleep(seconds)
    else:
        clock.sleep(float(seconds))


# --- coroutines ----------------------------------------------------------------------------


def run_coroutine(coroutine: Coroutine[Any, Any, _T], clock: Clock) -> _T:
    """What the coroutine returns, on an event loop that keeps the clock's time."""
    loop = _VirtualLoop(clock)
    try:
        return loop.run_until_complete(_within(coroutine, clock))
    finally:
        for stray in asyncio.all_tasks(loop):
            stray.cancel()
        # One turn, in which strays see that they are cancelled.
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.close()


async def _within(coroutine: Coroutine[Any, Any, _T], clock: Clock) -> _T:
    task = asyncio.ensure_future(coroutine)
    await asyncio.wait({task}, timeout=clock.limit_seconds)
    if not task.done():
        clock.stopped = True
        task.cancel()
        await asyncio.wait({task}, timeout=GRACE_SECONDS)
    if not task.done():
        raise Stopped("did not stop")
    return task.result()


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.threads = 0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self.clock.seconds

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*_Ts], _T], *args: *_Ts
    ) -> asyncio.Future[_T]:
        future = super().run_in_executor(executor, func, *args)
        self.threads += 1
        future.add_done_callback(self._thread_ended)
        return future

    def _thread_ended(self, _: asyncio.Future[Any]) -> None:
        self.threads -= 1


class _Selector(selectors.DefaultSelector):
    """Where an event loop waits."""

    def __init__(self, loop: _VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        if found := super().select(0):
            return found
        # The loop's own pipe is always there.
        if len(self.get_map()) == 1 and not self._loop.threads:
            self._loop.clock.seconds += timeout
            return []
        begun = time.monotonic()
        found = super().select(timeout)
        self._loop.clock.seconds += min(time.monotonic() - begun, timeout) if found else timeout
        return found
