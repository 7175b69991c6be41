"""A test that hangs tells its name and what its coroutines wait for; then its process ends.

Otherwise one lost wake-up would cost the whole run, and leave nothing to learn from. The limit
is far beyond what any test takes, on a slow machine as well: it says "never", not "too slow".
Under xdist the test then counts as failed, and the others go on in a fresh process. pytest's own
`faulthandler_exit_on_timeout` does the same where Python itself is stuck.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import threading
from collections.abc import Generator, Iterator
from types import FrameType
from typing import Any

import pytest

_TELL_BEFORE_SECONDS = 10.0


class Hangs:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        # pytest has not begun to capture yet: this is where its own messages go.
        self._stderr = os.dup(2)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        over = threading.Event()
        threading.Thread(target=self._watch, args=[item.nodeid, over], daemon=True).start()
        try:
            return (yield)
        finally:
            over.set()

    def _watch(self, name: str, over: threading.Event) -> None:
        if not over.wait(self._seconds - _TELL_BEFORE_SECONDS):
            self._tell(name)
            if not over.wait(_TELL_BEFORE_SECONDS):
                os._exit(1)

    def _tell(self, name: str) -> None:
        with os.fdopen(os.dup(self._stderr), "w") as stderr:
            print(f"\n{name} hangs; its coroutines:", file=stderr)
            for task in list(asyncio.tasks._all_tasks):  # type: ignore[attr-defined]
                if not task.done():
                    print(f"{task.get_name()}:", *frames_of(task), sep="\n  ", file=stderr)


def frames_of(task: asyncio.Task[object]) -> Iterator[str]:
    """From the outermost coroutine to the one that waits."""
    awaited: Any = task.get_coro()
    while (frame := _frame_of(awaited)) is not None:
        yield f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}"
        awaited = awaited.ag_await if inspect.isasyncgen(awaited) else awaited.cr_await
        # What a generator is asked through does not tell which one it asks; its referents do.
        awaited = next(filter(inspect.isasyncgen, gc.get_referents(awaited)), awaited)
    yield repr(awaited)


def _frame_of(awaited: Any) -> FrameType | None:
    return getattr(awaited, "cr_frame", None) or getattr(awaited, "ag_frame", None)
