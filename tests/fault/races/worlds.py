"""Small prepared worlds, in which two operations are bound to collide.

Each world lives in a slot: a lane of its own and a block of ids of its own, so that many worlds
share one database and know nothing of each other. Their clocks differ too. A world that is made
later lives earlier, so a wake-up at its own time finds no timer of a world before it.

Within a world everything has a label that is the same in every copy: ids count from the block's
first, workers are A and B, and a claim is named after the session that made it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import msgspec

from mainspring.domain.jobs import JobKind
from mainspring.domain.lanes import Lane, SlotKind
from mainspring.domain.outcomes import Error, Failed, Outcome, Succeeded, decide
from mainspring.domain.specs import DagSpec, RetrySpec, TaskSpec
from mainspring.schedule.specs import IntervalSpec, Overlap, ScheduleSpec
from mainspring.store.attempts import (
    Claimed,
    Completion,
    Held,
    claim_attempts,
    complete_attempts,
)
from mainspring.store.backfill_orders import BackfillOrder, create_backfill, reserve_backfill
from mainspring.store.backfilling import Stepper
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import Registered, ensure_queues, register_dag
from mainspring.store.history import archive_runs
from mainspring.store.ids import BLOCK_IDS
from mainspring.store.job_orders import JobDraft, JobOrder, RunDraft
from mainspring.store.jobs import NewJob, NewJobRun, create_jobs
from mainspring.store.marks import mark_task
from mainspring.store.runs import Deed, NewRun, create_runs, stop_runs
from mainspring.store.schedule_changes import Intent, pause_schedule, put_schedule
from mainspring.store.schedules import StandingSchedule, standing_schedules
from mainspring.store.settling import Settler
from mainspring.store.statements import statement
from tests.fault.races.numbering import TAKING

SLOTS = 48
"""How many worlds are played before their promises are asked, all at once."""

SHARD = 1
"""The one that engines of a race take."""

RUN_IDS = 4
"""How many ids each run of a world is given, and each turn of a session for its own."""

_FIRED_PLACE = 20
"""Above the runs that a world is made with, and below those of sessions."""

WORLD_SESSION = 0
"""In the names of claims: made while the world was, before any session began."""

_SHAPES: Mapping[str, tuple[int, tuple[tuple[int, int], ...]]] = {
    "one": (1, ()),
    "pair": (2, ((0, 1),)),
    "diamond": (4, ((0, 1), (0, 2), (1, 3), (2, 3))),
    "bridge": (4, ((0, 1), (1, 3), (2, 3))),
}
"""Number of tasks, and edges."""

_FIRST_HOUR = datetime(2020, 1, 1, tzinfo=UTC)
START_DELAY = timedelta(minutes=10)
TIMEOUT = timedelta(minutes=15)
BACKOFF = timedelta(minutes=20)
LATER = timedelta(minutes=40)
"""When everything in a world that rests is due, and nothing in an earlier one."""
FAR_FUTURE = datetime(2100, 1, 1, tzinfo=UTC)


class Slot(NamedTuple):
    """A lane of its own, and one dag of each shape whose tasks wait there."""

    lane: int
    dags: Mapping[str, Registered]
    dag_names: Mapping[str, str]


TASK = TaskSpec(
    name="t",
    entry="races:task",
    kind=SlotKind.ASYNC,
    retry=RetrySpec(attempts=3, first_seconds=BACKOFF.total_seconds()),
)
"""All tasks have the same policy, whichever dag they are of."""


async def _register_slot(connection: Connection, number: int) -> Slot:
    queue = f"races_{number}"
    queues = await ensure_queues(connection, [queue])
    dags = {}
    for shape, (tasks, edges) in _SHAPES.items():
        nodes = (msgspec.structs.replace(TASK, name=f"t{n}", queue=queue) for n in range(tasks))
        spec = DagSpec(
            name=f"{shape}_{number}",
            tasks=tuple(nodes),
            edges=edges,
            timeout_seconds=TIMEOUT.total_seconds(),
        )
        dags[shape] = await register_dag(connection, spec, "races")
    names = {shape: f"{shape}_{number}" for shape in _SHAPES}
    return Slot(Lane(queues[queue], SlotKind.ASYNC).number, dags, names)


@dataclass
class World:
    name: str
    slot: Slot
    first_id: int
    now: datetime
    workers: dict[str, int] = field(default_factory=dict)
    runs: list[int] = field(default_factory=list)
    hands: dict[str, list[Claimed]] = field(default_factory=lambda: {"A": [], "B": []})
    """What each worker knows that it holds."""
    asked: dict[tuple[int, int], list[Claimed]] = field(default_factory=dict)
    """What was reported, by session and turn."""
    seen: dict[int, int] = field(default_factory=dict)
    """The terms of its tasks when it was made: as people have seen them who then act by hand."""
    backfill_id: int = 0
    job_id: int = 0
    schedule_id: int = 0
    standing: list[StandingSchedule] = field(default_factory=list)
    """The schedule as an engine has read it when the world was made."""
    taken: Counter[tuple[int, int]] = field(default_factory=Counter)
    """How many ids were taken for what schedules made, by session and turn."""
    shard_beat: int = 0
    shard_term: int = 0
    lively: bool = False
    """Whether hands follow what the sessions are told; else they stay as the world was made."""

    @property
    def lane(self) -> int:
        return self.slot.lane

    @property
    def key(self) -> str:
        return f"{self.first_id}."

    @property
    def schedule(self) -> str:
        return f"{self.key}tick"

    def intent(self, seconds: int = 60, overlap: Overlap = Overlap.ALLOW_ALL) -> Intent:
        """A schedule of this world, due at its own full minutes."""
        spec = ScheduleSpec(when=(IntervalSpec(seconds),), overlap=overlap, grace_seconds=3600)
        return Intent(self.schedule, self.slot.dag_names["one"], spec)

    def id_of(self, place: int) -> int:
        assert 0 <= place < BLOCK_IDS
        return self.first_id + place

    def place_of(self, identity: int) -> int:
        return identity - self.first_id

    def claim_id(self, session: int, number: int) -> UUID:
        return UUID(int=self.first_id << 64 | session << 32 | number)

    def claim_name(self, claim_id: UUID) -> str:
        return f"{claim_id.int >> 32 & 0xFFFFFFFF}.{claim_id.int & 0xFFFFFFFF}"

    def worker_name(self, worker_id: int | None) -> str | None:
        names = {identity: name for name, identity in self.workers.items()}
        return None if worker_id is None else names.get(worker_id, "another")

    def new_run(self, shape: str, place: int, **options: object) -> NewRun:
        dag = self.slot.dags[shape]
        return NewRun(
            self.id_of(place),
            dag.version_id,
            dag.snapshot_id,
            **options,  # type: ignore[arg-type]
        )

    def new_job(self, place: int, key: str, priority: int = 7) -> NewJob:
        """A job that runs at once, under options of its own."""
        dag, name = self.slot.dags["one"], self.slot.dag_names["one"]
        order = JobOrder(task=name, key=f"{self.key}{key}", priority=priority)
        draft = JobDraft(
            order, JobKind.TASK, name, dag.version_id, dag.snapshot_id, 1, None, None, None
        )
        return NewJob(self.id_of(place), draft)

    def new_job_run(self, place: int, key: str) -> NewJobRun:
        dag = self.slot.dags["one"]
        draft = RunDraft(self.job_id, dag.version_id, dag.snapshot_id, 1, None)
        return NewJobRun(self.id_of(place), draft, key=f"{self.key}{key}")

    def completion(self, item: Claimed | Held, outcome: Outcome) -> Completion:
        finished_us = round(self.now.timestamp() * 1_000_000)
        return Completion(
            item.task_id,
            item.term,
            item.claim_id,
            item.run_id if item.many else None,
            decide(outcome, TASK, item.attempt, item.lost, 0.0),
            finished_us - 1000,
            finished_us,
            chained=True,
        )


class Maker:
    """Makes worlds, one after another, in the slots of one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._slots: dict[int, Slot] = {}
        self._blocks: list[int] = []
        self._workers: list[int] = []
        self._hours = itertools.count()

    async def make(self, name: str, slot: int) -> World:
        if slot not in self._slots:
            self._slots[slot] = await _register_slot(self._connection, slot)
        if slot == 0:
            rows = await fetch(self._connection, _JOIN, 2 * SLOTS)
            self._workers = [row["worker_id"] for row in rows]
        if not self._blocks:
            rows = await fetch(self._connection, statement("reserve_ids"), 100)
            self._blocks = [row["first"] for row in reversed(rows)]
        world = World(
            name,
            self._slots[slot],
            self._blocks.pop(),
            _FIRST_HOUR - timedelta(hours=next(self._hours)),
        )
        for worker in ("A", "B"):
            world.workers[worker] = self._workers.pop()
        await WORLDS[name].build(_Builder(self._connection, world))
        rows = await fetch(self._connection, _TERMS, world.first_id, world.id_of(99))
        world.seen = {row["id"]: row["term"] for row in rows}
        return world


