"""The published tables of moves, copied by hand from docs/reference/states.md.

Not generated, and not to be: the product derives its guards from one table, and a mistake there
would be a mistake here.
"""

from __future__ import annotations

TASK_BEGINS = frozenset({"waiting", "ready"})
"""A task without anything before it is ready when it is made."""

TASK_MOVES = {
    "waiting": {"ready", "skipped", "upstream_failed", "cancelled"},
    "ready": {"running", "cancelled"},
    "running": {"succeeded", "failed", "skipped", "backoff", "parked", "ready", "cancelled"},
    "backoff": {"ready", "cancelled"},
    "parked": {"ready", "cancelled"},
    "succeeded": {"waiting"},
    "failed": {"waiting"},
    "skipped": {"waiting"},
    "upstream_failed": {"waiting"},
    "cancelled": {"waiting"},
}

MARKED_FROM = frozenset({"waiting", "ready", "running", "backoff", "parked", "failed"})
MARKED_AS = frozenset({"succeeded", "skipped"})
"""By hand a task is closed from each of these as one of those. One that failed is opened again
first, in the same transaction."""

TASK_CLOSED = frozenset({"succeeded", "failed", "skipped", "upstream_failed", "cancelled"})

RUN_CLOSED = frozenset({"succeeded", "failed", "cancelled"})

RUN_MOVES = {
    "running": {"succeeded", "failed", "cancelled"},
    "succeeded": {"running"},
    "failed": {"running"},
    "cancelled": {"running"},
}
"""As stored, where `queued` is `running` of which no task has started."""

ATTEMPT_ENDS = frozenset({"succeeded", "failed", "timed_out", "lost", "cancelled", "yielded"})

CHARGED = frozenset({"failed", "timed_out"})
"""Ends of an attempt that count against the retry policy."""


def task_may_move(before: str, after: str) -> bool:
    """In one transaction. A granted child becomes ready and is claimed at the same moment."""
    return after in TASK_MOVES[before] or (before, after) == ("waiting", "running")


def task_may_reopen(before: str, after: str) -> bool:
    """What waits for nothing becomes ready at the same moment."""
    return before in TASK_CLOSED and after in TASK_BEGINS


def task_may_be_marked(before: str, after: str, deed: str, *, reopened: bool) -> bool:
    """By hand, as it was said."""
    return before in MARKED_FROM and after == deed and reopened == (before == "failed")


def verdict(states: list[str], stop: str | None) -> str:
    """How a run ends whose tasks have ended like this."""
    if "failed" in states or "upstream_failed" in states:
        return "failed"
    if "cancelled" in states:
        return "failed" if stop == "deadline" else "cancelled"
    return "succeeded"
