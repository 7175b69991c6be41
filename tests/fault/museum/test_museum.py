"""Each exhibit of the museum is seen by the harness, and the same scene without it is clean.

Races are played by the stepper, scenes by the store's own calls under the journal, and what lives
in a worker by real processes. What is asked afterwards is always the same: the promises in SQL and
the checker.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Collection
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

import msgspec
import pytest

from mainspring.domain.outcomes import HandedBack
from mainspring.domain.specs import DagSpec
from mainspring.engine.reap import Reap
from mainspring.schedule.specs import IntervalSpec, Misfire, ScheduleSpec
from mainspring.store.attempts import register_worker, renew_lease
from mainspring.store.connection import Connection, Line, connect, fetch
from mainspring.store.dags import register_dag
from mainspring.store.schedule_changes import Intent, put_schedule
from mainspring.store.schedules import StandingSchedule, due_schedules
from mainspring.store.settling import Settler
from mainspring.store.shards import SHARDS
from mainspring.store.wakeups import Bell
from tests.checker.check import check
from tests.checker.evidence import CLIENT, FAULTS, Answered, Asked, Fault, Log, now
from tests.checker.journal import install_journal, sample_clock
from tests.conftest import Server
from tests.fault.museum.mutants import MUTANTS, Mutant
from tests.fault.races.play import play_pair
from tests.support.factory import BareWorker, dag_of, start_dag
from tests.support.invariants import violations

pytestmark = pytest.mark.fault

ONE = dag_of()
_PIDS = {"worker-1": 101, "worker-2": 102}
DIAMOND = dag_of([(0, 1), (0, 2), (1, 3), (2, 3)], tasks=4)

Scene: TypeAlias = Callable[["Stage"], Awaitable[None]]


class Stage:
    """A database with the journal, and a folder for the other logs."""

    def __init__(self, url: str, connection: Connection, folder: Path) -> None:
        self.url = url
        self.connection = connection
        self.folder = folder


# --- who is caught where -------------------------------------------------------------------


async def test_stale_completion_accepted(server: Server, tmp_path: Path) -> None:
    seen = await _seen(server, tmp_path, "stale_completion_accepted", _hand_back_twice)
    assert "L1" in seen


async def test_recovery_fences_the_innocent(server: Server, tmp_path: Path) -> None:
    seen = await _seen(server, tmp_path, "recovery_fences_the_innocent", _reap_after_a_hand_back)
    assert "L3" in seen


async def test_children_granted_twice(server: Server, tmp_path: Path) -> None:
    seen = await _seen(server, tmp_path, "children_granted_twice", _complete_one_arm_twice)
    assert "D1" in seen


async def test_mass_reaping_after_a_database_restart(server: Server, tmp_path: Path) -> None:
    mutant = "mass_reaping_after_a_database_restart"
    assert "L4" in await _seen(server, tmp_path, mutant, _look_after_an_outage)


async def test_expiry_by_transaction_start(server: Server, tmp_path: Path) -> None:
    mutant = "expiry_by_transaction_start"
    assert "L4" in await _seen(server, tmp_path, mutant, _renew_in_an_old_transaction)


async def test_fire_doubled_at_a_leader_change(server: Server, tmp_path: Path) -> None:
    mutant = "fire_doubled_at_a_leader_change"
    assert "S1" in await _seen(server, tmp_path, mutant, _change_of_leaders)


async def test_fire_lost_when_the_spec_is_edited_just_after_it_was_due(
    server: Server, tmp_path: Path
) -> None:
    mutant = "fire_lost_when_the_spec_is_edited_just_after_it_was_due"
    assert "S2" in await _seen(server, tmp_path, mutant, _edit_what_is_due)


async def test_catch_up_skips_the_last_one(server: Server, tmp_path: Path) -> None:
    assert "S2" in await _seen(server, tmp_path, "catch_up_skips_the_last_one", _come_back)


@pytest.mark.parametrize(
    ("mutant", "first", "second", "world"),
    [
        ("cancel_overtaken_by_completion", "cancel", "complete A", "claimed pair"),
        ("lost_wake_up", "wake", "cancel", "resting"),
    ],
)
async def test_in_a_race(server: Server, mutant: str, first: str, second: str, world: str) -> None:
    name = await server.create()
    caught = await play_pair(
        server.url(name),
        first,
        second,
        worlds=[world],
        limit=3,
        disguise=MUTANTS[mutant].at_large,
    )
    assert caught.failures, "nobody has noticed"
    assert "await replay(" in caught.failures[0].printed
    await server.drop(name)
    name = await server.create()
    (await play_pair(server.url(name), first, second, worlds=[world], limit=3)).check()
    await server.drop(name)


# --- scenes --------------------------------------------------------------------------------


async def _hand_back_twice(stage: Stage) -> None:
    """A hands one of two tasks back; the answer is lost, and B has the task when A asks again."""
    first, second = await _two_workers(stage)
    for _ in range(2):
        await start_dag(stage.connection, ONE)
    held, kept = await first.claim()
    await first.end(held, HandedBack("it stops"))
    [taken] = await second.claim()
    await first.end(held, HandedBack("it stops"))
    for worker, item in ((second, taken), (first, kept)):
        await worker.end(item)


async def _reap_after_a_hand_back(stage: Stage) -> None:
    """A hands one of two tasks back, B takes it, and then A dies with the other."""
    first, second = await _two_workers(stage)
    for _ in range(2):
        await start_dag(stage.connection, ONE)
    held, _ = await first.claim()
    await first.end(held, HandedBack("it stops"))
    [taken] = await second.claim()
    _first_died(stage)
    await _reap_until(stage, lambda: _is_reaped(stage, first.id))
    await second.end(taken)
    await second.end_all([(item, None) for item in await second.claim()])


async def _complete_one_arm_twice(stage: Stage) -> None:
    """Both arms of a diamond are in one claim; the answer to the first one's end is lost."""
    worker, _ = await _two_workers(stage, DIAMOND)
    await start_dag(stage.connection, DIAMOND)
    [root] = await worker.claim()
    await worker.end(root)
    left, right = await worker.claim()
    grants = uuid4()
    for _ in range(2):
        await worker.end(left, grant_claim=grants)
    early = await worker.claim()
    await worker.end_all([(item, None) for item in (*early, right)])
    await worker.end_all([(item, None) for item in await worker.claim()])