_TERMS = """
select id, term from mainspring.task where id between $1 and $2
union all
select id, term from mainspring.task_history where id between $1 and $2
"""


_JOIN = """
with joined as (
  insert into mainspring.worker (incarnation, name, host, pid, queues, slots)
  select gen_random_uuid(), 'a worker of a race', 'here', 1, '{default}', '{}'
  from generate_series(1, $1::int)
  returning id)
insert into mainspring.lease (worker_id, seconds) select id, 15 from joined returning worker_id
"""
"""As `register_worker`, for all worlds of a batch at once."""


@dataclass
class _Builder:
    connection: Connection
    world: World
    _claims: int = 0
    _taken: int = 0

    async def run(self, shape: str, **options: object) -> int:
        world = self.world
        place = RUN_IDS * len(world.runs)
        run = world.new_run(shape, place, **options)
        await create_runs(self.connection, [run], now=world.now)
        world.runs.append(run.id)
        return run.id

    async def claim(self, worker: str, limit: int = 10) -> list[Claimed]:
        world = self.world
        self._claims += 1
        claimed = await claim_attempts(
            self.connection,
            world.claim_id(WORLD_SESSION, self._claims),
            world.workers[worker],
            world.lane,
            limit,
        )
        world.hands[worker] += claimed
        return claimed

    async def end(self, worker: str, items: Sequence[Claimed], outcome: Outcome) -> None:
        """The hand keeps what it reports: a report that is repeated has the same items."""
        world = self.world
        completed = await complete_attempts(
            self.connection,
            world.workers[worker],
            [world.completion(item, outcome) for item in items],
            emptied=[item.claim_id for item in items],
            now=world.now,
        )
        assert not completed.refused

    async def job(self) -> None:
        """Its first run, which has its number, waits."""
        world = self.world
        job = world.new_job(RUN_IDS * len(world.runs), "made")
        await create_jobs(self.connection, [job], now=world.now)
        world.job_id = job.id
        world.runs.append(job.id)

    async def schedule(self, overlap: Overlap = Overlap.ALLOW_ALL, *, at: timedelta) -> None:
        """Every minute, made so long before the world's present."""
        world = self.world
        put = await put_schedule(
            self.connection, world.intent(overlap=overlap), by="a race", now=world.now + at
        )
        world.schedule_id = put.schedule_id
        world.standing = await standing_schedules(self.connection, world.now, [put.schedule_id])

    async def backfill(self, concurrency: int) -> None:
        """Of five minutes of the past; it has made its first runs.

        Each world has minutes of its own: all are of one dag, whose other runs would count.
        """
        world = self.world
        since = datetime(1990, 1, 1, tzinfo=UTC) + timedelta(minutes=world.first_id % 10_000_000)
        order = BackfillOrder(
            since=since,
            until=since + timedelta(minutes=5),
            dag=world.slot.dag_names["one"],
            spec="every 1m",
            concurrency=concurrency,
            note=f"{world.key}backfill",
        )
        world.backfill_id = await reserve_backfill(self.connection)
        await create_backfill(self.connection, world.backfill_id, order, now=world.now)
        before = TAKING.set(self._take)
        stepped = await Stepper().step(self.connection, world.backfill_id, world.now)
        TAKING.reset(before)
        assert stepped.moved

    def _take(self, count: int) -> int:
        self._taken += count
        return self.world.id_of(_FIRED_PLACE + self._taken - count)

    async def fire(self, at: timedelta) -> None:
        """What is due so long before the world's present; a run that it makes is the world's."""
        world = self.world
        now = world.now + at
        before = TAKING.set(self._take)
        standing = await standing_schedules(self.connection, now, [world.schedule_id])
        moved = await Settler().settle(self.connection, standing, now)
        TAKING.reset(before)
        assert moved.schedules == {world.schedule_id}
        world.standing = await standing_schedules(self.connection, world.now, [world.schedule_id])

    async def half_a_diamond(self) -> int:
        """Its root has succeeded; A and B hold one task each, and one waits for both."""
        run_id = await self.run("diamond")
        await self.end("A", await self.claim("A"), Succeeded())
        self.world.hands["A"].clear()
        await self.claim("A", 1)
        await self.claim("B", 1)
        return run_id


