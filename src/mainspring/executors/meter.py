"""How much of the machine a job used that has a process to itself.

Only of what lasts: a short job is not worth the look, nor the row. The kernel keeps the most memory
that a process ever held; that mark is set back when a job begins, where the kernel lets us
(`/proc/PID/clear_refs`), and is not known elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time

from mainspring.executors.frames import Used

LASTS_SECONDS = 0.1
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Meter:
    """For one job after another in this process."""

    def __init__(self) -> None:
        self._cpu_seconds = 0.0
        self._children_peak = 0
        self._begun_at = 0.0
        self._marked = False

    def begin(self) -> None:
        self._marked = _set_mark_back()
        self._cpu_seconds, self._children_peak = _spent()
        self._begun_at = time.monotonic()

    def end(self, slot: int) -> Used | None:
        if time.monotonic() - self._begun_at < LASTS_SECONDS:
            return None
        cpu_seconds, children_peak = _spent()
        peak = _mark() if self._marked else 0
        if peak and children_peak > self._children_peak:
            peak = max(peak, children_peak)
        return Used(slot, max(cpu_seconds - self._cpu_seconds, 0.0), peak)


def used_by_child(slot: int, lasted_seconds: float, usage: resource.struct_rusage) -> Used | None:
    """Of a child that was waited for. What it held before it became its program was ours."""
    if lasted_seconds < LASTS_SECONDS:
        return None
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = usage.ru_maxrss * _MAXRSS_UNIT if usage.ru_maxrss > ours else 0
    return Used(slot, usage.ru_utime + usage.ru_stime, peak)


def _spent() -> tuple[float, int]:
    """CPU seconds of this process and of children that it has waited for; the largest of these."""
    ours = resource.getrusage(resource.RUSAGE_SELF)
    theirs = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = ours.ru_utime + ours.ru_stime + theirs.ru_utime + theirs.ru_stime
    return spent, theirs.ru_maxrss * _MAXRSS_UNIT


def _set_mark_back() -> bool:
    try:
        # Opened anew each time: user code may close a descriptor that it does not know.
        mark = os.open("/proc/self/clear_refs", os.O_WRONLY)
    except OSError:
        return False
    try:
        os.write(mark, b"5")
    except OSError:
        return False
    finally:
        os.close(mark)
    return True


def _mark() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/status", "rb") as f:
        for line in f:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
