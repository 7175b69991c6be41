"""The state machines, once, as tables.

Everything that knows a state derives from here: the SQL enum types and guards
(`store/sql/guards.sql`), the reference page with its diagrams, the TypeScript file of the
page, labels and tones. Change a table, run `make gen`, and write a migration if a state is new.

Two views of a task. The *published* machine is what people see and what `TASK` below holds.
In the database `running` is not stored: a task in state `ready` is running exactly when its
row in `ready` is gone, because a claim took it. `stored()` folds the published table to the
moves that an UPDATE may make; the guard trigger allows those and no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class RunState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TaskState(StrEnum):
    WAITING = "waiting"
    READY = "ready"
    RUNNING = "running"
    BACKOFF = "backoff"
    PARKED = "parked"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    UPSTREAM_FAILED = "upstream_failed"
    CANCELLED = "cancelled"


class AttemptState(StrEnum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    CANCELLED = "cancelled"
    YIELDED = "yielded"


class BackfillState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    FINISHED = "finished"


class Tone(StrEnum):
    """How a state feels to the person who looks: one colour per tone, chosen in one place."""

    QUIET = "quiet"
    PENDING = "pending"
    ACTIVE = "active"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


class Facts(NamedTuple):
    """What is true of a state, whichever machine it belongs to."""

    label: str
    tone: Tone
    closed: bool
    meaning: str


class Move(NamedTuple):
    """One legal step of a machine and the event that makes it."""

    source: str
    target: str
    when: str


class Machine(NamedTuple):
    name: str
    initial: str
    facts: Mapping[str, Facts]
    moves: tuple[Move, ...]
    derived: Mapping[str, str]
    """States that are shown but not stored, each with the stored state that stands for it."""

    @property
    def closed(self) -> frozenset[str]:
        return frozenset(state for state, facts in self.facts.items() if facts.closed)

    @property
    def open(self) -> frozenset[str]:
        return frozenset(self.facts) - self.closed

    @property
    def stored_states(self) -> tuple[str, ...]:
        return tuple(state for state in self.facts if state not in self.derived)

    def allows(self, source: str, target: str) -> bool:
        return any(move.source == source and move.target == target for move in self.moves)

    def stored(self) -> frozenset[tuple[str, str]]:
        """The moves that change a stored state; those folded into one state are no change."""
        folded = {
            (self.derived.get(move.source, move.source), self.derived.get(move.target, move.target))
            for move in self.moves
        }
        return frozenset((source, target) for source, target in folded if source != target)


RUN = Machine(
    name="run",
    initial=RunState.QUEUED,
    facts={
        RunState.QUEUED: Facts("Queued", Tone.PENDING, False, "accepted; no task has started yet"),
        RunState.RUNNING: Facts("Running", Tone.ACTIVE, False, "at least one task has started"),
        RunState.SUCCEEDED: Facts(
            "Succeeded", Tone.GOOD, True, "every task ended and none failed or was cancelled"
        ),
        RunState.FAILED: Facts("Failed", Tone.BAD, True, "every task ended and one failed"),
        RunState.CANCELLED: Facts("Cancelled", Tone.QUIET, True, "stopped by request"),
    },
    moves=(
        Move(RunState.QUEUED, RunState.RUNNING, "a task starts"),
        Move(RunState.QUEUED, RunState.SUCCEEDED, "marked by hand before a task started"),
        Move(RunState.QUEUED, RunState.CANCELLED, "cancelled before a task started"),
        Move(RunState.QUEUED, RunState.FAILED, "run timeout before a task started"),
        Move(RunState.RUNNING, RunState.SUCCEEDED, "the last open task ends"),
        Move(RunState.RUNNING, RunState.FAILED, "the last open task ends, one failed"),
        Move(RunState.RUNNING, RunState.CANCELLED, "the last open task ends after a cancel"),
        Move(RunState.SUCCEEDED, RunState.RUNNING, "reopened by a rerun"),
        Move(RunState.FAILED, RunState.RUNNING, "reopened by a rerun"),
        Move(RunState.CANCELLED, RunState.RUNNING, "reopened by a rerun"),
    ),
    derived={RunState.QUEUED: RunState.RUNNING},
)

TASK = Machine(
    name="task",
    initial=TaskState.WAITING,
    facts={
        TaskState.WAITING: Facts(
            "Waiting", Tone.QUIET, False, "for the tasks before it, or for its start time"
        ),
        TaskState.READY: Facts("Ready", Tone.PENDING, False, "in a queue, for a free slot"),
        TaskState.RUNNING: Facts("Running", Tone.ACTIVE, False, "claimed by a worker"),
        TaskState.BACKOFF: Facts("Backing off", Tone.WARN, False, "for its next attempt"),
        TaskState.PARKED: Facts("Parked", Tone.QUIET, False, "for an instant, event or run"),
        TaskState.SUCCEEDED: Facts("Succeeded", Tone.GOOD, True, "its result is kept"),
        TaskState.FAILED: Facts("Failed", Tone.BAD, True, "no attempt is left; a problem"),
        TaskState.SKIPPED: Facts("Skipped", Tone.QUIET, True, "by its own wish or by a parent's"),
        TaskState.UPSTREAM_FAILED: Facts(
            "Upstream failed", Tone.BAD, True, "never ran: a task before it failed"
        ),
        TaskState.CANCELLED: Facts("Cancelled", Tone.QUIET, True, "stopped by request"),
    },
    moves=(
        Move(TaskState.WAITING, TaskState.READY, "its rule holds and its start time has come"),
        Move(TaskState.WAITING, TaskState.SUCCEEDED, "marked by hand"),
        Move(TaskState.WAITING, TaskState.SKIPPED, "a parent was skipped, or marked by hand"),
        Move(TaskState.WAITING, TaskState.UPSTREAM_FAILED, "a parent failed"),
        Move(TaskState.WAITING, TaskState.CANCELLED, "the run is cancelled or timed out"),
        Move(TaskState.READY, TaskState.RUNNING, "a worker claims it"),
        Move(TaskState.READY, TaskState.SUCCEEDED, "marked by hand"),
        Move(TaskState.READY, TaskState.SKIPPED, "marked by hand"),
        Move(TaskState.READY, TaskState.CANCELLED, "the run is cancelled or timed out"),
        Move(TaskState.RUNNING, TaskState.SUCCEEDED, "the attempt succeeds, or marked by hand"),
        Move(TaskState.RUNNING, TaskState.FAILED, "the last attempt fails"),
        Move(TaskState.RUNNING, TaskState.SKIPPED, "user code raises Skip, or marked by hand"),
        Move(TaskState.RUNNING, TaskState.BACKOFF, "an attempt fails and another is left"),
        Move(TaskState.RUNNING, TaskState.PARKED, "user code waits"),
        Move(TaskState.RUNNING, TaskState.READY, "lost or handed back"),
        Move(TaskState.RUNNING, TaskState.CANCELLED, "stopped after a cancel or run timeout"),
        Move(TaskState.BACKOFF, TaskState.READY, "the delay is over"),
        Move(TaskState.BACKOFF, TaskState.SUCCEEDED, "marked by hand"),
        Move(TaskState.BACKOFF, TaskState.SKIPPED, "marked by hand"),
        Move(TaskState.BACKOFF, TaskState.CANCELLED, "the run is cancelled or timed out"),
        Move(TaskState.PARKED, TaskState.READY, "what it waited for has come"),
        Move(TaskState.PARKED, TaskState.SUCCEEDED, "marked by hand"),
        Move(TaskState.PARKED, TaskState.SKIPPED, "marked by hand"),
        Move(TaskState.PARKED, TaskState.CANCELLED, "the run is cancelled or timed out"),
        *(
            Move(closed, TaskState.WAITING, "reopened by a rerun")
            for closed in (
                TaskState.SUCCEEDED,
                TaskState.FAILED,
                TaskState.SKIPPED,
                TaskState.UPSTREAM_FAILED,
                TaskState.CANCELLED,
            )
        ),
    ),
    derived={TaskState.RUNNING: TaskState.READY},
)

ATTEMPT = Machine(
    name="attempt",
    initial=AttemptState.RUNNING,
    facts={
        AttemptState.RUNNING: Facts("Running", Tone.ACTIVE, False, "a worker holds it"),
        AttemptState.SUCCEEDED: Facts("Succeeded", Tone.GOOD, True, "it returned a result"),
        AttemptState.FAILED: Facts("Failed", Tone.BAD, True, "it raised, or its process died"),
        AttemptState.TIMED_OUT: Facts("Timed out", Tone.BAD, True, "stopped at its time limit"),
        AttemptState.LOST: Facts("Lost", Tone.WARN, True, "its worker was not heard of again"),
        AttemptState.CANCELLED: Facts("Cancelled", Tone.QUIET, True, "stopped by request"),
        AttemptState.YIELDED: Facts("Handed back", Tone.QUIET, True, "given back uncharged"),
    },
    moves=tuple(
        Move(AttemptState.RUNNING, target, when)
        for target, when in (
            (AttemptState.SUCCEEDED, "it returns"),
            (AttemptState.FAILED, "it raises, or its process dies"),
            (AttemptState.TIMED_OUT, "its time limit passes"),
            (AttemptState.LOST, "its worker is reaped"),
            (AttemptState.CANCELLED, "it stops after a cancel or run timeout"),
            (AttemptState.YIELDED, "it is handed back or waits"),
        )
    ),
    derived={},
)

BACKFILL = Machine(
    name="backfill",
    initial=BackfillState.RUNNING,
    facts={
        BackfillState.RUNNING: Facts(
            "Running", Tone.ACTIVE, False, "it makes runs, or awaits their ends"
        ),
        BackfillState.PAUSED: Facts("Paused", Tone.WARN, False, "it makes no runs until resumed"),
        BackfillState.CANCELLED: Facts("Cancelled", Tone.QUIET, True, "it makes no more runs"),
        BackfillState.FINISHED: Facts(
            "Finished", Tone.GOOD, True, "each instant was dealt with and its runs are over"
        ),
    },
    moves=(
        Move(BackfillState.RUNNING, BackfillState.PAUSED, "by hand, or its dag is gone"),
        Move(BackfillState.PAUSED, BackfillState.RUNNING, "resumed by hand"),
        Move(BackfillState.RUNNING, BackfillState.CANCELLED, "by hand"),
        Move(BackfillState.PAUSED, BackfillState.CANCELLED, "by hand"),
        Move(BackfillState.RUNNING, BackfillState.FINISHED, "the last of its runs ends"),
    ),
    derived={},
)

MACHINES = (RUN, TASK, ATTEMPT, BACKFILL)
