"""One run of a dag in memory: which attempt comes next, and what becomes of its task.

Behind `mainspring dag test`, which makes the attempts in host children, and `mainspring.testing`,
which makes them in the test's own process. There is no database here, no clock and no user code:
whoever drives a trial asks for the `next` attempt, makes it, and tells how it `ended`.

Time is a number that moves from one thing that happens to the next, so a rest of an hour costs
nothing. Attempts are made one after the other. With `side_by_side` they count as if each had a
slot of its own: of two that begin at the same instant, the one that lasts longer ends later.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

import msgspec

from mainspring.authoring.context import Attempt, RunFire
from mainspring.domain.bindings import arguments_of
from mainspring.domain.errors import InputError
from mainspring.domain.outcomes import Cancelled, Error, Failed, Outcome, decide
from mainspring.domain.specs import DagSpec, TaskSpec, children_of, parents_of
from mainspring.domain.states import AttemptState, RunState, TaskState

_GENERATION = 1
_EPOCH = 0
"""Below that of any database: what is fenced refuses a trial once it has seen a real run."""
_END, _START = 0, 1
"""What ends at an instant comes before what begins then."""


class Due(msgspec.Struct, frozen=True):
    """An attempt to be made now."""

    node: int
    task: TaskSpec
    attempt: Attempt
    arguments: bytes
    lost: int
    """How many attempts before this one were lost."""
    at_seconds: float
    """Since the run's beginning."""
    left_seconds: float | None
    """Until the run's timeout passes."""


class Tried(msgspec.Struct, frozen=True):
    """One attempt, as it went."""

    attempt: int
    state: AttemptState
    seconds: float
    error: Error | None


class Report(Protocol):
    """Who is told how it goes."""

    def tried(self, node: int, tried: Tried) -> None: ...

    def rests(self, node: int, delay_seconds: float) -> None: ...

    def ended(self, node: int, state: TaskState, result: bytes | None) -> None: ...