async def _change_of_leaders(stage: Stage) -> None:
    """One engine reads what is due and is frozen; another fires it; then the first wakes up."""
    await _put(stage, ScheduleSpec(when=(IntervalSpec(1),), grace_seconds=3600))
    read = await _due(stage)
    await Settler().settle(stage.connection, read, None)
    await Settler().settle(stage.connection, read, None)


async def _edit_what_is_due(stage: Stage) -> None:
    await _put(stage, ScheduleSpec(when=(IntervalSpec(1),), grace_seconds=3600))
    await _due(stage)
    await _put(stage, ScheduleSpec(when=(IntervalSpec(2),), grace_seconds=3600))


async def _come_back(stage: Stage) -> None:
    """Nobody looked while two fires came due; the last of them is to be made up for."""
    spec = ScheduleSpec(when=(IntervalSpec(1),), misfire=Misfire.LAST, grace_seconds=0)
    await _put(stage, spec)
    [due] = await _due(stage)
    assert due.next_fire_at is not None
    second = due.next_fire_at + timedelta(seconds=1)
    await fetch(stage.connection, "select pg_sleep_until($1)", second)
    await Settler().settle(stage.connection, await _due(stage), None)


async def _put(stage: Stage, spec: ScheduleSpec) -> None:
    await register_dag(stage.connection, ONE, "snapshot")
    books = Log(stage.folder / CLIENT)
    number = next(_NUMBERS)
    encoded = msgspec.json.encode(spec, order="deterministic").decode()
    books.write(Asked(number, now(), "put_schedule", schedule="tick", spec=encoded))
    await put_schedule(stage.connection, Intent("tick", ONE.name, spec), by="museum")
    books.write(Answered(number, now(), "ok"))
    books.close()


async def _due(stage: Stage) -> list[StandingSchedule]:
    """As an engine reads it, once there is something due."""
    shards = list(range(1, SHARDS + 1))
    while True:
        due = await due_schedules(stage.connection, None, shards, _BEGINNING, 10)
        if due:
            return due
        await asyncio.sleep(0.02)


_NUMBERS = itertools.count(1)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


async def _look_after_an_outage(stage: Stage) -> None:
    """The reaper looks, the database is away for longer than a lease, and it looks again."""
    await _two_workers(stage)
    broken = 0
    reaper = Reap(_silent(), connection_losses=lambda: broken)
    for _ in range(2):
        await _step(stage, reaper)
    Log(stage.folder / FAULTS).write(Fault(now(), now(), "database_kill", "database"))
    broken += 1
    assert reaper._looked_at is not None
    reaper._looked_at -= 100.0
    for _ in range(3):
        await _step(stage, reaper)


