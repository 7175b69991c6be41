"""What the end of a host means for the jobs in it: pure decisions, and their words.

- Asked to stop before: it has stopped now, with the outcome that was asked for.
- Not begun: to another host, uncharged; after `TRIES_MAX` hosts died under it, failed.
- Alone in running user code when the host died by itself: it did it, so it failed.
- One of several: nobody knows which one did it, so each is lost; the retry is set apart.
- Beside a job for whose sake the worker killed the host: lost.
- Over, but the answer died with the host: lost.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from enum import Enum
from typing import TypeVar, assert_never

from mainspring.domain.outcomes import Error, Failed, Lost, Outcome, TimedOut

TRIES_MAX = 3

Name = TypeVar("Name")


class Progress(Enum):
    NOT_BEGUN = "not begun"
    IMPORTING = "importing"
    RUNNING = "running"
    OVER = "over"


def verdicts(
    jobs: Mapping[Name, Progress], reason: str, *, killed: bool
) -> dict[Name, Outcome | None]:
    """What becomes of jobs that nobody asked to stop; None sends a job to another host.

    `killed` says that the worker ended the host, for another job's sake.
    """
    suspects = [
        name
        for name, progress in jobs.items()
        if progress in (Progress.RUNNING, Progress.IMPORTING)
    ]
    known = len(suspects) == 1 and not killed
    return {name: _verdict(progress, reason, known) for name, progress in jobs.items()}


def _verdict(progress: Progress, reason: str, known: bool) -> Outcome | None:
    match progress:
        case Progress.NOT_BEGUN:
            return None
        case Progress.IMPORTING if known:
            return Failed(Error("HostDied", f"{reason} while its module was imported"))
        case Progress.RUNNING if known:
            return Failed(Error("HostDied", reason))
        case Progress.IMPORTING | Progress.RUNNING:
            return Lost(Error("HostDied", f"{reason} with other tasks in it"))
        case Progress.OVER:
            return Lost(Error("HostDied", f"{reason} before it could tell the result"))
        case _:
            assert_never(progress)


def gave_up(reason: str) -> Failed:
    """A job that met one dying host after the other."""
    return Failed(Error("HostDied", f"not started, {TRIES_MAX} times: {reason}"))


def could_not_start(reason: str) -> Failed:
    return Failed(Error("HostNotStarted", f"no host process can be started: {reason}"))


def import_took_too_long(seconds: float) -> Failed:
    return Failed(
        Error("ImportTimeout", f"importing its module took longer than {_seconds(seconds)}")
    )


def timed_out(seconds: float) -> TimedOut:
    return TimedOut(Error("TimedOut", f"took longer than {_seconds(seconds)}"))


def host_ended(status: int) -> str:
    words = f"the host process {ending_of(status)}"
    # The kernel's way to make room; user code that kills itself looks the same.
    return f"{words} (out of memory?)" if status == -signal.SIGKILL else words


def ending_of(status: int) -> str:
    """An exit status in words, negative for a signal, as in `subprocess`."""
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def _seconds(seconds: float) -> str:
    return f"{seconds:g} s"