class Trial:
    """A run and its tasks.

    `random` is for the jitter of rests. The run's timeout is kept only `side_by_side`: how long
    tasks take one after the other says nothing about it.
    """

    def __init__(
        self,
        spec: DagSpec,
        parameters: Mapping[str, Any],
        report: Report,
        *,
        run_id: int,
        due_at: datetime,
        random: Callable[[], float],
        side_by_side: bool,
        fire: RunFire | None = None,
    ) -> None:
        self.now_seconds = 0.0
        self._spec = spec
        self._parameters = parameters
        self._parameters_json = msgspec.json.encode(parameters)
        self._report = report
        self._run_id = run_id
        self._due_at = due_at
        self._fire = fire
        self._random = random
        self._side_by_side = side_by_side
        self._limit_seconds = spec.timeout_seconds if side_by_side else None
        self._children = children_of(spec)
        self._unmet = [len(parents) for parents in parents_of(spec)]
        self._states = [TaskState.WAITING] * len(spec.tasks)
        self._results: dict[int, bytes] = {}
        self._counts = [_Counts()] * len(spec.tasks)
        self._heap: list[tuple[float, int, int, int, _Start | _End]] = []
        self._sequence = itertools.count()
        for node, unmet in enumerate(self._unmet):
            if unmet == 0:
                self._ready(node, 0.0)

    def next(self) -> Due | None:
        """The attempt that comes first; None once every task is closed."""
        self._settle_ends()
        while self._heap:
            at_seconds, _, _, _, event = heapq.heappop(self._heap)
            assert isinstance(event, _Start)
            if self._limit_seconds is not None and at_seconds >= self._limit_seconds:
                self._stop()
                continue
            self.now_seconds = max(self.now_seconds, at_seconds)
            due = self._due(event.node)
            if isinstance(due, Due):
                self._states[event.node] = TaskState.RUNNING
                return due
            self._settle(_End(event.node, due, 0.0))
            self._settle_ends()
        return None

    def ended(self, due: Due, outcome: Outcome, seconds: float) -> None:
        """Tell of the end of the attempt that `next` gave, and how long it lasted."""
        if due.left_seconds is not None and seconds > due.left_seconds:
            seconds, outcome = due.left_seconds, Cancelled("the run's timeout passed")
        end = _End(due.node, outcome, seconds)
        if self._side_by_side:
            self._push(due.at_seconds + seconds, _END, 0, end)
            self._settle_ends()
        else:
            self.now_seconds = due.at_seconds + seconds
            self._settle(end)

    def _settle_ends(self) -> None:
        """Whatever ends before something else begins."""
        while self._heap and isinstance(event := self._heap[0][-1], _End):
            self.now_seconds = heapq.heappop(self._heap)[0]
            self._settle(event)

    @property
    def verdict(self) -> RunState:
        """How the run ended: a function of its tasks."""
        bad = {TaskState.FAILED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED}
        return RunState.SUCCEEDED if bad.isdisjoint(self._states) else RunState.FAILED

    # --- one attempt -----------------------------------------------------------------------

    def _due(self, node: int) -> Due | Outcome:
        task, counts = self._spec.tasks[node], self._counts[node]
        try:
            arguments = arguments_of(task, self._parameters, self._results.__getitem__)
        except InputError as error:
            return Failed(Error("InputError", error.message), retry=False)
        limit = self._limit_seconds
        return Due(
            node=node,
            task=task,
            attempt=Attempt(
                run_id=self._run_id,
                dag=self._spec.name,
                task=task.name,
                number=counts.attempt,
                generation=_GENERATION,
                epoch=_EPOCH,
                term=counts.term,
                due_at=self._due_at,
                parameters=self._parameters_json,
                fire=self._fire,
            ),
            arguments=arguments,
            lost=counts.lost,
            at_seconds=self.now_seconds,
            left_seconds=None if limit is None else limit - self.now_seconds,
        )

    def _settle(self, end: _End) -> None:
        """The same rules as in the database."""
        if isinstance(end.outcome, Cancelled):
            self._stop()
        node, counts = end.node, self._counts[end.node]
        task = self._spec.tasks[node]
        decision = decide(end.outcome, task, counts.attempt, counts.lost, self._random())
        self._report.tried(
            node, Tried(counts.attempt, decision.attempt, end.seconds, decision.error)
        )
        if decision.state in (TaskState.BACKOFF, TaskState.READY):
            self._counts[node] = _Counts(
                counts.attempt + decision.charged, counts.lost + decision.lost, counts.term + 1
            )
            if decision.delay_seconds:
                self._report.rests(node, decision.delay_seconds)
            self._ready(node, self.now_seconds + decision.delay_seconds)
            return
        self._close(node, decision.state, decision.result)
        if decision.state is TaskState.SUCCEEDED:
            self._release(node)
        else:
            skipped = decision.state is TaskState.SKIPPED
            self._doom(node, TaskState.SKIPPED if skipped else TaskState.UPSTREAM_FAILED)

    # --- what follows ----------------------------------------------------------------------

    def _release(self, node: int) -> None:
        for child in self._children[node]:
            self._unmet[child] -= 1
            if self._unmet[child] == 0 and self._states[child] is TaskState.WAITING:
                self._ready(child, self.now_seconds)

    def _doom(self, node: int, state: TaskState) -> None:
        """Close what needs a task that will never succeed, nearest first."""
        pending = list(self._children[node])
        for child in pending:
            if self._states[child] is TaskState.WAITING:
                self._close(child, state)
                pending += self._children[child]

    def _stop(self) -> None:
        """The run's timeout has passed: what has not begun is cancelled."""
        assert self._limit_seconds is not None
        self.now_seconds = self._limit_seconds
        # Ends stay: what runs until now is being stopped, each by its own.
        self._heap = [entry for entry in self._heap if isinstance(entry[-1], _End)]
        heapq.heapify(self._heap)
        for node, state in enumerate(self._states):
            if state in (TaskState.WAITING, TaskState.READY):
                self._close(node, TaskState.CANCELLED)

    def _ready(self, node: int, at_seconds: float) -> None:
        self._states[node] = TaskState.READY
        self._push(at_seconds, _START, -self._spec.tasks[node].priority, _Start(node))

    def _close(self, node: int, state: TaskState, result: bytes | None = None) -> None:
        self._states[node] = state
        if result is not None:
            self._results[node] = result
        self._report.ended(node, state, result)

    def _push(self, at_seconds: float, rank: int, order: int, event: _Start | _End) -> None:
        heapq.heappush(self._heap, (at_seconds, rank, order, next(self._sequence), event))


class _Start(msgspec.Struct, frozen=True):
    node: int


class _End(msgspec.Struct, frozen=True):
    node: int
    outcome: Outcome
    seconds: float


class _Counts(msgspec.Struct, frozen=True):
    attempt: int = 1
    lost: int = 0
    term: int = 1