async def _renew_in_an_old_transaction(stage: Stage) -> None:
    """A beat waits inside of its transaction for longer than the lease, and is then written."""
    worker_id = await _join(stage.connection, "worker-1", lease_seconds=0.3)
    other = await connect(stage.url, name="beat")
    transaction = other.transaction()
    await transaction.start()
    await other.fetchval("select pg_sleep(0.6)")
    await _beat(other, worker_id)
    await transaction.commit()
    await _step(stage, Reap(_silent()))
    await other.close()


# --- how a scene is played -----------------------------------------------------------------


async def _seen(server: Server, folder: Path, name: str, scene: Scene) -> set[str]:
    """The promises that the scene breaks with the bug; without it, it breaks none."""
    assert await _played(server, folder / "clean", None, scene) == set()
    seen = await _played(server, folder / "mutant", MUTANTS[name], scene)
    assert seen, "nobody has noticed"
    return seen


async def _played(server: Server, folder: Path, mutant: Mutant | None, scene: Scene) -> set[str]:
    folder.mkdir()
    database = await server.create()
    url = server.url(database)
    connection = await connect(url, name="museum", stable_plans=True)
    await install_journal(connection)
    if mutant is not None and mutant.unguard:
        await connection.execute(mutant.unguard)
    with mutant.at_large() if mutant is not None else nullcontext():
        await scene(Stage(url, connection, folder))
    await sample_clock(connection)
    broken = {promise.partition("_")[0] for promise in await violations(connection)}
    broken |= await _judged(folder, url)
    await connection.close()
    await server.drop(database)
    return broken


async def _judged(folder: Path, url: str, silent: Collection[str] = ("sample",)) -> set[str]:
    """What the checker says, of the promises that need neither callers nor tasks that speak."""
    report = await check(folder, url, (), silent=silent, may_wait=lambda run: True)
    return {
        finding.promise
        for finding in report.failures
        if finding.promise not in ("N2", "C1") and finding.violations
    }


async def _two_workers(stage: Stage, spec: DagSpec = ONE) -> tuple[BareWorker, BareWorker]:
    workers = [
        BareWorker(stage.connection, await _join(stage.connection, name), spec) for name in _PIDS
    ]
    return workers[0], workers[1]


async def _join(connection: Connection, name: str, lease_seconds: float = 2.0) -> int:
    return await register_worker(
        connection,
        uuid4(),
        name=name,
        host="here",
        pid=_PIDS[name],
        queues=["default"],
        slots={},
        lease_seconds=lease_seconds,
    )


async def _beat(connection: Connection, worker_id: int) -> None:
    await renew_lease(
        connection, worker_id, [], draining=False, claims_known_after=timedelta(hours=1)
    )


def _first_died(stage: Stage) -> None:
    fault = Fault(now(), now(), "kill", "worker 1", _PIDS["worker-1"])
    Log(stage.folder / FAULTS).write(fault)


async def _is_reaped(stage: Stage, worker_id: int) -> bool:
    rows = await fetch(
        stage.connection, "select 1 from mainspring.lease where worker_id = $1", worker_id
    )
    return not rows


async def _reap_until(stage: Stage, done: Callable[[], Awaitable[bool]]) -> None:
    reaper = Reap(_silent(), rest_seconds=0.05)
    while not await done():
        await _beat_the_living(stage)
        await _step(stage, reaper)
        await asyncio.sleep(0.05)


async def _beat_the_living(stage: Stage) -> None:
    rows = await fetch(stage.connection, "select id from mainspring.worker where name = 'worker-2'")
    for row in rows:
        await _beat(stage.connection, row["id"])


async def _step(stage: Stage, reaper: Reap) -> None:
    async with stage.connection.transaction():
        await reaper.step(stage.connection, None, 1000)


def _silent() -> Bell:
    return Bell(Line("", name="nobody"))


def test_every_exhibit_has_its_test() -> None:
    here = Path(__file__).parent
    tests = "\n".join(path.read_text("utf-8") for path in here.glob("test_*.py"))
    assert len(MUTANTS) == 13
    assert [name for name in MUTANTS if f'"{name}"' not in tests] == []
