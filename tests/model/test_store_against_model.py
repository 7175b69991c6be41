"""The store against a model of it: whatever is asked in whatever order, both agree.

Each example is one transaction that is rolled back, so an example costs its statements and no
database. What needs two transactions is raced in tests/integration/store.

`MAINSPRING_MODEL_EXAMPLES=2000 pytest tests/model` looks longer.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar
from uuid import UUID, uuid4

import asyncpg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mainspring.domain.errors import ConflictError
from mainspring.domain.lanes import Lane, SlotKind
from mainspring.domain.outcomes import (
    Cancelled,
    Error,
    Failed,
    HandedBack,
    Lost,
    Outcome,
    Skipped,
    Succeeded,
    TimedOut,
    decide,
)
from mainspring.domain.specs import DagSpec, RetrySpec, TaskSpec
from mainspring.domain.states import RUN, TASK, TaskState
from mainspring.engine.reap import Reap
from mainspring.store.attempts import (
    Claimed,
    Completed,
    Completion,
    Reaped,
    claim_attempts,
    complete_attempts,
    mark_started,
    register_worker,
    renew_lease,
)
from mainspring.store.connection import Connection, Line, connect, fetch
from mainspring.store.dags import ensure_queues, register_dag
from mainspring.store.duties import (
    audit_open,
    due_deadlines,
    mend_stuck,
    wake_backoff,
    wake_starts,
)
from mainspring.store.history import archive_runs
from mainspring.store.ids import Ids
from mainspring.store.invariants import INVARIANTS
from mainspring.store.marks import Mark, Marked, mark_task
from mainspring.store.runs import (
    Deed,
    NewRun,
    Reopened,
    Stop,
    create_runs,
    read_standing,
    reopen_run,
    stop_runs,
)
from mainspring.store.wakeups import Bell
from tests.conftest import Server
from tests.model.model import End, Model, Run, Task, Token
from tests.support.invariants import ALONE

EXAMPLES = int(os.environ.get("MAINSPRING_MODEL_EXAMPLES", "200"))
STEPS = 50
PARTS = 4
"""The examples in as many tests, so that several processes can look at once."""

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
FAR_AHEAD = datetime(2100, 1, 1, tzinfo=UTC)
"""The reaper takes the end of an attempt from the clock of its machine."""
QUEUES = ("default", "other")
KINDS = (SlotKind.ASYNC, SlotKind.THREAD)
TABLES = (
    "run", "task", "ready", "timer", "attempt", "problem", "payload", "idempotency", "claim",
    "worker", "lease", "run_history", "task_history", "remark",
)  # fmt: skip

_T = TypeVar("_T")

# --- what is asked ------------------------------------------------------------------------

SHAPES: dict[str, tuple[int, tuple[tuple[int, int], ...]]] = {
    "one": (1, ()),
    "chain": (4, ((0, 1), (1, 2), (2, 3))),
    "diamond": (4, ((0, 1), (0, 2), (1, 3), (2, 3))),
    "fan": (6, ((0, 1), (0, 2), (0, 3), (0, 4), (1, 5), (2, 5), (3, 5), (4, 5))),
    # Numbers that do not follow the order of the graph.
    "backwards": (4, ((1, 0), (2, 1), (3, 1), (3, 2))),
    "loose": (3, ((0, 1),)),
}


@st.composite
def _random_edges(draw: st.DrawFn) -> tuple[int, tuple[tuple[int, int], ...]]:
    count = draw(st.integers(2, 5))
    order = draw(st.permutations(range(count)))
    pairs = [(order[a], order[b]) for a in range(count) for b in range(a + 1, count)]
    return count, tuple(sorted(draw(st.sets(st.sampled_from(pairs)))))


_tasks = st.builds(
    TaskSpec,
    name=st.just(""),
    entry=st.just("sample:task"),
    kind=st.sampled_from(KINDS),
    queue=st.sampled_from(QUEUES),
    priority=st.sampled_from((0, 5, 5, 5, 9)),
    retry=st.builds(
        RetrySpec, attempts=st.integers(1, 3), first_seconds=st.sampled_from((0.0, 10.0, 60.0))
    ),
    max_lost=st.integers(1, 3),
    on_lost=st.sampled_from(("retry", "retry", "fail")),
)


@st.composite
def _dags(draw: st.DrawFn) -> DagSpec:
    count, edges = draw(st.sampled_from(list(SHAPES.values())) | _random_edges())
    # Most tasks of a dag are alike: then they meet in one lane.
    plain = draw(_tasks)
    tasks = [draw(st.just(plain) | st.just(plain) | _tasks) for _ in range(count)]
    return DagSpec(
        name="modelled",
        tasks=tuple(
            TaskSpec(
                name=f"t{number}",
                entry=task.entry,
                kind=task.kind,
                queue=task.queue,
                priority=task.priority,
                retry=task.retry,
                max_lost=task.max_lost,
                on_lost=task.on_lost,
            )
            for number, task in enumerate(tasks)
        ),
        edges=edges,
        timeout_seconds=draw(st.sampled_from((None, None, 100.0))),
    )


_UNDONE = (TaskState.FAILED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED)
_ERROR = Error("ValueError", "no")
_OUTCOMES: tuple[Outcome, ...] = (
    Succeeded(b"1"),
    Succeeded(b'"' + b"x" * 2000 + b'"'),
    Failed(_ERROR),
    Failed(_ERROR, retry=False),
    Failed(_ERROR, delay_seconds=5.0),
    TimedOut(_ERROR),
    Skipped("not today"),
    Lost(_ERROR),
    HandedBack("drained"),
    HandedBack("nobody can run it", delay_seconds=30.0),
)
_outcomes = st.just(_OUTCOMES[0]) | st.sampled_from(_OUTCOMES)


class Report(NamedTuple):
    """A completion as a worker sends it, kept so that it can be sent again."""

    worker_id: int
    completions: list[Completion]
    emptied: list[UUID]
    grant_claim: UUID
    grant_slots: dict[int, int]
    now: datetime
    granted: list[Token]


# --- the machine --------------------------------------------------------------------------


class StoreMachine(RuleBasedStateMachine):
    def __init__(self, loop: asyncio.AbstractEventLoop, connection: Connection) -> None:
        super().__init__()
        self.loop = loop
        self.connection = connection
        self.model = Model()
        self.now = LONG_AGO
        self.lanes: dict[tuple[str, SlotKind], int] = {}
        self.ids = Ids()
        self.hands: dict[Token, tuple[int, Claimed]] = {}
        """Everything that was ever claimed, and by whom."""
        self.claim_ids: list[tuple[UUID, int, int]] = []
        self.sent: list[NewRun] = []
        self.keys: dict[str, tuple[int, bytes]] = {}
        self.reports: list[Report] = []
        self.reopenings: list[tuple[int, dict[int, int], Reopened]] = []
        self.seen_tasks: dict[int, tuple[str, int]] = {}
        self.seen_runs: dict[int, str] = {}
        self.transaction = connection.transaction()
        self.do(self.transaction.start())

    def do(self, asked: Coroutine[Any, Any, _T]) -> _T:
        return self.loop.run_until_complete(asked)

    def teardown(self) -> None:
        self.do(self.transaction.rollback())

    @initialize(workers=st.integers(1, 2))
    def begin(self, workers: int) -> None:
        queues = self.do(ensure_queues(self.connection, QUEUES))
        self.lanes = {
            (queue, kind): Lane(queues[queue], kind).number for queue in QUEUES for kind in KINDS
        }
        for _ in range(workers):
            self.join()

    # -- runs --------------------------------------------------------------------------------

    @rule(
        spec=_dags(),
        delay=st.sampled_from((None, None, None, -5.0, 0.0, 50.0)),
        large=st.booleans(),
        key=st.sampled_from((None, None, "a", "b")),
        body=st.sampled_from((b"1", b"1", b"2")),
    )
    def create(
        self, spec: DagSpec, delay: float | None, large: bool, key: str | None, body: bytes
    ) -> None:
        dag = self.do(register_dag(self.connection, spec, "snapshot"))
        run = NewRun(
            self.do(self.ids.take(self.connection, len(spec.tasks))),
            dag.version_id,
            dag.snapshot_id,
            parameters=b'"' + b"x" * 2000 + b'"' if large else b"{}",
            due_at=None if delay is None else self.now + timedelta(seconds=delay),
            key=key,
            body=body,
        )
        if key in self.keys:
            self.unchanged(self.repeat_key(run))
            return
        created = self.do(create_runs(self.connection, [run], now=self.now))
        lanes = [self.lanes[task.queue, task.kind] for task in spec.tasks]
        expected = self.model.create(
            run.id, spec, dag.version_id, dag.snapshot_id, lanes, self.now, run.due_at
        )
        assert created.ids == [run.id]
        assert created.lanes == expected
        self.sent.append(run)
        if key is not None:
            self.keys[key] = run.id, body

    async def repeat_key(self, run: NewRun) -> None:
        assert run.key is not None
        winner, body = self.keys[run.key]
        try:
            created = await create_runs(self.connection, [run], now=self.now)
        except ConflictError:
            assert body != run.body
        else:
            assert body == run.body
            assert created.ids == [winner]
            assert created.lanes == set()

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def create_again(self, data: st.DataObject) -> None:
        runs = data.draw(st.lists(st.sampled_from(self.sent), min_size=1, max_size=3, unique=True))

        async def again() -> None:
            created = await create_runs(self.connection, runs, now=self.now)
            assert created.ids == [run.id for run in runs]
            assert created.lanes == set()

        self.unchanged(again())

    @precondition(lambda self: self.model.runs)
    @rule(data=st.data(), kind=st.sampled_from(("cancel", "cancel", "deadline")))
    def stop(self, data: st.DataObject, kind: Stop) -> None:
        runs = data.draw(
            st.lists(st.sampled_from(list(self.model.runs)), min_size=1, max_size=2, unique=True)
        )
        noted = self.do(stop_runs(self.connection, runs, kind, now=self.now))
        assert noted == sum(self.model.stop(run_id, kind) for run_id in runs)

    @precondition(lambda self: self.closed())
    @rule(data=st.data(), everything=st.booleans())
    def reopen(self, data: st.DataObject, everything: bool) -> None:
        """As people do it: what is undone in a run that has ended, or all of it."""
        run = data.draw(st.sampled_from(self.closed()))
        undone = [task.node for task in run.tasks if task.state in _UNDONE]
        self.open_again(run, range(len(run.tasks)) if everything or not undone else undone)

    @precondition(lambda self: self.model.runs)
    @rule(data=st.data())
    def reopen_anything(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(list(self.model.runs.values())))
        nodes = st.sampled_from(range(len(run.tasks)))
        self.open_again(run, data.draw(st.sets(nodes, min_size=1)))

    def closed(self) -> list[Run]:
        return [run for run in self.model.runs.values() if run.state in RUN.closed]

    def open_again(self, run: Run, chosen: Collection[int]) -> None:
        standing = self.do(read_standing(self.connection, run.id))
        assert [(task.state, task.generation) for task in standing.tasks] == [
            (task.state, task.generation) for task in run.tasks
        ]
        seen = {node: run.tasks[node].generation for node in chosen}
        expected = self.model.reopen(run.id, chosen, self.now)
        if expected is None:
            self.unchanged(self.refused(run.id, seen))
            return
        reopened = self.do(reopen_run(self.connection, run.id, seen, now=self.now))
        assert (reopened.nodes, reopened.lanes) == (expected.nodes, expected.lanes)
        self.reopenings.append((run.id, seen, reopened))

    @precondition(lambda self: self.reopenings)
    @rule(data=st.data())
    def reopen_again(self, data: st.DataObject) -> None:
        """The answer was lost, now or long ago: nothing is opened a second time."""
        run_id, seen, answer = data.draw(st.sampled_from(self.reopenings[-3:]))
        tasks = self.model.runs[run_id].tasks
        if any(tasks[node].generation != generation + 1 for node, generation in seen.items()):
            self.unchanged(self.refused(run_id, seen))
            return

        async def again() -> None:
            assert await reopen_run(self.connection, run_id, seen, now=self.now) == answer

        self.unchanged(again())

    @precondition(lambda self: self.model.runs)
    @rule(data=st.data(), skip=st.booleans())
    def mark(self, data: st.DataObject, skip: bool) -> None:
        run = data.draw(st.sampled_from(list(self.model.runs.values())))
        open_or_failed = [
            task.node for task in run.tasks if task.open or task.state == TaskState.FAILED
        ]
        node = data.draw(st.sampled_from(open_or_failed or range(len(run.tasks))))
        task, state = run.tasks[node], TaskState.SKIPPED if skip else TaskState.SUCCEEDED
        term, stands = task.term, task.marked and task.state == state
        deed: Mark = "skipped" if skip else "succeeded"

        async def asked() -> Marked:
            by = Deed("somebody", "a model")
            return await mark_task(
                self.connection, run.id, node, term, deed, by, result=b"1", now=self.now
            )

        async def refused() -> None:
            if stands:
                assert (await asked()).repeated
            else:
                with pytest.raises(ConflictError):
                    await asked()

        expected = self.model.mark(run.id, node, state, self.now)
        if expected is None:
            self.unchanged(refused())
            return
        marked = self.do(asked())
        assert (marked.claimed, marked.lanes) == (expected.claimed, expected.lanes)
        # The answer was lost, and nothing is done a second time.
        self.unchanged(again(asked))

    async def refused(self, run_id: int, seen: dict[int, int]) -> None:
        with pytest.raises(ConflictError):
            await reopen_run(self.connection, run_id, seen, now=self.now)

    # -- workers -----------------------------------------------------------------------------

    @precondition(lambda self: len(self.model.workers) < 3)
    @rule()
    def join(self) -> None:
        # With a lease of no length the reaper needs no patience.
        worker_id = self.do(
            register_worker(
                self.connection,
                uuid4(),
                name="modelled",
                host="here",
                pid=1,
                queues=QUEUES,
                slots=dict.fromkeys(KINDS, 10),
                lease_seconds=0.0,
            )
        )
        self.model.workers.add(worker_id)

    @precondition(lambda self: self.model.workers)
    @rule(data=st.data(), limit=st.sampled_from((0, 1, 2, 3, 100)))
    def claim(self, data: st.DataObject, limit: int) -> None:
        worker_id = data.draw(st.sampled_from(sorted(self.model.workers)))
        busy = sorted({task.lane for task in self.model.in_state(TaskState.READY)})
        lane = data.draw(st.sampled_from(busy or sorted(self.lanes.values())))
        claim_id = uuid4()
        claimed = self.do(claim_attempts(self.connection, claim_id, worker_id, lane, limit))
        self.model.claim(claim_id, worker_id, lane, limit, {item.task_id for item in claimed})
        self.claim_ids.append((claim_id, worker_id, lane))
        self.take(worker_id, claim_id, claimed)

    def take(self, worker_id: int, claim_id: UUID, claimed: Sequence[Claimed]) -> None:
        assert len({item.task_id for item in claimed}) == len(claimed)
        for item in claimed:
            task = self.model.tasks[item.task_id]
            run = self.model.run_of(task)
            assert item.claim_id == claim_id
            assert (item.run_id, item.node, item.lane) == (run.id, task.node, task.lane)
            assert (item.version_id, item.snapshot_id) == (run.version_id, run.snapshot_id)
            assert (item.term, item.attempt, item.lost) == (task.term, task.attempt, task.lost)
            assert item.generation == task.generation
            assert item.many == run.many
            self.hands[task.token] = worker_id, item

    @precondition(lambda self: self.claim_ids)
    @rule(data=st.data())
    def claim_again(self, data: st.DataObject) -> None:
        """The answer to a claim was lost, so it is asked again; or it was late."""
        claim_id, worker_id, lane = data.draw(st.sampled_from(self.claim_ids))
        if worker_id not in self.model.workers or claim_id not in self.model.claims:
            return

        async def again() -> None:
            claimed = await claim_attempts(self.connection, claim_id, worker_id, lane, 100)
            held = {task.token for task in self.model.held(claim_id)}
            assert {(item.task_id, item.term) for item in claimed} == held

        self.unchanged(again())

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        task = data.draw(st.sampled_from(self.running()))
        stale = data.draw(st.booleans())
        worker_id, _ = self.hands[task.token]
        started = (task.id, task.term - stale, _us(self.now))
        self.do(mark_started(self.connection, worker_id, [started]))
        written = self.do(
            fetch(self.connection, "select started_at from mainspring.task where id = $1", task.id)
        )
        assert stale or written[0]["started_at"] == self.now

    @precondition(lambda self: self.model.workers)
    @rule(data=st.data(), forgets=st.booleans(), draining=st.booleans())
    def renew(self, data: st.DataObject, forgets: bool, draining: bool) -> None:
        worker_id = data.draw(st.sampled_from(sorted(self.model.workers)))
        mine = {
            claim_id: claim
            for claim_id, claim in self.model.claims.items()
            if claim.worker_id == worker_id
        }
        known = [] if forgets else list(mine)
        age = timedelta(0) if forgets else timedelta(hours=1)
        renewed = self.do(
            renew_lease(
                self.connection, worker_id, known, draining=draining, claims_known_after=age
            )
        )
        assert set(renewed.unknown_claims) == (set(mine) if forgets else set())
        noted = [
            (*task.token, task.stop)
            for claim_id in mine
            for task in self.model.held(claim_id)
            if task.stop is not None
        ]
        marked = [
            (*token, "mark")
            for claim in mine.values()
            for token in claim.tokens
            if token in self.model.marks
        ]
        assert sorted(renewed.stops) == sorted([*noted, *marked])
        if forgets and mine:
            self.hand_back(worker_id, list(mine))

    def hand_back(self, worker_id: int, claims: list[UUID]) -> None:
        held = [task for claim_id in claims for task in self.model.held(claim_id)]
        ends = [(task.token, HandedBack("unknown claim")) for task in held]
        self.report(worker_id, ends, emptied=claims, slots={})

    @precondition(lambda self: self.model.workers)
    @rule(data=st.data())
    def reap(self, data: st.DataObject) -> None:
        worker_id = data.draw(st.sampled_from(sorted(self.model.workers)))

        async def silence() -> None:
            reap = Reap(Bell(Line("", name="model")))
            assert await reap.step(self.connection, self.now, 1000) == 0
            for other in self.model.workers - {worker_id}:
                await renew_lease(
                    self.connection, other, [], draining=False, claims_known_after=timedelta(1)
                )
            await reap.step(self.connection, self.now, 1000)

        claims = [id for id, claim in self.model.claims.items() if claim.worker_id == worker_id]
        held = [(task, claim_id) for claim_id in claims for task in self.model.held(claim_id)]
        self.do(silence())
        ends = [
            End(
                task.token,
                claim_id,
                decide(Lost(_ERROR), task.spec, task.attempt, task.lost, 0.0),
                chained=False,
            )
            for task, claim_id in held
        ]
        assert not self.model.complete(worker_id, ends, self.now, emptied=claims).refused
        self.model.workers.remove(worker_id)
        self.unchanged(self.try_everything_as(worker_id))

    async def try_everything_as(self, worker_id: int) -> None:
        """Nothing is accepted from a worker that was reaped."""
        with pytest.raises(Reaped):
            await renew_lease(
                self.connection, worker_id, [], draining=False, claims_known_after=timedelta(1)
            )
        mine = [item for holder, item in self.hands.values() if holder == worker_id]
        if mine:
            completions = [self.completion(mine[-1], Succeeded())]
            completed = await complete_attempts(
                self.connection,
                worker_id,
                completions,
                grant_claim=uuid4(),
                grant_slots=dict.fromkeys(self.lanes.values(), 5),
            )
            assert set(completed.refused) == {(mine[-1].task_id, mine[-1].term)}
        for lane in {task.lane for task in self.model.in_state(TaskState.READY)}:
            try:
                async with self.connection.transaction():
                    await claim_attempts(self.connection, uuid4(), worker_id, lane, 5)
                raise AssertionError("a reaped worker could claim")
            except Reaped:
                pass

    # -- ends --------------------------------------------------------------------------------

    @precondition(lambda self: self.running())
    @rule(
        data=st.data(),
        several=st.booleans(),
        slots=st.sampled_from((0, 1, 2, 10)),
        empties=st.booleans(),
    )
    def complete(self, data: st.DataObject, several: bool, slots: int, empties: bool) -> None:
        first = data.draw(st.sampled_from(self.running()))
        worker_id, _ = self.hands[first.token]
        held = [task for task in self.running() if self.hands[task.token][0] == worker_id]
        tasks = held if several else [first]
        ends = [(task.token, self.outcome(data, task)) for task in tasks]
        # As a worker counts: claims of which nothing is left.
        reported = {token for token, _ in ends}
        claims = {self.hands[token][1].claim_id for token in reported}
        emptied = [
            claim_id
            for claim_id in sorted(claims)
            if {task.token for task in self.model.held(claim_id)} <= reported
        ]
        self.report(
            worker_id,
            ends,
            emptied=emptied if empties else [],
            slots=dict.fromkeys(self.lanes.values(), slots) if slots else {},
            chained=data.draw(st.sampled_from((True, True, False))),
        )

    def outcome(self, data: st.DataObject, task: Task) -> Outcome:
        if task.stop is not None and data.draw(st.booleans()):
            return Cancelled("asked to")
        return data.draw(_outcomes)

    def completion(self, item: Claimed, outcome: Outcome, *, chained: bool = True) -> Completion:
        spec = self.model.tasks[item.task_id].spec
        return Completion(
            item.task_id,
            item.term,
            item.claim_id,
            item.run_id if item.many else None,
            decide(outcome, spec, item.attempt, item.lost, 0.0),
            _us(self.now),
            _us(self.now) + 1,
            chained=chained,
        )

    def report(
        self,
        worker_id: int,
        ends: Sequence[tuple[Token, Outcome]],
        *,
        emptied: list[UUID],
        slots: dict[int, int],
        chained: bool = True,
    ) -> None:
        completions = [
            self.completion(self.hands[token][1], outcome, chained=chained)
            for token, outcome in ends
        ]
        report = Report(worker_id, completions, emptied, uuid4(), slots, self.now, [])
        expected = self.model.complete(
            worker_id,
            [
                End((item.task_id, item.term), item.claim_id, item.decision, item.chained)
                for item in completions
            ],
            self.now,
            emptied=emptied,
            grant_claim=report.grant_claim,
            grant_slots=slots,
        )
        completed = self.send(report)
        assert set(completed.refused) == expected.refused == set()
        assert completed.lanes == expected.lanes
        assert sorted(item.task_id for item in completed.grants) == sorted(
            task.id for task in expected.granted
        )
        self.take(worker_id, report.grant_claim, completed.grants)
        tokens = [(item.task_id, item.term) for item in completed.grants]
        self.reports.append(report._replace(granted=tokens))

    def send(self, report: Report) -> Completed:
        return self.do(
            complete_attempts(
                self.connection,
                report.worker_id,
                report.completions,
                emptied=report.emptied,
                grant_claim=report.grant_claim,
                grant_slots=report.grant_slots,
                now=report.now,
            )
        )

    @precondition(lambda self: self.reports)
    @rule(data=st.data())
    def complete_again(self, data: st.DataObject) -> None:
        """The answer was lost, now or long ago: the same is sent again and changes nothing."""
        report = data.draw(st.sampled_from(self.reports[-3:]))
        before = self.do(self.dump())
        completed = self.send(report)
        assert self.do(self.dump()) == before
        assert set(completed.refused) == {(c.task_id, c.term) for c in report.completions}
        for token, why in completed.refused.items():
            yours = self.model.ended.get(token) == report.worker_id
            assert why == ("already_yours" if yours else "superseded")
        if "already_yours" in completed.refused.values():
            held = {task.token for task in self.model.held(report.grant_claim)}
            assert {(item.task_id, item.term) for item in completed.grants} == held

    @precondition(lambda self: self.stale())
    @rule(data=st.data(), outcome=_outcomes)
    def complete_stale(self, data: st.DataObject, outcome: Outcome) -> None:
        """Ends of attempts that ended before, or were taken away, are refused."""
        tokens = data.draw(
            st.lists(st.sampled_from(self.stale()), min_size=1, max_size=3, unique=True)
        )
        worker_id, _ = self.hands[tokens[0]]
        mine = [token for token in tokens if self.hands[token][0] == worker_id]

        async def late() -> None:
            completed = await complete_attempts(
                self.connection,
                worker_id,
                [self.completion(self.hands[token][1], outcome) for token in mine],
                grant_claim=uuid4(),
                grant_slots=dict.fromkeys(self.lanes.values(), 5),
                now=self.now,
            )
            assert set(completed.refused) == set(mine)
            for token, why in completed.refused.items():
                yours = self.model.ended.get(token) == worker_id
                assert why == ("already_yours" if yours else "superseded")

        self.unchanged(late())

    @precondition(lambda self: self.running() and self.stale())
    @rule(data=st.data())
    def complete_the_stale_beside_the_current(self, data: st.DataObject) -> None:
        """Both terms of one task in one batch: one is accepted, the other refused."""
        current = {task.id: task for task in self.running()}
        pairs = [
            token
            for token in self.stale()
            if token[0] in current and self.holder(current[token[0]]) == self.hands[token][0]
        ]
        if not pairs:
            return
        stale = data.draw(st.sampled_from(pairs))
        task = current[stale[0]]
        worker_id, item = self.hands[task.token]
        completions = [
            self.completion(self.hands[stale][1], Failed(_ERROR)),
            self.completion(item, Succeeded()),
        ]
        expected = self.model.complete(
            worker_id,
            [End((c.task_id, c.term), c.claim_id, c.decision, c.chained) for c in completions],
            self.now,
        )
        completed = self.do(
            complete_attempts(self.connection, worker_id, completions, now=self.now)
        )
        assert set(completed.refused) == expected.refused == {stale}

    def running(self) -> list[Task]:
        return self.model.in_state(TaskState.RUNNING)

    def holder(self, task: Task) -> int:
        return self.hands[task.token][0]

    def stale(self) -> list[Token]:
        """What was claimed once and is not held any more."""
        return [
            token
            for token, (worker_id, item) in self.hands.items()
            if not self.model.holds(worker_id, token, item.claim_id)
        ]

    # -- duties ------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from((0.0, 5.0, 20.0, 60.0)), limit=st.sampled_from((1, 100)))
    def wake(self, seconds: float, limit: int) -> None:
        self.now += timedelta(seconds=seconds)
        expected = self.model.wake(self.now)
        lanes = set()
        for wake in (wake_backoff, wake_starts):
            while (woken := self.do(wake(self.connection, self.now, limit))).due:
                assert woken.due <= limit
                lanes |= woken.lanes
        assert lanes == expected

    @rule(seconds=st.sampled_from((0.0, 50.0, 200.0)), limit=st.sampled_from((1, 100)))
    def deadlines(self, seconds: float, limit: int) -> None:
        self.now += timedelta(seconds=seconds)
        expected = self.model.overdue(self.now)
        found: set[int] = set()
        while (overdue := self.do(due_deadlines(self.connection, self.now, limit))).due:
            assert overdue.due <= limit
            runs = overdue.runs
            found |= set(runs)
            noted = self.do(stop_runs(self.connection, runs, "deadline", now=self.now))
            assert noted == sum(self.model.stop(run_id, "deadline") for run_id in runs)
        assert found == expected

    @rule(limit=st.sampled_from((3, 1000)))
    def audit(self, limit: int) -> None:
        first = seen = 0
        while True:
            audit = self.do(audit_open(self.connection, first, limit))
            assert audit.stuck == []
            seen += audit.seen
            if audit.last is None:
                break
            first = audit.last + 1
        hot = [run for run in self.model.runs.values() if not run.archived]
        assert seen == sum(len(run.tasks) for run in hot)

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data())
    def mend_what_moved_on(self, data: st.DataObject) -> None:
        task = data.draw(st.sampled_from(list(self.model.tasks.values())))
        if task.open:
            stuck = [(task.id, task.term - 1)]
        else:
            stuck = [task.token]
        self.unchanged(mend_stuck(self.connection, stuck))

    @rule(limit=st.sampled_from((2, 1000)))
    def archive(self, limit: int) -> None:
        above = moved = 0
        while True:
            archived = self.do(archive_runs(self.connection, above, limit, FAR_AHEAD))
            moved += archived.moved
            if archived.last is None:
                break
            above = archived.last
        closed = [run for run in self.model.runs.values() if run.state in RUN.closed]
        assert moved == sum(not run.archived for run in closed)
        for run in closed:
            run.archived = True

    # -- after every rule --------------------------------------------------------------------

    @invariant()
    def the_store_shows_what_the_model_says(self) -> None:
        rows = self.do(
            fetch(
                self.connection,
                "select id, state, term, attempt, lost, generation, unmet, stop"
                " from mainspring.task_view",
            )
        )
        shown = {row["id"]: tuple(row) for row in rows}
        assert shown == {
            task.id: (
                task.id,
                task.state,
                task.term,
                task.attempt,
                task.lost,
                task.generation,
                # Nobody lowers the count of what is closed.
                task.unmet if task.open else shown[task.id][6],
                task.stop,
            )
            for task in self.model.tasks.values()
        }
        for task_id, row in shown.items():
            state, term = row[1], row[2]
            before, term_before = self.seen_tasks.get(task_id, (TASK.initial, 1))
            assert before == state or _legal(before, state), f"{before} to {state}"
            assert term >= term_before + (before in TASK.closed and state in TASK.open)
            if before == TaskState.RUNNING and state in TASK.open - {TaskState.RUNNING}:
                assert term > term_before
        self.seen_tasks = {task_id: (row[1], row[2]) for task_id, row in shown.items()}

    @invariant()
    def runs_end_as_the_model_says(self) -> None:
        rows = self.do(
            fetch(
                self.connection,
                "select id, state, stop, open_tasks, finished_at is null as open"
                " from mainspring.run_view",
            )
        )
        shown = {row["id"]: tuple(row) for row in rows}
        assert shown == {run.id: _shown(run) for run in self.model.runs.values()}
        for run_id, row in shown.items():
            before = self.seen_runs.get(run_id, RUN.initial)
            # Opened and closed again by one mark.
            marked = before in RUN.closed and row[1] in RUN.closed
            assert before == row[1] or marked or RUN.allows(before, row[1]), f"{before} to {row[1]}"
        self.seen_runs = {run_id: row[1] for run_id, row in shown.items()}

    @invariant()
    def every_promise_holds(self) -> None:
        assert self.do(fetch(self.connection, _PROMISES)) == []

    def unchanged(self, asked: Coroutine[Any, Any, object]) -> None:
        before = self.do(self.dump())
        self.do(asked)
        assert self.do(self.dump()) == before

    async def dump(self) -> list[asyncpg.Record]:
        """Everything that a run, a task or a worker left in the database."""
        return await fetch(self.connection, _DUMP)


async def again(ask: Callable[[], Awaitable[Marked]]) -> None:
    assert (await ask()).repeated


def _shown(run: Run) -> tuple[object, ...]:
    left = sum(task.open for task in run.tasks)
    return run.id, run.state, run.stop, left, left > 0


def _legal(before: str, after: str) -> bool:
    """A move of the table, or two in one step: a child is granted, a task is opened and ready."""
    granted = (before, after) == (TaskState.WAITING, TaskState.RUNNING)
    # … or opened and closed by hand, or skipped because of that.
    marked = (TaskState.READY, TaskState.SUCCEEDED, TaskState.SKIPPED)
    reopened = before in TASK.closed and after in marked
    return TASK.allows(before, after) or granted or reopened


def _us(instant: datetime) -> int:
    return (instant - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)


_PROMISES = "\nunion all\n".join(
    f"select '{name}' as promise, to_jsonb(broken)::text as row from ({sql}) as broken"
    for name, sql in INVARIANTS.items()
    # It makes neither schedules nor backfills, and asks after every step.
    if name[0] not in "SB"
)
_DUMP = "\nunion all\n".join(
    f"select '{table}' as name, array_agg(t::text order by t::text) as rows"
    f" from mainspring.{table} t"
    for table in TABLES
)


@pytest.mark.slow
@pytest.mark.parametrize("_part", range(PARTS))
def test_the_store_and_the_model_agree(server: Server, _part: int) -> None:
    loop = asyncio.new_event_loop()
    database = loop.run_until_complete(server.create())
    connection = loop.run_until_complete(
        connect(server.url(database), name="model", stable_plans=True)
    )
    # Promises are asked after every step; helpers took ten times as long to start as to look.
    loop.run_until_complete(connection.execute(f"set {ALONE}"))
    run_state_machine_as_test(
        lambda: StoreMachine(loop, connection),  # type: ignore[arg-type]  # any factory will do
        settings=settings(
            max_examples=max(1, EXAMPLES // PARTS),
            stateful_step_count=STEPS,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
            # To say which lines only failing examples run takes longer than to find them.
            phases=tuple(phase for phase in Phase if phase is not Phase.explain),
        ),
    )
    loop.run_until_complete(connection.close())
    loop.close()
