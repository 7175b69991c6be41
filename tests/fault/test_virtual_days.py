"""Days of schedules in seconds: engines on a virtual clock that die, freeze and disagree.

Every statement that fires takes the time as an argument, so days can pass as fast as statements can
be made. Several engines read what is due and move it, each with its own connection. They are killed
between reading and moving, or in the middle of a transaction; frozen with a reading that they act
upon hours later; they lose the answer to a COMMIT and ask again; the database is killed. Meanwhile
people change, pause and resume schedules, runs end, and at times nobody looks for hours.

Afterwards every nominal instant is computed by trying one after the other, and compared with what
was fired: missing 0, doubled 0, early 0.
"""

from __future__ import annotations

import ast
import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from unittest.mock import patch
from uuid import uuid4

import msgspec
import pytest

import mainspring
from mainspring.engine.fire_schedules import FireSchedules
from mainspring.engine.follow_runs import FollowRuns
from mainspring.engine.shards import Shards
from mainspring.schedule.specs import (
    CronSpec,
    IntervalSpec,
    Misfire,
    Overlap,
    ScheduleSpec,
)
from mainspring.store.connection import Connection, Line, connect, fetch
from mainspring.store.dags import register_dag
from mainspring.store.runs import stop_runs
from mainspring.store.schedule_changes import (
    Intent,
    pause_schedule,
    put_schedule,
    resume_schedule,
)
from mainspring.store.schedules import StandingSchedule, due_schedules
from mainspring.store.settling import Settler
from mainspring.store.shards import SHARDS
from mainspring.store.wakeups import Bell
from tests.checker.instants import Cron, Every, Rule, rule_of
from tests.conftest import Server
from tests.fault.museum.mutants import MUTANTS
from tests.support.factory import dag_of
from tests.support.invariants import violations

pytestmark = pytest.mark.fault

BEGIN = datetime(2026, 3, 6, 0, 0, 30, tzinfo=UTC)
DAYS = 3
STEPS = 260
ENGINES = 3
_HOUR = timedelta(hours=1)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_LINES = ("*/20 * * * *", "5,35 */2 * * *", "0 6 * * *", "30 9-17 * * 1-5", "15 0 1-15 3 *")
_INTERVALS = (420, 900, 1860, 5400)
STRICT = ("strict_1", "strict_2", "strict_3")
"""Whatever happens, each of their instants becomes a run, but for those of a pause."""
LOOSE = ("loose_1", "loose_2", "loose_3")
"""With policies, by which fires are skipped, too."""


@dataclass
class Known:
    """What people know of a schedule: its specs, and when it was paused."""

    specs: list[tuple[datetime, ScheduleSpec]] = field(default_factory=list)
    paused_at: datetime | None = None
    pauses: list[tuple[datetime, datetime]] = field(default_factory=list)

    def nominal(self, until: datetime) -> list[datetime]:
        found = []
        ends = [begin for begin, _ in self.specs[1:]] + [until]
        for (begin, spec), end in zip(self.specs, ends, strict=True):
            found += _instants(spec, begin, end)
        return found

    def to_be_fired(self, until: datetime) -> list[datetime]:
        pauses = [*self.pauses, *([(self.paused_at, until)] if self.paused_at else [])]
        return [
            at for at in self.nominal(until) if not any(begin < at <= end for begin, end in pauses)
        ]


class Engine:
    """One process: its connection, what it remembers, and a clock that may be wrong."""

    def __init__(self, connection: Connection, wrong_by: float) -> None:
        self.connection = connection
        self.wrong_by = wrong_by
        self.reading: list[StandingSchedule] = []
        """What it has read before it froze."""
        nobody = Line("", name="nobody")
        self.tick = FireSchedules(nobody, Shards(nobody, uuid4(), "virtual"), Bell(nobody))
        self.follow = FollowRuns(nobody, Bell(nobody))
        self.settler = Settler()


