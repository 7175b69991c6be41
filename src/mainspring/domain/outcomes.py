"""How an attempt ended, as values, and what that means for its task.

User code and the machinery around it produce an `Outcome`; `decide` turns it into a
`Decision`, the move that one guarded statement then makes. Nothing here knows a clock:
delays are lengths, and randomness is handed in.
"""

from __future__ import annotations

import math
from typing import assert_never

import msgspec

from mainspring.domain.specs import RetrySpec, TaskSpec
from mainspring.domain.states import AttemptState, TaskState


class Error(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong, told for a person and for a program."""

    type: str
    message: str
    trace: str = ""
    types: tuple[str, ...] = ()
    """Qualified names of the exception's class and its bases, for `give_up_on`."""


class Succeeded(msgspec.Struct, frozen=True, tag=True):
    result: bytes = b"null"
    """JSON."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    error: Error
    retry: bool = True
    """False when user code raised Fail: whatever the policy, no other attempt."""
    delay_seconds: float | None = None
    """Set by Retry(after=…) or by the author's delay function; overrides the policy's delay."""


class TimedOut(msgspec.Struct, frozen=True, tag=True):
    error: Error


class Skipped(msgspec.Struct, frozen=True, tag=True):
    reason: str = ""


class Lost(msgspec.Struct, frozen=True, tag=True):
    """The child that ran it, or its worker, is gone; nobody knows how far it came."""

    error: Error


class Cancelled(msgspec.Struct, frozen=True, tag=True):
    reason: str = ""


class HandedBack(msgspec.Struct, frozen=True, tag=True):
    """Not run, or stopped by a drain: goes back uncharged, after a rest if one is given."""

    reason: str = ""
    delay_seconds: float = 0.0


Outcome = Succeeded | Failed | TimedOut | Skipped | Lost | Cancelled | HandedBack


class Decision(msgspec.Struct, frozen=True):
    """The move that follows an outcome."""

    state: TaskState
    attempt: AttemptState
    charged: bool = False
    """Counts against the retry policy."""
    lost: bool = False
    """Counts against `max_lost`."""
    delay_seconds: float = 0.0
    result: bytes | None = None
    error: Error | None = None


def decide(outcome: Outcome, task: TaskSpec, attempt: int, lost: int, random: float) -> Decision:
    """What becomes of the task.

    `attempt` is the number of the attempt that ended (from 1), `lost` how many were lost
    before it, `random` a number in [0, 1) for the jitter.
    """
    match outcome:
        case Succeeded(result=result):
            return Decision(TaskState.SUCCEEDED, AttemptState.SUCCEEDED, result=result)
        case Skipped(reason=reason):
            return Decision(TaskState.SKIPPED, AttemptState.SUCCEEDED, error=Error("Skip", reason))
        case Cancelled(reason=reason):
            return Decision(
                TaskState.CANCELLED, AttemptState.CANCELLED, error=Error("Cancelled", reason)
            )
        case HandedBack(reason=reason, delay_seconds=delay):
            state = TaskState.BACKOFF if delay > 0 else TaskState.READY
            return Decision(
                state,
                AttemptState.YIELDED,
                delay_seconds=delay,
                error=Error("HandedBack", reason),
            )
        case Lost(error=error):
            if task.on_lost == "fail" or lost + 1 >= task.max_lost:
                return Decision(TaskState.FAILED, AttemptState.LOST, lost=True, error=error)
            return Decision(TaskState.READY, AttemptState.LOST, lost=True, error=error)
        case Failed(error=error, retry=retry, delay_seconds=delay):
            return _failed(AttemptState.FAILED, error, task, attempt, random, retry, delay)
        case TimedOut(error=error):
            return _failed(AttemptState.TIMED_OUT, error, task, attempt, random, True, None)
        case _:
            assert_never(outcome)


def outcome_at_most_once(outcome: Outcome, task: TaskSpec, *, begun: bool) -> Outcome:
    """What has begun and is handed back is lost, if its author does not want it begun again."""
    if begun and isinstance(outcome, HandedBack) and task.on_lost == "fail":
        return Lost(Error("Stopped", outcome.reason))
    return outcome


def _failed(
    ended: AttemptState,
    error: Error,
    task: TaskSpec,
    attempt: int,
    random: float,
    retry: bool,
    delay: float | None,
) -> Decision:
    hopeless = not retry or not set(error.types).isdisjoint(task.retry.give_up_on)
    if hopeless or attempt >= task.retry.attempts:
        return Decision(TaskState.FAILED, ended, charged=True, error=error)
    if delay is None:
        delay = backoff_seconds(task.retry, attempt, random)
    return Decision(
        TaskState.BACKOFF, ended, charged=True, delay_seconds=max(delay, 0.0), error=error
    )


def backoff_seconds(retry: RetrySpec, attempt: int, random: float) -> float:
    """The rest after failed attempt number `attempt`."""
    match retry.backoff:
        case "fixed" | "function":
            # A delay function that failed or is out of reach leaves the fixed delay.
            delay = retry.first_seconds
        case "exponential":
            growth = retry.factor ** min(attempt - 1, 1000 / max(math.log2(retry.factor), 1.0))
            delay = min(retry.first_seconds * growth, retry.cap_seconds)
        case "delays":
            delays = retry.delays_seconds
            delay = delays[min(attempt, len(delays)) - 1] if delays else 0.0
        case _:
            assert_never(retry.backoff)
    return delay * (1.0 - retry.jitter * random)