FAILED = Failed(Error("ValueError", "no"))
GIVEN_UP = Failed(Error("ValueError", "never"), retry=False)


class WorldSpec(NamedTuple):
    build: Callable[[_Builder], Awaitable[object]]
    operations: tuple[str, ...]
    """Those that have something to do here, or meet something that is being done."""


async def _empty(builder: _Builder) -> None:
    """Two workers and nothing to do."""


async def _job(builder: _Builder) -> None:
    await builder.job()


async def _working_job(builder: _Builder) -> None:
    await builder.job()
    await builder.claim("A")


async def _queued(builder: _Builder) -> None:
    await builder.run("one")


async def _two_queued(builder: _Builder) -> None:
    await builder.run("one")
    await builder.run("pair")


async def _claimed(builder: _Builder) -> None:
    await builder.run("one")
    await builder.claim("A")


async def _claimed_pair(builder: _Builder) -> None:
    """The end of the first makes the second ready, whatever happens to the run meanwhile."""
    await builder.run("pair")
    await builder.claim("A")


async def _half_a_diamond(builder: _Builder) -> None:
    await builder.half_a_diamond()


async def _stopped_diamond(builder: _Builder) -> None:
    run_id = await builder.half_a_diamond()
    await stop_runs(builder.connection, [run_id], "cancel", now=builder.world.now)


