"""A past that never was: which runs there were, and how each of them went.

Pure: it knows neither a database nor a clock. The same seed and the same end give the same past.
`happenings` says what was started or skipped, and when, in order; `Teller.tell` says how a run of
it went, task by task, by the rules of the engine: what fails is tried again as its policy says,
what comes after a failure is never begun, what comes after a skip is skipped.

Load has a weekly pattern and grows a little. There were incidents, in which a dag failed more often
than not, and one outage, in which nothing was fired: its fires were missed, and the last of each
schedule was made up for late.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from uuid import UUID

import msgspec

from mainspring.demo.habits import error_of, habit_of, usual_seconds
from mainspring.domain.dead_letters import likeness
from mainspring.domain.outcomes import Error
from mainspring.domain.specs import DagSpec, parents_of
from mainspring.schedule.timetable import Timetable

DAYS = 90
_OUTAGE_DAYS_AGO = 17.1
_SCHEDULED_SHARE = 0.94
"""Of all runs; the others were asked for by somebody."""
_AGAIN_RISK = 0.45
"""That an attempt fails after one that did."""
_OPEN_LETTERS_DAYS = 5
"""Dead letters that are older were looked at and discarded."""
_LOG_HOURS = 6
LARGE_TASKS = 1_000
"""Of runs with more tasks these are made by the database."""
_LARGE_SHARE = 5
"""Where most schedules are to fire at most so often, such a dag does so in so many % of it."""

_encode = msgspec.json.encode


class Node(msgspec.Struct, frozen=True):
    """A task of a version, and what its attempts need."""

    name: str
    lane: int
    priority: int
    parents: tuple[int, ...]
    attempts: int
    rest_seconds: float
    seconds: float


class Version(msgspec.Struct, frozen=True):
    id: int
    snapshot_id: int
    since: datetime
    nodes: tuple[Node, ...]
    order: tuple[int, ...]
    """The nodes, parents first."""


class Scheduled(msgspec.Struct, frozen=True):
    """A schedule, and since when it has been in force."""

    id: int
    version: int
    timetable: Timetable
    parameters: bytes | None
    skips_overlaps: bool


class Dag(msgspec.Struct, frozen=True):
    id: int
    name: str
    versions: tuple[Version, ...]
    schedules: tuple[Scheduled, ...] = ()

    def version_at(self, instant: datetime) -> Version:
        return next((v for v in reversed(self.versions) if v.since <= instant), self.versions[0])


class Happening(msgspec.Struct):
    """Something was started, or should have been and was skipped."""

    at: datetime
    dag: Dag
    due_at: datetime
    trigger: str = "schedule"
    by: str | None = None
    parameters: bytes | None = None
    schedule: Scheduled | None = None
    fire_at: datetime | None = None
    interval_start: datetime | None = None
    next_at: datetime | None = None
    reason: str | None = None
    """Why it was skipped."""
    until_at: datetime | None = None
    count: int = 1

    @property
    def tasks(self) -> int:
        """How many ids it takes."""
        return 1 if self.reason else len(self.dag.version_at(self.at).nodes)


# --- what was started ----------------------------------------------------------------------


def most_fires(dags: Sequence[Dag], runs: int, until: datetime) -> int:
    """How many fires of each schedule there may be, so that there are not more runs than wanted.

    Where fewer runs are asked for, schedules that fire often are younger than the others.
    """
    begin = until - timedelta(days=DAYS)
    counts = [s.timetable.count_between(begin, until) for dag in dags for s in dag.schedules]
    low, high = 1, max(counts, default=1)
    while low < high:
        most = (low + high + 1) // 2
        if sum(min(count, most) for count in counts) <= runs * _SCHEDULED_SHARE:
            low = most
        else:
            high = most - 1
    return low


def begin_of(dag: Dag, scheduled: Scheduled, most: int, until: datetime) -> datetime:
    """Since when a schedule has been there, if it may have fired so often."""
    if len(dag.versions[-1].nodes) > LARGE_TASKS:
        most = max(2, min(most, most * _LARGE_SHARE // 100))
    begin = until - timedelta(days=DAYS)
    fires = scheduled.timetable.fires_between(begin, until)
    return begin if len(fires) <= most else fires[-most].at - timedelta(seconds=1)


def happenings(dags: Sequence[Dag], *, runs: int, seed: int, until: datetime) -> list[Happening]:
    """Exactly so many runs, and what was skipped beside them, in order."""
    chance = random.Random(f"happenings {seed}")
    most = most_fires(dags, runs, until)
    outage = until - timedelta(days=_OUTAGE_DAYS_AGO)
    away = (outage, outage + timedelta(hours=3))
    found: list[Happening] = []
    for dag in dags:
        for scheduled in dag.schedules:
            found.extend(_fires(dag, scheduled, most, chance, until, away))
    made = sum(each.reason is None for each in found)
    found.extend(_asked(dags, runs - made, chance, until))
    found.sort(key=lambda each: each.at)
    return found


def _fires(
    dag: Dag,
    scheduled: Scheduled,
    most: int,
    chance: random.Random,
    until: datetime,
    away: tuple[datetime, datetime],
) -> Iterator[Happening]:
    timetable = scheduled.timetable
    begin = begin_of(dag, scheduled, most, until)
    before = timetable.last_fire(begin)
    last = begin - timedelta(days=1) if before is None else before.at
    fires = timetable.fires_between(begin, until)
    after = timetable.next_fire(until)
    nexts = [*(fire.at for fire in fires[1:]), None if after is None else after.at]
    missed: list[datetime] = []
    for fire, next_at in zip(fires, nexts, strict=True):
        now = fire.at + timedelta(seconds=chance.uniform(0.004, 0.05))
        told = Happening(
            at=now,
            dag=dag,
            due_at=fire.at,
            parameters=scheduled.parameters,
            schedule=scheduled,
            fire_at=fire.at,
            interval_start=last,
            next_at=next_at,
            until_at=fire.at,
        )
        last = fire.at
        if fire.excluded is not None:
            told.reason = "exclusion"
        elif away[0] <= fire.at < away[1]:
            missed.append(fire.at)
            if next_at is not None and next_at < away[1]:
                continue
            # The engine is back: all but the last were missed, and that one comes late.
            back = away[1] + timedelta(seconds=chance.uniform(0.2, 4))
            if len(missed) > 1:
                yield Happening(
                    at=back,
                    dag=dag,
                    due_at=missed[0],
                    schedule=scheduled,
                    fire_at=missed[0],
                    until_at=missed[-2],
                    next_at=fire.at,
                    count=len(missed) - 1,
                    reason="misfire",
                )
            told.at = back + timedelta(milliseconds=1)
            missed = []
        elif scheduled.skips_overlaps and chance.random() < 0.012:
            told.reason = "overlap"
        yield told


def _asked(
    dags: Sequence[Dag], count: int, chance: random.Random, until: datetime
) -> Iterator[Happening]:
    """What somebody started: more by day than by night, less at weekends."""
    askable = [(dag, habit_of(dag.name)) for dag in dags]
    askable = [(dag, habit) for dag, habit in askable if habit.asked_daily > 0]
    weights = [habit.asked_daily for _, habit in askable]
    begin = until - timedelta(days=DAYS)
    for _ in range(count if askable else 0):
        while True:
            at = begin + (until - begin) * chance.random()
            if chance.random() < _busy(at):
                break
        dag, habit = chance.choices(askable, weights)[0]
        yield Happening(
            at=at,
            dag=dag,
            due_at=at,
            trigger="manual",
            by=chance.choice(habit.asked_by),
            parameters=dag.schedules[0].parameters
            if dag.schedules
            else _parameters(dag.name, chance),
        )


def _parameters(name: str, chance: random.Random) -> bytes | None:
    match name:
        case "order_placed":
            country = chance.choice(("de", "fr", "jp", "uk", "us"))
            return _encode({"order": chance.randint(10_000, 99_999), "country": country})
        case "refund":
            reason = chance.choice(("broken", "late", "wrong"))
            return _encode({"order": chance.randint(10_000, 99_999), "reason": reason})
        case "erase_customer":
            return _encode({"customer": chance.randint(100, 9_999)})
    return None


def _busy(at: datetime) -> float:
    """From 0 to 1: how much is going on, by hour and day of the week."""
    day = 0.55 if at.weekday() >= 5 else 0.9
    return day * (0.55 + 0.45 * math.sin((at.hour + at.minute / 60 - 7) / 24 * 2 * math.pi))


# --- how it went ---------------------------------------------------------------------------


class Incident(msgspec.Struct, frozen=True):
    dags: str
    begin: datetime
    end: datetime
    risk: float


def incidents_of(seed: int, until: datetime) -> list[Incident]:
    """Some in the past, and two that are not over."""
    chance = random.Random(f"incidents {seed}")
    troubled = ("settle_*", "prices_*", "track_parcels", "warehouse_*", "load_events", "report_*")
    found = [
        Incident(dags, begin, begin + timedelta(hours=chance.uniform(2, 9)), 0.6)
        for dags in troubled
        for begin in [until - timedelta(days=chance.uniform(1.5, DAYS))]
    ]
    later = until + timedelta(days=1)
    return [
        *found,
        Incident("track_parcels", until - timedelta(minutes=45), later, 0.8),
        Incident("backup_events", until - timedelta(days=2), later, 1.0),
    ]


class Letter(msgspec.Struct, frozen=True):
    """A task that failed for good."""

    task_id: int
    term: int
    task: str
    failed_at: datetime
    likeness: UUID
    discarded_by: str | None


class Told(msgspec.Struct):
    """A run that is over, as rows of history."""

    id: int
    started_at: datetime
    finished_at: datetime
    state: str
    stop: str | None
    failed_tasks: int
    tasks: list[tuple[object, ...]]
    """As `TASK_COLUMNS`."""
    attempts: list[tuple[object, ...]]
    letters: list[Letter]
    logs: list[tuple[int, int, datetime, bytes]]


class Teller:
    """Tells how runs went, one after another."""

    def __init__(self, *, seed: int, until: datetime, workers: Sequence[int]) -> None:
        self._chance = random.Random(f"runs {seed}")
        self._until = until
        self._workers = workers
        self._incidents = incidents_of(seed, until)
        self._begin = until - timedelta(days=DAYS)

    def tell(self, happening: Happening, run_id: int) -> Told:
        version = happening.dag.version_at(happening.at)
        if len(version.nodes) > LARGE_TASKS:
            return self._large(happening, version, run_id)
        run = _Run(self._chance, happening, version, run_id, self._risk(happening))
        run.go(self._pace(happening.at))
        room = (self._until - happening.at).total_seconds() * 0.97
        squeeze = min(1.0, room / max(run.end, 1e-6))
        with_logs = self._until - happening.at < timedelta(hours=_LOG_HOURS)
        fresh = self._until - happening.at < timedelta(days=_OPEN_LETTERS_DAYS)
        return run.told(self._workers, squeeze, with_logs=with_logs, fresh=fresh)

    def _risk(self, happening: Happening) -> float:
        name, at = happening.dag.name, happening.at
        risk = habit_of(name).risk
        for incident in self._incidents:
            if incident.begin <= at < incident.end and fnmatchcase(name, incident.dags):
                risk = max(risk, incident.risk)
        return risk

    def _pace(self, at: datetime) -> float:
        """How long things take: longer when much goes on, and a little longer each week."""
        age = (at - self._begin).total_seconds() / (DAYS * 86_400)
        return (0.75 + 0.5 * _busy(at)) * (1 + 0.15 * age)

    def _large(self, happening: Happening, version: Version, run_id: int) -> Told:
        """Only the run itself, and which of its tasks failed."""
        chance = self._chance
        begin = happening.at + timedelta(seconds=0.02)
        length = min(75 * self._pace(happening.at) * chance.lognormvariate(0, 0.1), 3_000)
        length = min(length, (self._until - begin).total_seconds() * 0.97)
        count = len(version.nodes)
        bad = sorted(chance.sample(range(1, count - 1), chance.randint(1, 40)))
        failed = bad if chance.random() < 0.12 else []
        end = begin + timedelta(seconds=length)
        told = Told(
            run_id,
            begin,
            end,
            "failed" if failed else "succeeded",
            None,
            len(failed) + (1 if failed else 0),
            [],
            [],
            [],
            [],
        )
        at = begin + timedelta(seconds=length * 0.9)
        fresh = self._until - at < timedelta(days=_OPEN_LETTERS_DAYS)
        for number in failed:
            node = version.nodes[number]
            error = error_of(happening.dag.name, node.name, number)
            content = _encode(error)
            for attempt in range(1, node.attempts + 1):
                when = at - timedelta(milliseconds=900 * (node.attempts - attempt))
                began = when - timedelta(milliseconds=400)
                told.attempts.append(
                    (
                        run_id + number,
                        attempt,
                        attempt,
                        1,
                        self._workers[0],
                        "failed",
                        began,
                        when,
                        content,
                    )
                )
            told.letters.append(
                _letter(happening.dag, run_id + number, node.attempts, node.name, at, error, fresh)
            )
        return told


class _Run:
    """One run, in seconds from its beginning."""

    def __init__(
        self,
        chance: random.Random,
        happening: Happening,
        version: Version,
        run_id: int,
        risk: float,
    ) -> None:
        self._chance = chance
        self._happening = happening
        self._version = version
        self._run_id = run_id
        self._risk = risk
        count = len(version.nodes)
        self._state = [""] * count
        self._due = [0.0] * count
        self._begun: list[float | None] = [None] * count
        self._ended = [0.0] * count
        self._attempt = [1] * count
        self._failures: list[tuple[int, int, float, float, Error, str]] = []
        self._skipper = count - 2 if count > 2 else None
        self.end = 0.0
        self._stopped = False

    def go(self, pace: float) -> None:
        chance, skips = self._chance, habit_of(self._happening.dag.name).skips
        stop_at = None
        if len(self._version.nodes) > 1 and chance.random() < 0.002:
            stop_at = chance.choice(self._version.order)
        for number in self._version.order:
            node = self._version.nodes[number]
            ready, doom, doomed_at = self._parents(node)
            if doom:
                self._close(number, doom, doomed_at)
            elif self._stopped:
                self._close(number, "cancelled", max(ready, self.end))
            elif number == self._skipper and skips and chance.random() < skips:
                self._skip(number, ready)
            elif number == stop_at:
                self._stop(number, ready, node.seconds * pace)
            else:
                self._work(number, node, ready, pace)

    def _parents(self, node: Node) -> tuple[float, str, float]:
        ready, doom, at = 0.0, "", 0.0
        for parent in node.parents:
            ready = max(ready, self._ended[parent])
            match self._state[parent]:
                case "failed" | "upstream_failed" | "cancelled":
                    doom, at = "upstream_failed", max(at, self._ended[parent])
                case "skipped" if not doom:
                    doom, at = "skipped", max(at, self._ended[parent])
        if doom == "upstream_failed" and self._stopped:
            doom = "cancelled"
        return ready, doom, at

    def _work(self, number: int, node: Node, ready: float, pace: float) -> None:
        chance = self._chance
        self._due[number] = ready
        begin, risk = ready + chance.uniform(0.003, 0.02), self._risk
        end = begin
        for attempt in range(1, node.attempts + 1):
            length = node.seconds * pace * chance.lognormvariate(0, 0.22)
            self._attempt[number], self._begun[number] = attempt, begin
            if chance.random() >= risk:
                self._end(number, "succeeded", begin + length)
                return
            end = begin + length * chance.uniform(0.1, 1)
            error = error_of(self._happening.dag.name, node.name, chance.randrange(10_000))
            self._failures.append((number, attempt, begin, end, error, "failed"))
            if attempt < node.attempts:
                due = end + node.rest_seconds * 2 ** (attempt - 1) * chance.uniform(0.9, 1)
                self._due[number] = due
                begin, risk = due + chance.uniform(0.005, 0.25), max(_AGAIN_RISK, self._risk)
        self._end(number, "failed", end)

    def _skip(self, number: int, ready: float) -> None:
        begin = ready + self._chance.uniform(0.003, 0.02)
        self._due[number], self._begun[number] = ready, begin
        self._end(number, "skipped", begin + 0.01)
        error = Error("Skip", "nothing has changed since the last run")
        self._failures.append((number, 1, begin, begin + 0.01, error, "succeeded"))

    def _stop(self, number: int, ready: float, seconds: float) -> None:
        """Somebody cancels the run while this one runs."""
        begin = ready + 0.01
        end = begin + seconds * self._chance.uniform(0.2, 0.9)
        self._due[number], self._begun[number] = ready, begin
        self._stopped = True
        self._end(number, "cancelled", end)
        error = Error("Cancelled", "the run was cancelled")
        self._failures.append((number, 1, begin, end, error, "cancelled"))

    def _close(self, number: int, state: str, at: float) -> None:
        """It never began."""
        self._due[number] = 0.0
        self._end(number, state, at)

    def _end(self, number: int, state: str, at: float) -> None:
        self._state[number], self._ended[number] = state, at
        self.end = max(self.end, at)

    def told(self, workers: Sequence[int], squeeze: float, *, with_logs: bool, fresh: bool) -> Told:
        base, nodes, run_id = self._happening.at.timestamp(), self._version.nodes, self._run_id
        chance = self._chance

        def moment(seconds: float) -> datetime:
            return datetime.fromtimestamp(base + seconds * squeeze, UTC)

        tasks: list[tuple[object, ...]] = []
        begins = []
        worker = workers[int(chance.random() * len(workers))]
        stop = "cancel" if self._stopped else None
        for number, node in enumerate(nodes):
            begun, state = self._begun[number], self._state[number]
            attempt = self._attempt[number]
            if begun is not None:
                begins.append(begun)
            tasks.append(
                (
                    *(run_id + number, run_id, moment(self._due[number])),
                    *(None if begun is None else moment(begun), moment(self._ended[number])),
                    *(self._version.id, number, node.lane, attempt),
                    *(None if begun is None else worker, state),
                    *(stop if state == "cancelled" else None, node.priority, attempt),
                    b"4200" if state == "succeeded" else None,
                )
            )
        failed = sum(state in ("failed", "upstream_failed") for state in self._state)
        verdict = "failed" if failed else "cancelled" if self._stopped else "succeeded"
        told = Told(
            run_id,
            moment(min(begins)),
            moment(self.end),
            verdict,
            stop,
            failed,
            tasks,
            [
                (
                    run_id + number,
                    attempt,
                    attempt,
                    1,
                    worker,
                    state,
                    moment(begin),
                    moment(end),
                    _encode(error),
                )
                for number, attempt, begin, end, error, state in self._failures
            ],
            [],
            [],
        )
        for number, attempt, _, end, error, state in self._failures:
            if self._state[number] == "failed" and attempt == self._attempt[number]:
                name, at, dag = nodes[number].name, moment(end), self._happening.dag
                told.letters.append(_letter(dag, run_id + number, attempt, name, at, error, fresh))
            if with_logs or (fresh and state == "failed"):
                text = _log(nodes[number].name, attempt, run_id, error)
                told.logs.append((run_id + number, attempt, moment(end), text))
        if with_logs:
            for number, node in enumerate(nodes):
                if self._state[number] == "succeeded":
                    text = _log(node.name, self._attempt[number], run_id, None)
                    at = moment(self._ended[number])
                    told.logs.append((run_id + number, self._attempt[number], at, text))
        return told


def _letter(
    dag: Dag, task_id: int, term: int, task: str, at: datetime, error: Error, fresh: bool
) -> Letter:
    # As `complete_attempts` does it.
    like = hashlib.md5(
        f"{dag.id}/{task}/{likeness(error)}".encode(), usedforsecurity=False
    ).hexdigest()
    by = None if fresh else ("anna", "tobias", "mei")[task_id % 3]
    return Letter(task_id, term, task, at, UUID(like), by)


def _log(task: str, attempt: int, run_id: int, error: Error | None) -> bytes:
    lines = [f"\x1b[36mINFO\x1b[0m  {task}: attempt {attempt} of run {run_id}"]
    for part in range(1, 5):
        rows = (run_id * 31 + part * 977) % 9000
        lines.append(f"\x1b[2mDEBUG part {part} of 4\x1b[0m {rows:,} rows")
    if run_id % 7 == 0:
        lines.append("\x1b[33mWARN\x1b[0m  part 4 took longer than usual")
    if error is None:
        lines.append(f"\x1b[32mDONE\x1b[0m  {task}")
    else:
        lines.append(f"\x1b[1;31mERROR\x1b[0m {error.type}: {error.message}")
    return ("\n".join(lines) + "\n").encode()


TASK_COLUMNS = (
    *("id", "run_id", "due_at", "started_at", "finished_at", "version_id", "node", "lane", "term"),
    *("worker_id", "state", "stop", "priority", "attempt", "result"),
)
ATTEMPT_COLUMNS = (
    *("task_id", "term", "attempt", "generation", "worker_id", "state", "started_at"),
    *("finished_at", "error"),
)


# --- versions ------------------------------------------------------------------------------


def nodes_of(spec: DagSpec, lanes: Sequence[int]) -> tuple[tuple[Node, ...], tuple[int, ...]]:
    """The nodes of a graph as the past needs them, and their order."""
    parents = parents_of(spec)
    nodes = tuple(
        Node(
            task.name,
            lanes[number],
            task.priority,
            tuple(sorted(parents[number])),
            task.retry.attempts,
            task.retry.first_seconds,
            usual_seconds(spec.name, task.name),
        )
        for number, task in enumerate(spec.tasks)
    )
    order: list[int] = []
    done: set[int] = set()
    left = list(range(len(nodes)))
    while left:
        able = [number for number in left if done.issuperset(nodes[number].parents)]
        assert able, f"the graph of {spec.name} has a circle"
        order.extend(able)
        done.update(able)
        left = [number for number in left if number not in done]
    return nodes, tuple(order)
