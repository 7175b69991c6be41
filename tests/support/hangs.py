"""A test that hangs tells its name and what its coroutines wait for; then its process ends.

Otherwise one lost wake-up would cost the whole run, and leave nothing to learn from. The limit
is far beyond what any test takes, on a slow machine as well: it says "never", not "too slow".
pytest's own `faulthandler_exit_on_timeout` ends the process; under xdist the test then counts as
failed, and the others go on in a fresh process.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Generator, Iterator
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
        timer = threading.Timer(self._seconds - _TELL_BEFORE_SECONDS, self._tell, [item.nodeid])
        timer.daemon = True
        timer.start()
        try:
            return (yield)
        finally:
            timer.cancel()

    def _tell(self, name: str) -> None:
        with os.fdopen(os.dup(self._stderr), "w") as stderr:
            print(f"\n{name} hangs; its coroutines:", file=stderr)
            for task in list(asyncio.tasks._all_tasks):  # type: ignore[attr-defined]
                if not task.done():
                    print(f"{task.get_name()}:", *frames_of(task), sep="\n  ", file=stderr)


def frames_of(task: asyncio.Task[object]) -> Iterator[str]:
    """From the outermost coroutine to the one that waits."""
    awaited: Any = task.get_coro()
    while (frame := getattr(awaited, "cr_frame", None)) is not None:
        yield f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}"
        awaited = awaited.cr_await
    yield repr(awaited)