async def _bridge(builder: _Builder) -> None:
    """A and B hold one task each; the last waits for B's, and for one that waits for A's."""
    await builder.run("bridge")
    await builder.claim("A", 1)
    await builder.claim("B", 1)


async def _marked_bridge(builder: _Builder) -> None:
    """The one between is closed by hand, so that what A's comes to does not matter any more."""
    await _bridge(builder)
    [run_id] = builder.world.runs
    await mark_task(
        builder.connection, run_id, 1, 1, "succeeded", Deed("a race"), now=builder.world.now
    )


async def _resting(builder: _Builder) -> None:
    await builder.run("one")
    await builder.end("A", await builder.claim("A"), FAILED)


async def _resting_pair(builder: _Builder) -> None:
    await builder.run("pair")
    await builder.end("A", await builder.claim("A"), FAILED)


async def _delayed_pair(builder: _Builder) -> None:
    await builder.run("pair", due_at=builder.world.now + START_DELAY)


async def _delayed_and_resting(builder: _Builder) -> None:
    """Two timers, and the one that is woken second has the lower ids."""
    await _delayed_pair(builder)
    await _resting(builder)


async def _succeeded(builder: _Builder) -> None:
    await builder.run("one", key=f"{builder.world.key}kept", body=b"a wish")
    await builder.end("A", await builder.claim("A"), Succeeded())


async def _archived(builder: _Builder) -> None:
    await _succeeded(builder)
    async with builder.connection.transaction():
        await archive_runs(builder.connection, builder.world.first_id - 1, 1, FAR_FUTURE)


async def _failed_pair(builder: _Builder) -> None:
    await builder.run("pair", key=f"{builder.world.key}kept", body=b"a wish")
    await builder.end("A", await builder.claim("A"), GIVEN_UP)


