"""What the store should do, said a second time: plain Python, one thing at a time, no database.

States here are the published ones, `running` among them. The model is written from
`domain/states.py` and the core protocol, not from the SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from mainspring.domain.outcomes import Decision
from mainspring.domain.specs import DagSpec, TaskSpec, children_of, parents_of
from mainspring.domain.states import TASK, RunState, TaskState
from mainspring.store.runs import Stop

Token = tuple[int, int]
"""Task and term: what a completion is fenced by."""


@dataclass
class Task:
    id: int
    node: int
    spec: TaskSpec
    lane: int
    unmet: int
    state: TaskState = TaskState.WAITING
    term: int = 1
    attempt: int = 1
    lost: int = 0
    generation: int = 1
    stop: Stop | None = None
    due_at: datetime | None = None
    """When its backoff is over."""
    queued: int = 0
    """The step at which it last entered its queue."""
    marked: bool = False
    """Closed by hand."""

    @property
    def token(self) -> Token:
        return self.id, self.term

    @property
    def open(self) -> bool:
        return self.state in TASK.open


@dataclass
class Run:
    id: int
    spec: DagSpec
    version_id: int
    snapshot_id: int
    tasks: list[Task]
    starts_at: datetime | None
    """Set while its start lies ahead."""
    deadline: datetime | None
    started: bool = False
    stop: Stop | None = None
    archived: bool = False

    @property
    def many(self) -> bool:
        return len(self.tasks) > 1

    @property
    def state(self) -> RunState:
        states = {task.state for task in self.tasks}
        if any(task.open for task in self.tasks):
            return RunState.RUNNING if self.started else RunState.QUEUED
        if states & {TaskState.FAILED, TaskState.UPSTREAM_FAILED}:
            return RunState.FAILED
        if TaskState.CANCELLED in states:
            return RunState.FAILED if self.stop == "deadline" else RunState.CANCELLED
        return RunState.SUCCEEDED

    def before(self, task: Task) -> list[Task]:
        return [self.tasks[node] for node in parents_of(self.spec)[task.node]]

    def after(self, task: Task) -> list[Task]:
        return [self.tasks[node] for node in children_of(self.spec)[task.node]]

    def doomed(self, task: Task) -> list[Task]:
        """Who comes after it, but not past those who were closed by hand."""
        return self.descendants(task, past_marked=False)

    def descendants(self, task: Task, *, past_marked: bool = True) -> list[Task]:
        found: dict[int, Task] = {}
        rest = self.after(task)
        while rest:
            each = rest.pop()
            if each.id not in found and (past_marked or not each.marked):
                found[each.id] = each
                rest += self.after(each)
        return list(found.values())


@dataclass
class Opened:
    nodes: list[int]
    lanes: set[int]


@dataclass
class Marked:
    claimed: bool
    lanes: set[int]


@dataclass
class Claim:
    worker_id: int
    tokens: list[Token]


@dataclass
class End:
    """One reported end of an attempt."""

    token: Token
    claim_id: UUID
    decision: Decision
    chained: bool


@dataclass
class Ended:
    refused: set[Token] = field(default_factory=set)
    granted: list[Task] = field(default_factory=list)
    lanes: set[int] = field(default_factory=set)


class Model:
    def __init__(self) -> None:
        self.runs: dict[int, Run] = {}
        self.tasks: dict[int, Task] = {}
        self.claims: dict[UUID, Claim] = {}
        self.workers: set[int] = set()
        self.marks: set[Token] = set()
        """What was closed by hand, under the term that this ended."""
        self.ended: dict[Token, int] = {}
        """Attempts that ended, and the worker that reported it; lost ones are nobody's."""
        self._step = 0

    def run_of(self, task: Task) -> Run:
        return self.runs[task.id - task.node]

    def in_state(self, *states: TaskState) -> list[Task]:
        return [task for task in self.tasks.values() if task.state in states]

    # -- in --------------------------------------------------------------------------------

    def create(
        self,
        run_id: int,
        spec: DagSpec,
        version_id: int,
        snapshot_id: int,
        lanes: Sequence[int],
        now: datetime,
        due_at: datetime | None,
    ) -> set[int]:
        self._step += 1
        later = due_at is not None and due_at > now
        tasks = [
            Task(run_id + node, node, task, lanes[node], len(parents))
            for node, (task, parents) in enumerate(zip(spec.tasks, parents_of(spec), strict=True))
        ]
        limit = spec.timeout_seconds
        self.runs[run_id] = run = Run(
            run_id,
            spec,
            version_id,
            snapshot_id,
            tasks,
            starts_at=due_at if later else None,
            deadline=None if limit is None else (due_at or now) + timedelta(seconds=limit),
        )
        self.tasks |= {task.id: task for task in tasks}
        return set() if later else self._start(run)

    def _start(self, run: Run) -> set[int]:
        run.starts_at = None
        roots = [task for task in run.tasks if task.state == "waiting" and task.unmet == 0]
        return {self._queue(task) for task in roots}

    def _queue(self, task: Task) -> int:
        task.state, task.due_at, task.queued = TaskState.READY, None, self._step
        return task.lane

    # -- claims ----------------------------------------------------------------------------

    def queue(self, lane: int) -> list[Task]:
        """The most urgent first; those that entered in one statement are equals."""
        ready = [task for task in self.in_state(TaskState.READY) if task.lane == lane]
        return sorted(ready, key=_urgency)

    def claim(self, claim_id: UUID, worker_id: int, lane: int, limit: int, took: set[int]) -> None:
        """Accept what the store took, if it could take that."""
        queue = self.queue(lane)
        assert len(took) == min(limit, len(queue))
        taken = [task for task in queue if task.id in took]
        assert len(taken) == len(took)
        left = [task for task in queue if task.id not in took]
        if taken and left:
            assert max(map(_urgency, taken)) <= min(map(_urgency, left))
        if taken:
            self._hold(claim_id, worker_id, taken)

    def _hold(self, claim_id: UUID, worker_id: int, tasks: Iterable[Task]) -> None:
        assert worker_id in self.workers
        assert claim_id not in self.claims
        self.claims[claim_id] = Claim(worker_id, [task.token for task in tasks])
        for task in tasks:
            task.state = TaskState.RUNNING
            self.run_of(task).started = True

    def held(self, claim_id: UUID) -> list[Task]:
        """What a claim still holds."""
        claim = self.claims.get(claim_id)
        tasks = [self.tasks[task_id] for task_id, _ in claim.tokens] if claim else []
        return [
            task
            for task in tasks
            if claim and task.token in claim.tokens and task.state == TaskState.RUNNING
        ]

    def holds(self, worker_id: int, token: Token, claim_id: UUID) -> bool:
        claim = self.claims.get(claim_id)
        return (
            claim is not None
            and claim.worker_id == worker_id
            and self.tasks[token[0]].token == token
            and self.tasks[token[0]].state == TaskState.RUNNING
        )

    # -- out -------------------------------------------------------------------------------

    def complete(
        self,
        worker_id: int,
        ends: Sequence[End],
        now: datetime,
        *,
        emptied: Iterable[UUID] = (),
        grant_claim: UUID | None = None,
        grant_slots: Mapping[int, int] | None = None,
    ) -> Ended:
        self._step += 1
        urgent = {
            lane: max((task.spec.priority for task in self.queue(lane)), default=0)
            for lane in grant_slots or {}
        }
        answer = Ended()
        moved: list[tuple[Task, End]] = []
        for end in ends:
            if self.holds(worker_id, end.token, end.claim_id):
                moved.append((self.tasks[end.token[0]], end))
            else:
                answer.refused.add(end.token)
        for claim_id in emptied:
            if claim_id in self.claims and self.claims[claim_id].worker_id == worker_id:
                del self.claims[claim_id]
        for task, end in moved:
            if not end.decision.lost:
                self.ended[task.token] = worker_id
            self._move(task, end.decision, now, answer.lanes)
        able = self._follow(moved)
        chained = {
            child.id: all(
                end.chained for task, end in moved if child in self.run_of(task).after(task)
            )
            for child in able
        }
        for lane in {task.lane for task in able}:
            here = sorted(
                (task for task in able if task.lane == lane),
                key=lambda task: (-task.spec.priority, task.id),
            )
            slots = (grant_slots or {}).get(lane, 0)
            for place, task in enumerate(here, 1):
                urgent_enough = task.spec.priority >= urgent.get(lane, 0)
                if place <= slots and chained[task.id] and urgent_enough:
                    answer.granted.append(task)
                else:
                    answer.lanes.add(self._queue(task))
        if answer.granted:
            assert grant_claim is not None
            self._hold(grant_claim, worker_id, answer.granted)
        return answer

    def _move(self, task: Task, decision: Decision, now: datetime, lanes: set[int]) -> None:
        task.lost += decision.lost
        if decision.state in TASK.closed:
            task.state = decision.state
        elif task.stop is not None:
            task.state = TaskState.CANCELLED
        else:
            task.term += 1
            task.attempt += decision.charged
            if decision.state == TaskState.READY:
                lanes.add(self._queue(task))
            else:
                task.state = decision.state
                task.due_at = now + timedelta(seconds=decision.delay_seconds)

    def _follow(self, moved: Sequence[tuple[Task, End]]) -> list[Task]:
        """Close what can never run, and find what can run now."""
        for state, verdict in (
            (TaskState.FAILED, TaskState.UPSTREAM_FAILED),
            (TaskState.SKIPPED, TaskState.SKIPPED),
        ):
            for task, _ in moved:
                if task.state == state:
                    self._doom(task, verdict)
        able = []
        for task, _ in moved:
            if task.state == TaskState.SUCCEEDED:
                able += self._lower(task)
        return able

    def _doom(self, task: Task, verdict: TaskState) -> None:
        for below in self.run_of(task).doomed(task):
            if below.state == TaskState.WAITING:
                below.state = verdict

    def _lower(self, task: Task) -> list[Task]:
        """The children for which this was the last to wait for."""
        waiting = [
            child for child in self.run_of(task).after(task) if child.state == TaskState.WAITING
        ]
        for child in waiting:
            child.unmet -= 1
        return [child for child in waiting if child.unmet == 0]

    # -- time and intent -------------------------------------------------------------------

    def wake(self, now: datetime) -> set[int]:
        self._step += 1
        lanes = set()
        for task in self.in_state(TaskState.BACKOFF):
            if task.due_at is not None and task.due_at <= now:
                lanes.add(self._queue(task))
        for run in self.runs.values():
            if run.starts_at is not None and run.starts_at <= now:
                lanes |= self._start(run)
        return lanes

    def overdue(self, now: datetime) -> set[int]:
        """Runs that could be stopped: not those that are history."""
        due = [run for run in self.runs.values() if run.deadline and run.deadline <= now]
        for run in due:
            run.deadline = None
        return {run.id for run in due if not run.archived}

    def stop(self, run_id: int, kind: Stop) -> int:
        """Returns how many tasks got a note."""
        run = self.runs[run_id]
        noted = 0
        for task in run.tasks:
            if task.open:
                task.stop = task.stop or kind
                run.stop = run.stop or kind
                if task.state == TaskState.RUNNING:
                    noted += 1
                else:
                    task.state = TaskState.CANCELLED
                    task.term += 1
        return noted

    def reopen(self, run_id: int, nodes: Iterable[int], now: datetime) -> Opened | None:
        """Nothing if that is refused."""
        run = self.runs[run_id]
        opened = {node: run.tasks[node] for node in nodes}
        for task in list(opened.values()):
            opened |= {below.node: below for below in run.descendants(task)}
        if not self._open(run, opened, now):
            return None
        lanes = {self._queue(task) for task in opened.values() if task.unmet == 0}
        return Opened(sorted(opened), lanes)

    def mark(self, run_id: int, node: int, state: TaskState, now: datetime) -> Marked | None:
        """Nothing if that is refused."""
        run = self.runs[run_id]
        task = run.tasks[node]
        opened: dict[int, Task] = {}
        if task.state == TaskState.FAILED:
            opened = {below.node: below for below in [task, *run.descendants(task)]}
            while doomed := [
                below
                for below in opened.values()
                for each in run.before(below)
                if below is not task
                and each.node not in opened
                and each.state in TASK.closed - {TaskState.SUCCEEDED}
            ]:
                opened = {n: below for n, below in opened.items() if below not in doomed}
            if not self._open(run, opened, now):
                return None
        elif not task.open:
            return None
        self._step += 1
        claimed = task.state == TaskState.RUNNING
        self.marks.add(task.token)
        task.state, task.marked, task.due_at = state, True, None
        task.term += 1
        run.started = True
        if state == TaskState.SKIPPED:
            self._doom(task, TaskState.SKIPPED)
            return Marked(claimed, set())
        return Marked(claimed, {self._queue(child) for child in self._lower(task)})

    def _open(self, run: Run, opened: Mapping[int, Task], now: datetime) -> bool:
        """Make them wait again, if that may be."""
        if any(task.open for task in opened.values()):
            return False
        if run.stop is not None and any(task.open for task in run.tasks):
            return False
        for task in opened.values():
            others = [each for each in run.before(task) if each.node not in opened]
            if any(each.state != TaskState.SUCCEEDED for each in others):
                return False
        self._step += 1
        for task in opened.values():
            task.state, task.stop, task.due_at = TaskState.WAITING, None, None
            task.marked = False
            task.term += 1
            task.generation += 1
            task.attempt, task.lost = 1, 0
            task.unmet = sum(each.node in opened for each in run.before(task))
        run.stop, run.started, run.archived = None, True, False
        if run.spec.timeout_seconds is not None:
            run.deadline = now + timedelta(seconds=run.spec.timeout_seconds)
        return True


def _urgency(task: Task) -> tuple[int, int]:
    return -task.spec.priority, task.queued