class Days:
    def __init__(self, server: Server, database: str, seed: int) -> None:
        self.random = Random(seed)
        self.now = BEGIN
        self.known = {name: Known() for name in (*STRICT, *LOOSE)}
        self.happened: Counter[str] = Counter()
        self._server = server
        self._url = server.url(database)
        self.engines: list[Engine] = []
        self.people: Connection

    async def play(self) -> None:
        await self._connect()
        await register_dag(self.people, dag_of(), "snapshot")
        for name in self.known:
            await self._put(name)
        restarts = {STEPS // 3, 2 * STEPS // 3}
        for step in range(STEPS):
            self._pass_time()
            if step in restarts:
                await self._restart()
            else:
                await self._do_something()
        await self._come_to_rest()

    async def _connect(self) -> None:
        self.people = await connect(self._url, name="people", stable_plans=True)
        self.engines = []
        for number in range(ENGINES):
            connection = await connect(self._url, name=f"engine {number}", stable_plans=True)
            wrong_by = (0.0, 3600.0, -3600.0)[number % 3]
            self.engines.append(Engine(connection, wrong_by))

    def _pass_time(self) -> None:
        """Mostly minutes; now and then nobody has looked for hours."""
        mean = DAYS * 86_400 / STEPS
        seconds = self.random.expovariate(1 / mean)
        self.now += timedelta(seconds=round(seconds, 3))

    # --- what happens ----------------------------------------------------------------------

    async def _do_something(self) -> None:
        engine = self.random.choice(self.engines)
        acts = {
            self._fire: 8,
            self._freeze: 3,
            self._thaw: 4,
            self._die_before_the_move: 2,
            self._die_before_the_commit: 3,
            self._lose_the_answer: 3,
            self._follow: 3,
            self._end_runs: 3,
        }
        [act] = self.random.choices([*acts], [*acts.values()])
        # Its own clock may say what it likes.
        wrong = time.time() + engine.wrong_by
        with patch.object(time, "time", lambda: wrong):
            await act(engine)
        self.happened[act.__name__.strip("_")] += 1
        if self.random.random() < 0.25:
            await self._change(self.random.choice([*self.known]))

    async def _read(self, engine: Engine) -> list[StandingSchedule]:
        shards = self.random.sample(range(1, SHARDS + 1), SHARDS // 2)
        return await due_schedules(engine.connection, self.now, shards, _BEGINNING, 100)

    async def _fire(self, engine: Engine) -> None:
        await engine.tick.step(engine.connection, self.now)

    async def _freeze(self, engine: Engine) -> None:
        engine.reading = engine.reading or await self._read(engine)

    async def _thaw(self, engine: Engine) -> None:
        """It goes on as if nothing had happened."""
        reading, engine.reading = engine.reading, []
        await engine.settler.settle(engine.connection, reading, self.now)

    async def _die_before_the_move(self, engine: Engine) -> None:
        await self._read(engine)
        self._reborn(engine)

    async def _die_before_the_commit(self, engine: Engine) -> None:
        transaction = engine.connection.transaction()
        await transaction.start()
        await engine.settler.settle(engine.connection, await self._read(engine), self.now)
        await transaction.rollback()
        self._reborn(engine)

    async def _lose_the_answer(self, engine: Engine) -> None:
        reading = await self._read(engine)
        for _ in range(2):
            await engine.settler.settle(engine.connection, reading, self.now)

    async def _follow(self, engine: Engine) -> None:
        await engine.follow.step(engine.connection, self.now)

    async def _end_runs(self, _: Engine) -> None:
        rows = await fetch(
            self.people,
            "select r.id from mainspring.run r join mainspring.task t on t.id = r.id"
            " where t.finished_at is null order by r.id",
        )
        ids = [row["id"] for row in rows if self.random.random() < 0.7]
        await stop_runs(self.people, ids, "cancel", now=self.now)

    def _reborn(self, engine: Engine) -> None:
        self.engines[self.engines.index(engine)] = Engine(engine.connection, engine.wrong_by)

    async def _restart(self) -> None:
        """The database is killed; what engines held is gone with their connections."""
        await asyncio.to_thread(self._server.postgres.kill)
        for connection in (self.people, *(engine.connection for engine in self.engines)):
            connection.terminate()
        await asyncio.to_thread(self._server.postgres.start)
        await self._connect()
        self.happened["restart"] += 1

    # --- people ----------------------------------------------------------------------------

    async def _change(self, name: str) -> None:
        known = self.known[name]
        if known.paused_at is not None and self.random.random() < 0.7:
            await resume_schedule(self.people, name, now=self.now)
            known.pauses.append((known.paused_at, self.now))
            known.paused_at = None
        elif known.paused_at is None and self.random.random() < 0.5:
            await pause_schedule(self.people, name, by="people", now=self.now)
            known.paused_at = self.now
        else:
            await self._put(name)

    async def _put(self, name: str) -> None:
        spec = _spec(self.random, strict=name in STRICT)
        await put_schedule(self.people, Intent(name, "sample", spec), by="people", now=self.now)
        self.known[name].specs.append((self.now, spec))

    # --- the end ---------------------------------------------------------------------------

    async def _come_to_rest(self) -> None:
        """Whoever is frozen wakes up, and what is due fires."""
        self.now += timedelta(minutes=1)
        for engine in self.engines:
            await self._thaw(engine)
        for engine in self.engines:
            while await engine.tick.step(engine.connection, self.now + timedelta(seconds=2)):
                pass
        for name, known in self.known.items():
            if known.paused_at is not None:
                await resume_schedule(self.people, name, now=self.now)
                known.pauses.append((known.paused_at, self.now))
                known.paused_at = None

    async def compare(self) -> None:
        rows = await fetch(self.people, _LEDGER)
        early = [row for row in rows if row["decided_at"] < row["until_at"]]
        assert not early, f"{len(early)} fires were early: {early[:3]}"
        made = Counter((row["name"], row["fire_at"]) for row in await fetch(self.people, _RUNS))
        assert not [fire for fire, count in made.items() if count > 1], "fires were doubled"
        for name, known in self.known.items():
            entries = [row for row in rows if row["name"] == name]
            told: Counter[datetime] = Counter()
            for row in entries:
                spec = known.specs[row["version"] - 1][1]
                covered = _instants(spec, row["fire_at"] - timedelta(seconds=1), row["until_at"])
                assert len(covered) == row["count"], f"{name}: a range counts wrong: {row}"
                told.update(covered)
            nominal = known.nominal(self.now)
            assert sorted(told.elements()) == nominal, _difference(name, told, nominal)
            if name in STRICT:
                fired = sorted(at for of, at in made if of == name)
                assert fired == known.to_be_fired(self.now), name

    async def close(self) -> None:
        for connection in (self.people, *(engine.connection for engine in self.engines)):
            await connection.close()


_LEDGER = """
select h.name, f.version, f.fire_at, f.until_at, f.decided_at, f.count, f.outcome::text
from mainspring.fire f join mainspring.schedule h on h.id = f.schedule_id order by f.fire_at
"""
_RUNS = """
select h.name, r.fire_at from mainspring.run r join mainspring.schedule h on h.id = r.schedule_id
where r.created_at >= r.fire_at
"""


def _spec(random: Random, *, strict: bool) -> ScheduleSpec:
    when: CronSpec | IntervalSpec
    if random.random() < 0.5:
        when = CronSpec(random.choice(_LINES))
    else:
        seconds = random.choice(_INTERVALS)
        when = IntervalSpec(seconds, random.randrange(0, seconds, 60))
    if strict:
        return ScheduleSpec(when=(when,), misfire=Misfire.ALL)
    return ScheduleSpec(
        when=(when,),
        overlap=random.choice(list(Overlap)),
        misfire=random.choice(list(Misfire)),
        grace_seconds=random.choice([0, 60, 3600]),
    )


def _instants(spec: ScheduleSpec, after: datetime, until: datetime) -> list[datetime]:
    """By trying every minute, which is as fine as these specs are."""
    rule = rule_of(msgspec.json.encode(spec).decode())
    at = after.replace(second=0, microsecond=0)
    found = []
    while at <= until:
        if at > after and _matches(rule, at):
            found.append(at)
        at += timedelta(minutes=1)
    return found


def _matches(rule: Rule, at: datetime) -> bool:
    for when in rule.when:
        if isinstance(when, Every):
            assert when.seconds % 60 == when.phase_seconds % 60 == 0
        assert isinstance(when, Every | Cron)
    return any(when.matches(at) for when in rule.when)


def _difference(name: str, told: Counter[datetime], nominal: Sequence[datetime]) -> str:
    missing = [str(at) for at in nominal if told[at] == 0]
    doubled = [str(at) for at, count in told.items() if count > 1]
    invented = [str(at) for at in told if at not in set(nominal)]
    return f"{name}: missing {missing[:5]}, doubled {doubled[:5]}, invented {invented[:5]}"


@pytest.mark.parametrize("seed", [1, 2, None])
async def test_days_of_schedules_miss_nothing_and_double_nothing(
    server: Server, seed: int | None
) -> None:
    seed = secrets.randbelow(2**32) if seed is None else seed
    print(f"days by seed {seed}")
    database = await server.create()
    days = Days(server, database, seed)
    await days.play()
    await days.compare()
    assert not await violations(days.people)
    print(dict(days.happened))
    assert days.now - BEGIN > timedelta(days=1)
    assert len(days.happened) == 9, days.happened
    await days.close()
    await server.drop(database)


@pytest.mark.parametrize(
    ("mutant", "noticed"),
    [
        ("fire_doubled_at_a_leader_change", "doubled"),
        ("fire_lost_when_the_spec_is_edited_just_after_it_was_due", "missing"),
    ],
)
async def test_days_of_an_engine_with_a_bug_are_noticed(
    server: Server, mutant: str, noticed: str
) -> None:
    database = await server.create()
    days = Days(server, database, seed=1)
    with MUTANTS[mutant].at_large():
        await days.play()
    with pytest.raises(AssertionError, match=noticed):
        await days.compare()
    await days.close()
    await server.drop(database)


def test_nothing_that_fires_asks_the_clock_of_its_process() -> None:
    """Time comes from the database; a process only measures how long something takes."""
    source = Path(mainspring.__file__).parent
    files = [
        *(source / "schedule").glob("*.py"),
        *(source / "store").glob("schedule*.py"),
        source / "store" / "settling.py",
        source / "engine" / "fire_schedules.py",
        source / "engine" / "follow_runs.py",
    ]
    clocks = {"now", "utcnow", "today", "time", "time_ns", "localtime", "gmtime"}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                asks = node.func.attr in clocks and owner in ("time", "datetime", "date")
                assert not asks, f"{path.name}:{node.lineno}: {ast.unparse(node)}"