async def _cancelled_pair(builder: _Builder) -> None:
    run_id = await builder.run("pair")
    await stop_runs(builder.connection, [run_id], "cancel", now=builder.world.now)


async def _busy(builder: _Builder) -> None:
    """Something of everything, for random mixes."""
    await _succeeded(builder)
    await builder.run("pair")
    await builder.end("B", await builder.claim("B"), GIVEN_UP)
    builder.world.hands["A"].clear()
    builder.world.hands["B"].clear()
    await builder.half_a_diamond()
    await builder.run("one")
    await builder.end("A", [(await builder.claim("A", 1))[-1]], FAILED)
    del builder.world.hands["A"][-1]
    await _delayed_pair(builder)
    await builder.run("one")
    await builder.run("pair")
    await builder.schedule(Overlap.BUFFER_ALL, at=-timedelta(seconds=65))


_MINUTE = timedelta(minutes=1)


async def _due(builder: _Builder) -> None:
    """A schedule of which one fire is due: at the very second of the world's present."""
    await builder.schedule(at=-timedelta(seconds=5))


async def _due_often(builder: _Builder) -> None:
    """Two fires are due, and one run at most may be open."""
    await builder.schedule(Overlap.SKIP, at=-timedelta(seconds=65))


async def _paused(builder: _Builder) -> None:
    """Paused for more than a minute, with one fire behind it."""
    world = builder.world
    await builder.schedule(at=-timedelta(seconds=70))
    await pause_schedule(
        builder.connection, world.schedule, by="a race", now=world.now - timedelta(seconds=65)
    )
    world.standing = await standing_schedules(builder.connection, world.now, [world.schedule_id])


async def _buffered(builder: _Builder) -> None:
    """A holds the run of the fire before the last; the last one waits, and the next is due."""
    world = builder.world
    await builder.schedule(Overlap.BUFFER_ONE, at=-timedelta(seconds=125))
    await builder.fire(-2 * _MINUTE)
    await builder.fire(-_MINUTE)
    [claimed] = await builder.claim("A")
    world.runs.append(claimed.run_id)


async def _replacing(builder: _Builder) -> None:
    """The one that waits is to replace the run that A holds."""
    world = builder.world
    await builder.schedule(Overlap.CANCEL_OTHER, at=-timedelta(seconds=125))
    await builder.fire(-2 * _MINUTE)
    await builder.fire(-_MINUTE)
    [claimed] = await builder.claim("A")
    world.runs.append(claimed.run_id)


async def _free_shard(builder: _Builder) -> None:
    """A shard that nobody holds, and a schedule that is due."""
    world = builder.world
    [shard] = await fetch(
        builder.connection,
        "update mainspring.shard set holder = null, holder_name = null, beat = beat + 1"
        " where number = $1 returning beat, term",
        SHARD,
    )
    world.shard_beat, world.shard_term = shard["beat"], shard["term"]
    await builder.schedule(at=-timedelta(seconds=5))


async def _backfilling(builder: _Builder) -> None:
    """Of two runs one has ended, which nobody has noticed; A holds the other."""
    world = builder.world
    await builder.backfill(concurrency=2)
    await builder.end("A", await builder.claim("A", 1), Succeeded())
    world.hands["A"].clear()
    [held] = await builder.claim("A", 1)
    world.runs.append(held.run_id)


_BY_SCHEDULE = ("fire", "fire as seen", "put", "put version 1", "pause", "resume", "remove")
_COMING_IN = ("create", "create again", "enqueue", "enqueue otherwise", "enqueue two", "claim A")
_CLOSED = ("enqueue the kept key", "claim A", "reopen", "archive", "forget")

