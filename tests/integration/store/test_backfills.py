"""Backfills in the database: steps, crashes between them, two who step at once, changes by hand.

Time is given, and runs are ended by hand: nothing here waits for a clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from mainspring.domain.errors import ConflictError, InputError, NotFoundError
from mainspring.domain.specs import ParameterSpec
from mainspring.domain.states import BackfillState
from mainspring.schedule.backfilling import Outcome, Reprocess
from mainspring.schedule.calendars import CalendarSpec
from mainspring.schedule.specs import CronSpec, IntervalSpec, Misfire, Overlap, ScheduleSpec
from mainspring.store.backfill_orders import (
    BackfillOrder,
    BackfillPreview,
    create_backfill,
    preview_backfill,
    reserve_backfill,
)
from mainspring.store.backfilling import FIRES_PER_STEP, RUNS_PER_STEP, Stepper
from mainspring.store.backfills import (
    BackfillLine,
    backfill_of_run,
    cancel_backfill,
    forget_backfills,
    going_backfills,
    page_backfill_fires,
    pause_backfill,
    read_backfill,
    resume_backfill,
    stop_backfill_runs,
)
from mainspring.store.connection import Connection, connect, fetch
from mainspring.store.dags import register_dag
from mainspring.store.history import archive_runs
from mainspring.store.pauses import pause_dag
from mainspring.store.runs import reopen_run
from mainspring.store.schedule_changes import (
    Intent,
    pause_schedule,
    put_calendar,
    put_schedule,
    remove_schedule,
    resume_schedule,
)
from mainspring.store.schedules import due_schedules
from mainspring.store.settling import Settler
from tests.support.factory import BareWorker, dag_of, failure

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
SAMPLE = dag_of()


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def every(seconds: int, **options: object) -> ScheduleSpec:
    return ScheduleSpec(when=(IntervalSpec(seconds),), **options)  # type: ignore[arg-type]


class Stage:
    """A dag, a schedule named `tick`, a worker, and a clock that is moved by hand."""

    def __init__(self, connection: Connection, worker: BareWorker) -> None:
        self.connection = connection
        self.worker = worker
        self.stepper = Stepper()

    async def put(self, spec: ScheduleSpec, now: datetime, **options: object) -> int:
        intent = Intent("tick", "sample", spec, **options)  # type: ignore[arg-type]
        return (await put_schedule(self.connection, intent, by="tests", now=now)).schedule_id

    async def tick(self, now: datetime) -> None:
        beginning, settler = datetime(1970, 1, 1, tzinfo=UTC), Settler()
        while due := await due_schedules(self.connection, now, list(range(17)), beginning, 100):
            await settler.settle(self.connection, due, now)

    def order(self, since: float, until: float, **options: object) -> BackfillOrder:
        if "spec" in options:
            options["dag"] = "sample"
        else:
            options["schedule"] = "tick"
        return BackfillOrder(since=at(since), until=at(until), **options)  # type: ignore[arg-type]

    async def backfill(self, since: float, until: float, **options: object) -> int:
        backfill_id = await reserve_backfill(self.connection)
        order = self.order(since, until, **options)
        await create_backfill(self.connection, backfill_id, order, by="tests", now=NOON)
        return backfill_id

    async def preview(self, since: float, until: float, **options: object) -> BackfillPreview:
        return await preview_backfill(
            self.connection, self.order(since, until, **options), now=NOON, shown=10_000
        )

    async def step(self, backfill_id: int) -> None:
        while True:
            stepped = await self.stepper.step(self.connection, backfill_id, NOON)
            if not (stepped.moved and stepped.more):
                return

    async def read(self, backfill_id: int) -> BackfillLine:
        return await read_backfill(self.connection, backfill_id)

    async def end_runs(self, *, fail: Sequence[float] = ()) -> int:
        """All that can be claimed ends: well, but for runs of these instants."""
        claimed = await self.worker.claim(1000)
        fires = await self.fires()
        await self.worker.end_all(
            [(each, failure() if fires.get(each.run_id) in fail else None) for each in claimed]
        )
        return len(claimed)

    async def finish(self, backfill_id: int, *, fail: Sequence[float] = ()) -> BackfillLine:
        """Step and end runs by turns until it is over."""
        while True:
            await self.step(backfill_id)
            line = await self.read(backfill_id)
            if line.over or not (await self.end_runs(fail=fail) or line.open_runs):
                return line

    async def fires(self) -> dict[int, float]:
        """Instants of all runs, in seconds from noon."""
        rows = await fetch(
            self.connection,
            "select id, fire_at from mainspring.run union all"
            " select id, fire_at from mainspring.run_history order by 1",
        )
        return {row["id"]: (row["fire_at"] - NOON).total_seconds() for row in rows}

    async def ran(self) -> list[float]:
        """Instants of the runs that backfills made, in the order in which they were made."""
        rows = await fetch(
            self.connection,
            "select fire_at from mainspring.run where trigger = 'backfill' order by id",
        )
        return [(row["fire_at"] - NOON).total_seconds() for row in rows]


@pytest.fixture
async def stage(connection: Connection) -> Stage:
    await register_dag(connection, SAMPLE, "snapshot")
    return Stage(connection, await BareWorker.join(connection, SAMPLE))


async def test_each_instant_gets_a_run_that_knows_its_data_interval(stage: Stage) -> None:
    schedule_id = await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-300, -60)
    line = await stage.finish(backfill_id)
    assert line.state is BackfillState.FINISHED
    assert (line.total, line.made, line.succeeded, line.done) == (4, 4, 4, 4)
    assert await stage.ran() == [-300, -240, -180, -120]
    rows = await fetch(
        stage.connection,
        "select fire_at, interval_start, schedule_id, trigger::text, created_by"
        " from mainspring.run",
    )
    assert {tuple(row.values()) for row in rows} == {
        (at(-60 * n), at(-60 * n - 60), schedule_id, "backfill", "tests") for n in (2, 3, 4, 5)
    }
    assert not await going_backfills(stage.connection, 0, 10)


async def test_no_more_runs_are_open_than_it_may_have(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-600, 0, concurrency=3)
    for done in range(0, 9, 3):
        await stage.step(backfill_id)
        await stage.step(backfill_id)
        line = await stage.read(backfill_id)
        assert (line.open_runs, line.done) == (3, done)
        await stage.end_runs()
    assert (await stage.finish(backfill_id)).succeeded == 10


async def test_the_newest_can_come_first(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    line = await stage.finish(await stage.backfill(-240, 0, newest_first=True))
    assert line.state is BackfillState.FINISHED
    assert await stage.ran() == [-60, -120, -180, -240]


async def test_a_spec_needs_no_schedule(stage: Stage) -> None:
    line = await stage.finish(await stage.backfill(-600, 0, spec=every(300)))
    assert (line.schedule, line.dag, line.made) == (None, "sample", 2)
    assert await stage.ran() == [-600, -300]


# --- crashes and races --------------------------------------------------------------------


async def test_of_two_engines_that_step_at_once_one_finds_nothing_to_do(
    stage: Stage, database_url: str
) -> None:
    """Each with connections and memories of its own, over the whole of a backfill."""
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-60 * 200, 0, concurrency=7)
    lines = [await connect(database_url, name=f"engine {n}", stable_plans=True) for n in (1, 2, 3)]
    steppers = [Stepper() for _ in lines]
    try:
        while not (await stage.read(backfill_id)).over:
            await asyncio.gather(
                *(
                    stepper.step(line, backfill_id, NOON)
                    for stepper, line in zip(steppers, lines, strict=True)
                )
            )
            assert (await stage.read(backfill_id)).open_runs <= 7
            await stage.end_runs()
    finally:
        for line in lines:
            await line.close()
    # Engines have ids of their own, so these say nothing about the order.
    assert sorted(await stage.ran()) == [-60 * n for n in range(200, 0, -1)]


async def test_a_step_whose_answer_was_lost_is_not_made_twice(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-600, 0, concurrency=2)
    await stage.stepper.step(stage.connection, backfill_id, NOON)
    # As a line does that comes back: the same stepper, and then an engine that knows nothing.
    await stage.stepper.step(stage.connection, backfill_id, NOON)
    await Stepper().step(stage.connection, backfill_id, NOON)
    assert await stage.ran() == [-600, -540]
    stage.stepper = Stepper()
    assert (await stage.finish(backfill_id)).succeeded == 10
    assert await stage.ran() == [-60 * n for n in range(10, 0, -1)]


async def test_a_decision_that_comes_too_late_changes_nothing(
    stage: Stage, database_url: str
) -> None:
    """Another engine moved it between the reading and the move, or somebody paused it."""
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-600, 0)
    slow = await connect(database_url, name="slow", stable_plans=True)

    class Delayed:
        """Passes on what is asked, and lets another come first when the move is made."""

        async def fetch(self, sql: str, *args: object) -> object:
            if sql.startswith("-- move_backfill"):
                await pause_backfill(stage.connection, backfill_id, by="tests")
            return await slow.fetch(sql, *args)

    stepped = await Stepper().step(Delayed(), backfill_id, NOON)  # type: ignore[arg-type]
    await slow.close()
    assert not stepped.moved
    assert await stage.ran() == []


async def test_a_backfill_that_somebody_holds_is_passed_by(stage: Stage, database_url: str) -> None:
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-600, 0)
    other = await connect(database_url, name="other")
    async with other.transaction():
        await other.execute("select 1 from mainspring.backfill for update")
        assert not (await stage.stepper.step(stage.connection, backfill_id, NOON)).moved
    await other.close()
    assert (await stage.stepper.step(stage.connection, backfill_id, NOON)).moved


async def test_making_one_again_under_its_number_makes_nothing(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    backfill_id = await reserve_backfill(stage.connection)
    order = stage.order(-600, 0)
    first = await create_backfill(stage.connection, backfill_id, order, now=NOON)
    await stage.step(backfill_id)
    again = await create_backfill(stage.connection, backfill_id, order, now=NOON)
    assert (first.made, again.made, again.id) == (0, 1, first.id)
    rows = await fetch(stage.connection, "select id from mainspring.backfill")
    assert len(rows) == 1


async def test_ten_thousand_instants_are_dealt_with(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-600_000, 0, concurrency=1000)
    assert (await stage.read(backfill_id)).total == 10_000
    line = await stage.finish(backfill_id)
    assert (line.state, line.succeeded) == (BackfillState.FINISHED, 10_000)
    assert await stage.ran() == [-60 * n for n in range(10_000, 0, -1)]
    # A second one has nothing to make, and no room is needed for that.
    again = await stage.finish(await stage.backfill(-600_000, 0))
    assert (again.made, again.existing) == (0, 10_000)


async def test_one_step_makes_no_more_than_a_batch(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-60_000, 0, concurrency=1000)
    stepped = await stage.stepper.step(stage.connection, backfill_id, NOON)
    assert stepped.more
    assert (await stage.read(backfill_id)).made == RUNS_PER_STEP
    await stage.finish(backfill_id)
    again = await stage.backfill(-60_000, 0)
    assert (await stage.stepper.step(stage.connection, again, NOON)).more
    assert (await stage.read(again)).existing == FIRES_PER_STEP


# --- what exists already ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reprocess", "ran"),
    [
        (Reprocess.NONE, [-600, -540, -180, -120]),
        (Reprocess.FAILED, [-600, -540, -420, -180, -120]),
        (Reprocess.ALL, [-600, -540, -480, -420, -360, -240, -180, -120]),
    ],
)
async def test_what_has_a_run_runs_again_only_if_it_is_to(
    stage: Stage, reprocess: Reprocess, ran: list[float]
) -> None:
    """Ten minutes: two before the schedule, five with runs of which one is open, a pause."""
    await stage.put(every(60, misfire=Misfire.ALL), at(-500))
    await stage.tick(at(-301))
    await stage.end_runs(fail=[-420])
    await stage.tick(at(-300))
    await stage.worker.claim(1)
    await stage.tick(at(-240))
    await pause_schedule(stage.connection, "tick", by="tests", now=at(-239))
    await resume_schedule(stage.connection, "tick", now=at(-119))
    # Of -480, -420, -360 one failed; -300 is claimed and open; -240 is ended well.
    await stage.end_runs()
    preview = await stage.preview(-600, -60, reprocess=reprocess)
    backfill_id = await stage.backfill(-600, -60, reprocess=reprocess)
    line = await stage.finish(backfill_id)
    assert await stage.ran() == ran
    shown = [each for each in preview.instants if each.outcome is Outcome.MADE]
    assert [(each.fire_at - NOON).total_seconds() for each in shown] == ran
    assert (preview.to_run, preview.existing) == (line.made, line.existing)
    fires = {f.fire_at: f for f in await page_backfill_fires(stage.connection, backfill_id)}
    assert fires[at(-300)].outcome == "exists"
    states = {each.fire_at: each.run_state for each in preview.instants}
    assert states[at(-300)] == "queued" or states[at(-300)] == "running"
    assert (states[at(-420)], states[at(-480)], states[at(-600)]) == ("failed", "succeeded", None)


async def test_runs_of_other_backfills_of_the_schedule_count(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    await stage.finish(await stage.backfill(-600, 0), fail=[-300])
    assert (await stage.finish(await stage.backfill(-660, 0))).made == 1
    failed = await stage.finish(await stage.backfill(-660, 0, reprocess=Reprocess.FAILED))
    assert (failed.made, failed.existing, failed.succeeded) == (1, 10, 1)
    # The latest run counts: it has succeeded now.
    assert (await stage.preview(-660, 0, reprocess=Reprocess.FAILED)).to_run == 0


async def test_a_rerun_counts_for_the_run_that_it_repeats(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    await stage.finish(await stage.backfill(-120, 0), fail=[-60])
    [failed] = [run for run, fire in (await stage.fires()).items() if fire == -60]
    await reopen_run(stage.connection, failed, {0: 1})
    await stage.end_runs()
    assert (await stage.preview(-120, 0, reprocess=Reprocess.FAILED)).to_run == 0


async def test_specs_with_other_parameters_are_another_matter(connection: Connection) -> None:
    region = ParameterSpec("region", {"type": "string"}, required=False, default="eu")
    dag = msgspec.structs.replace(SAMPLE, parameters=(region,))
    await register_dag(connection, dag, "snapshot")
    stage = Stage(connection, await BareWorker.join(connection, dag))
    for region_name, made in (("eu", 2), ("us", 2), ("eu", 0)):
        options = {"spec": every(60), "parameters": {"region": region_name}}
        assert (await stage.preview(-120, 0, **options)).to_run == made
        assert (await stage.finish(await stage.backfill(-120, 0, **options))).made == made
    rows = await fetch(connection, "select distinct parameters from mainspring.run order by 1")
    assert [row["parameters"] for row in rows] == [b'{"region":"eu"}', b'{"region":"us"}']


async def test_what_history_keeps_exists_too(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    await stage.finish(await stage.backfill(-600, 0), fail=[-60])
    async with stage.connection.transaction():
        await archive_runs(stage.connection, 0, 100, datetime.now(UTC) + timedelta(hours=1))
    assert not await fetch(stage.connection, "select 1 from mainspring.run")
    assert (await stage.preview(-600, 0)).to_run == 0
    preview = await stage.preview(-600, 0, reprocess=Reprocess.FAILED)
    assert preview.to_run == 1
    assert preview.run_seconds is not None


async def test_a_fire_in_the_buffer_will_run_by_itself(stage: Stage) -> None:
    await stage.put(every(60, overlap=Overlap.BUFFER_ALL, misfire=Misfire.ALL), at(-200))
    await stage.tick(at(-1))
    preview = await stage.preview(-180, 0)
    assert [each.run_state for each in preview.instants] == ["queued"] * 3
    assert preview.to_run == 0


async def test_what_is_due_is_left_to_the_schedule(stage: Stage) -> None:
    """No engine has come by for five minutes."""
    await stage.put(every(60), at(-301))
    preview = await stage.preview(-600, 0)
    assert [each.fire_at for each in preview.instants] == [at(-60 * n) for n in range(10, 5, -1)]
    assert "about to fire by itself" in preview.remarks[0]


# --- the schedule in force then -----------------------------------------------------------


async def test_each_instant_is_of_the_version_in_force_then(stage: Stage) -> None:
    """Every minute at first, then every two, then it was gone for a while, then every three."""
    quiet = {"misfire": Misfire.FROM_NOW, "grace_seconds": 0}
    await stage.put(every(60, **quiet), at(-1800))
    await stage.put(every(120, **quiet), at(-1200))
    await remove_schedule(stage.connection, "tick", now=at(-900))
    await stage.put(every(180, **quiet), at(-600))
    await stage.tick(at(0))
    preview = await stage.preview(-2100, 0)
    instants = [((each.fire_at - NOON).total_seconds(), each.version) for each in preview.instants]
    assert instants == [
        *((-second, 1) for second in range(2100, 1199, -60)),
        *((-second, 2) for second in range(1080, 899, -120)),
        *((-second, 3) for second in (540, 360, 180)),
    ]
    assert [remark.split(":")[0] for remark in preview.remarks] == [
        "before 2026-11-15T11",
        "the schedule changed meanwhile",
        "between 2026-11-15T11",
    ]
    line = await stage.finish(await stage.backfill(-2100, 0))
    assert line.total == len(instants)
    assert await stage.ran() == [fire for fire, _ in instants]


async def test_a_change_after_it_was_made_does_not_concern_it(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-300, 0)
    await stage.step(backfill_id)
    await stage.put(every(7), NOON)
    assert (await stage.finish(backfill_id)).made == 5


async def test_parameters_are_those_in_force_then_and_given_ones_go_over_them(
    connection: Connection,
) -> None:
    texts = {"type": "string"}
    dag = msgspec.structs.replace(
        SAMPLE,
        parameters=tuple(
            ParameterSpec(name, texts, required=False, default="-") for name in ("a", "b")
        ),
    )
    await register_dag(connection, dag, "snapshot")
    stage = Stage(connection, await BareWorker.join(connection, dag))
    quiet = {"misfire": Misfire.FROM_NOW, "grace_seconds": 0}
    await stage.put(every(60, **quiet), at(-150), parameters={"a": "1", "b": "1"})
    await stage.put(every(60, **quiet), at(-90), parameters={"a": "2"})
    await stage.tick(at(0))
    await stage.finish(await stage.backfill(-120, 0, parameters={"b": "given"}))
    rows = await fetch(
        connection, "select parameters from mainspring.run where trigger = 'backfill' order by id"
    )
    assert [msgspec.json.decode(row["parameters"]) for row in rows] == [
        {"a": "1", "b": "given"},
        {"a": "2", "b": "given"},
    ]


async def test_clock_changes_and_excluded_days_are_those_of_the_schedule(stage: Stage) -> None:
    """In Berlin there is no 02:30 on 2026-03-29, a Sunday."""
    await put_calendar(stage.connection, "sundays", CalendarSpec(weekdays=("sun",)))
    nightly = ScheduleSpec(when=(CronSpec("30 2 * * *"),), timezone="Europe/Berlin")
    for spec, excluded in (
        (nightly, 0),
        (msgspec.structs.replace(nightly, exclude=("sundays",)), 1),
    ):
        order = BackfillOrder(
            since=datetime(2026, 3, 28, tzinfo=UTC),
            until=datetime(2026, 3, 31, tzinfo=UTC),
            dag="sample",
            spec=spec,
            reprocess=Reprocess.ALL,
        )
        preview = await preview_backfill(stage.connection, order, now=NOON)
        assert [f"{each.fire_at:%d %H:%M}" for each in preview.instants] == [
            "28 01:30",
            "29 01:00",
            "30 00:30",
        ]
        assert (preview.excluded, preview.to_run) == (excluded, 3 - excluded)
        backfill_id = await reserve_backfill(stage.connection)
        await create_backfill(stage.connection, backfill_id, order, now=NOON)
        await put_calendar(stage.connection, "sundays", CalendarSpec(weekdays=("mon", "sat")))
        line = await stage.finish(backfill_id)
        assert (line.made, line.excluded) == (3 - excluded, excluded)
        await put_calendar(stage.connection, "sundays", CalendarSpec(weekdays=("sun",)))


# --- priority -----------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "got"), [(None, 0), (3, 3), (9, 5)])
async def test_its_tasks_yield_to_live_work_and_never_exceed_the_dag(
    stage: Stage, asked: int | None, got: int
) -> None:
    await stage.put(every(60), at(-1))
    options = {} if asked is None else {"priority": asked}
    await stage.step(await stage.backfill(-60, 0, **options))
    rows = await fetch(stage.connection, "select priority from mainspring.ready")
    assert [row["priority"] for row in rows] == [got]
    await stage.tick(at(60))
    claimed = await stage.worker.claim(2)
    live = {run for run, fire in (await stage.fires()).items() if fire >= 0}
    first_is_live = claimed[0].run_id in live
    assert first_is_live == (got < 5)


async def test_tasks_of_a_paused_dag_stand_aside_at_their_own_priority(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    await pause_dag(stage.connection, "sample")
    await stage.step(await stage.backfill(-60, 0, priority=3))
    rows = await fetch(stage.connection, "select priority from mainspring.task")
    assert [row["priority"] for row in rows] == [-4]
    assert not await stage.worker.claim()


# --- by hand ------------------------------------------------------------------------------


async def test_a_pause_makes_no_runs_and_a_resume_goes_on_where_it_was(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-600, 0, concurrency=2)
    await stage.step(backfill_id)
    paused = await pause_backfill(stage.connection, backfill_id, by="ada", note="why")
    assert (paused.state, paused.halted_by, paused.halt_note) == ("paused", "ada", "why")
    await stage.end_runs()
    await stage.step(backfill_id)
    line = await stage.read(backfill_id)
    assert (line.made, line.succeeded) == (2, 2)
    assert not await going_backfills(stage.connection, 0, 10)
    assert (await pause_backfill(stage.connection, backfill_id, note="else")).halt_note == "else"
    assert (await resume_backfill(stage.connection, backfill_id)).state == "running"
    assert (await resume_backfill(stage.connection, backfill_id)).halt_note is None
    assert (await stage.finish(backfill_id)).succeeded == 10


async def test_a_cancelled_one_makes_no_more_and_what_is_open_may_go_on_or_not(
    stage: Stage,
) -> None:
    await stage.put(every(60), at(-1))
    for stop in (False, True):
        backfill_id = await stage.backfill(-600, 0, concurrency=2, reprocess=Reprocess.ALL)
        await stage.step(backfill_id)
        line = await cancel_backfill(stage.connection, backfill_id, by="ada")
        assert (line.state, line.over, line.open_runs) == ("cancelled", False, 2)
        if stop:
            assert await stop_backfill_runs(stage.connection, backfill_id) == (2, 0)
        line = await stage.finish(backfill_id)
        assert line.over
        ended = (line.made, line.cancelled, line.succeeded)
        assert ended == ((2, 2, 0) if stop else (2, 0, 2))
        assert (await cancel_backfill(stage.connection, backfill_id)).state == "cancelled"
        with pytest.raises(ConflictError, match="is cancelled and cannot be resumed"):
            await resume_backfill(stage.connection, backfill_id)
        with pytest.raises(ConflictError, match="is cancelled and cannot be paused"):
            await pause_backfill(stage.connection, backfill_id)


async def test_a_finished_one_stays_so(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-60, 0)
    await stage.finish(backfill_id)
    with pytest.raises(ConflictError, match="is finished and cannot be cancelled"):
        await cancel_backfill(stage.connection, backfill_id)
    with pytest.raises(NotFoundError, match="there is no backfill 4711"):
        await pause_backfill(stage.connection, 4711)


async def test_it_pauses_by_itself_when_its_dag_is_gone_or_takes_other_parameters(
    stage: Stage,
) -> None:
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-180, 0)
    await stage.step(backfill_id)
    needed = ParameterSpec("region", {"type": "string"}, required=True)
    changed = msgspec.structs.replace(SAMPLE, parameters=(needed,))
    await register_dag(stage.connection, changed, "snapshot")
    line = await stage.finish(backfill_id)
    assert (line.state, line.made, line.halted_by) == ("paused", 1, "mainspring")
    assert "region" in (line.halt_note or "")
    await register_dag(stage.connection, SAMPLE, "snapshot")
    await resume_backfill(stage.connection, backfill_id)
    await stage.step(backfill_id)
    await fetch(stage.connection, "update mainspring.dag set gone_at = now()")
    line = await stage.finish(backfill_id)
    assert (line.state, line.made) == ("paused", 2)
    assert "is gone" in (line.halt_note or "")
    await register_dag(stage.connection, SAMPLE, "snapshot")
    await resume_backfill(stage.connection, backfill_id)
    assert (await stage.finish(backfill_id)).succeeded == 3


async def test_a_run_tells_its_backfill(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-60, 0)
    await stage.finish(backfill_id)
    [run_id] = await stage.fires()
    assert await backfill_of_run(stage.connection, run_id) == backfill_id
    assert await backfill_of_run(stage.connection, 4711) is None


async def test_what_ended_long_ago_is_forgotten_in_pieces(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    backfill_id = await stage.backfill(-300, 0, concurrency=5)
    await stage.finish(backfill_id)
    going = await stage.backfill(-600, -300)
    assert await forget_backfills(stage.connection, at(-1), 3) == 0
    await fetch(
        stage.connection,
        "update mainspring.backfill set ended_at = $1 where ended_at is not null",
        at(-86_400 * 40),
    )
    pieces = []
    while piece := await forget_backfills(stage.connection, at(-86_400 * 30), 3):
        pieces.append(piece)
    assert pieces == [3, 2, 1]
    with pytest.raises(NotFoundError):
        await stage.read(backfill_id)
    assert (await stage.read(going)).total == 5
    await fetch(stage.connection, "delete from mainspring.run")
    await fetch(stage.connection, "delete from mainspring.task")


# --- bad input ----------------------------------------------------------------------------


REFUSED: list[tuple[float, float, dict[str, object], str]] = [
    (0, -60, {}, "which is not after its beginning"),
    (-60, -60, {}, "which is not after its beginning"),
    (-60, 1, {}, "reaches into the future"),
    (-60, 0, {"concurrency": 0}, "`concurrency` must be a whole number from 1 to 1,000"),
    (-60, 0, {"concurrency": 1001}, "`concurrency` must be"),
    (-60, 0, {"priority": 10}, "`priority` must be a whole number from 0 to 9"),
    (-59, 0, {}, "nothing fires"),
    (-60, 0, {"parameters": {"no": 1}}, "no"),
    (-60, 0, {"spec": every(60), "schedule": "tick"}, "its own times and its own dag"),
    (-60, 0, {"spec": every(0)}, "shorter than 1 s"),
    (-60, 0, {"note": "x" * 1001}, "a note has at most"),
    (-10_000_000, 0, {"spec": every(1)}, "there are 10,000,000 instants"),
]


async def test_what_cannot_be_is_refused_and_nothing_is_made(stage: Stage) -> None:
    await stage.put(every(60), at(-1))
    for since, until, options, words in REFUSED:
        with pytest.raises(InputError, match=words):
            await stage.backfill(since, until, **options)
    assert not await fetch(stage.connection, "select 1 from mainspring.backfill")


async def test_too_many_instants_are_refused_with_a_way_out(stage: Stage) -> None:
    two = ScheduleSpec(when=(IntervalSpec(1), IntervalSpec(2, 1)))
    for spec in (every(1), two):
        with pytest.raises(InputError) as refused:
            await stage.backfill(-10_000_000, 0, spec=spec)
        assert "a backfill has at most 1,000,000" in refused.value.message
        assert "the first up to 2026-08-03T08:00:00Z" in refused.value.hint
    # That far it goes.
    until = (datetime(2026, 8, 3, 8, tzinfo=UTC) - NOON).total_seconds()
    backfill_id = await stage.backfill(-10_000_000, until, spec=every(1))
    assert (await stage.read(backfill_id)).total == 1_000_000


async def test_an_unknown_schedule_or_dag_is_said(stage: Stage) -> None:
    with pytest.raises(NotFoundError, match="there is no schedule `tick`"):
        await stage.backfill(-60, 0)
    order = BackfillOrder(since=at(-60), until=NOON, dag="other", spec=every(60))
    with pytest.raises(NotFoundError, match="other"):
        await preview_backfill(stage.connection, order, now=NOON)
    with pytest.raises(InputError, match="a backfill is of a schedule, or of a dag"):
        await preview_backfill(stage.connection, BackfillOrder(since=at(-60), until=NOON), now=NOON)