WORLDS: Mapping[str, WorldSpec] = {
    "empty": WorldSpec(_empty, _COMING_IN),
    "a job": WorldSpec(
        _job,
        (
            *("make job", "make job otherwise", "make the same job", "make job two"),
            *("trigger job", "trigger job again", "cancel job"),
        ),
    ),
    "a working job": WorldSpec(
        _working_job,
        ("trigger job", "cancel job", "complete A", "fail A", "reap A", "cancel", "archive"),
    ),
    "queued": WorldSpec(
        _queued,
        (
            "create",
            "claim A",
            "claim B",
            "renew A",
            "drain A",
            "reap A",
            "cancel",
            "reopen",
            "mark",
        ),
    ),
    "two queued": WorldSpec(
        _two_queued, ("claim one A", "claim B", "cancel", "time out", "prioritize")
    ),
    "claimed": WorldSpec(
        _claimed,
        (
            "claim B",
            "renew A",
            "renew A forgetfully",
            "start A",
            "complete A",
            "fail A",
            "drain A",
            "reap A",
            "cancel",
            "time out",
            "reopen",
            "mark",
        ),
    ),
    "claimed pair": WorldSpec(
        _claimed_pair,
        (
            "claim B",
            "complete A",
            "give up A",
            "drain A",
            "reap A",
            "cancel",
            "reopen",
            "prioritize",
            "mark",
            "skip",
            "mark second",
        ),
    ),
    "bridge": WorldSpec(
        _bridge,
        (
            "complete A",
            "complete B",
            "give up A",
            "give up B",
            "reap A",
            "cancel",
            "mark",
            "mark second",
            "skip second",
        ),
    ),
    "marked bridge": WorldSpec(
        _marked_bridge,
        ("complete B", "give up A", "give up B", "cancel", "mark", "mark second", "reopen"),
    ),
    "half a diamond": WorldSpec(
        _half_a_diamond,
        (
            "claim B",
            "complete A",
            "complete B",
            "give up A",
            "drain A",
            "reap A",
            "reap B",
            "cancel",
            "reopen",
            "mark second",
            "skip second",
        ),
    ),
    "stopped diamond": WorldSpec(
        _stopped_diamond,
        (
            "renew A",
            "complete A",
            "complete B",
            "fail A",
            "drain A",
            "reap A",
            "cancel",
            "reopen",
            "mark second",
        ),
    ),
    "resting": WorldSpec(
        _resting, ("claim A", "renew A", "reap A", "wake", "cancel", "reopen", "mark")
    ),
    "resting pair": WorldSpec(
        _resting_pair, ("claim A", "wake", "cancel", "prioritize", "mark", "skip second")
    ),
    "delayed pair": WorldSpec(_delayed_pair, ("claim A", "wake starts", "cancel", "mark")),
    "delayed and resting": WorldSpec(
        _delayed_and_resting, ("wake", "wake starts", "cancel", "time out")
    ),
    "succeeded": WorldSpec(_succeeded, ("complete A", "cancel", "time out", *_CLOSED)),
    "failed pair": WorldSpec(
        _failed_pair, ("give up A", "cancel", "time out", "mark", "skip", "retry", *_CLOSED)
    ),
    "cancelled pair": WorldSpec(_cancelled_pair, ("claim A", "cancel", "reopen", "archive")),
    "archived": WorldSpec(_archived, ("complete A", *_CLOSED)),
    "due": WorldSpec(_due, _BY_SCHEDULE),
    "due often": WorldSpec(_due_often, ("fire", "fire as seen", "put", "pause")),
    "paused": WorldSpec(_paused, ("fire", "fire as seen", "put", "pause", "resume", "remove")),
    "buffered": WorldSpec(
        _buffered,
        (
            *("fire", "fire as seen", "follow", "move", "put", "pause", "remove"),
            *("complete A", "fail A", "cancel", "archive"),
        ),
    ),
    "replacing": WorldSpec(
        _replacing, ("fire", "move", "stop replaced", "pause", "complete A", "cancel")
    ),
    "free shard": WorldSpec(
        _free_shard, ("take shard A", "take shard B", "beat A", "free shard A", "fire")
    ),
    "backfilling": WorldSpec(
        _backfilling,
        (
            *("step backfill", "pause backfill", "resume backfill", "cancel backfill"),
            *("stop backfill runs", "complete A", "fail A", "cancel", "archive"),
        ),
    ),
    "busy": WorldSpec(_busy, ()),
}
