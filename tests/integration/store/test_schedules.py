"""Schedules in the database: fires, skips, buffers, changes by hand, and two who decide at once.

Time is given: nothing here waits for a clock.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from mainspring.domain.errors import ConflictError, InputError, InvalidSchedule, NotFoundError
from mainspring.engine.fire_schedules import BEHIND_LIMIT, FireSchedules
from mainspring.engine.shards import Shards
from mainspring.schedule.calendars import CalendarSpec
from mainspring.schedule.specs import (
    CronSpec,
    IntervalSpec,
    Misfire,
    OnceSpec,
    Overlap,
    ScheduleSpec,
)
from mainspring.schedule.timetable import Timetable
from mainspring.store import settling
from mainspring.store.connection import Connection, Line, connect, fetch
from mainspring.store.dags import register_dag
from mainspring.store.pauses import pause_dag
from mainspring.store.runs import stop_runs
from mainspring.store.schedule_changes import (
    Intent,
    create_schedule,
    pause_schedule,
    put_calendar,
    put_schedule,
    remove_schedule,
    resume_schedule,
)
from mainspring.store.schedule_reading import list_hindered, list_schedules
from mainspring.store.schedules import (
    Move,
    Moved,
    StandingSchedule,
    due_schedules,
    followed_schedules,
    move_schedules,
    standing_schedules,
)
from mainspring.store.settling import FIRES_PER_MOVE, Settler
from mainspring.store.wakeups import Bell
from tests.support.factory import dag_of

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
ALL_SHARDS = list(range(1, 17))
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def every(seconds: int, **options: object) -> ScheduleSpec:
    return ScheduleSpec(when=(IntervalSpec(seconds),), **options)  # type: ignore[arg-type]


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def _ids(due: Sequence[StandingSchedule]) -> set[int]:
    return {id for each in due for id in each.alike_ids or [each.schedule_id]}


class Stage:
    """A dag, and a clock that is moved by hand."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.settler = Settler()

    async def tick(self, now: datetime) -> int:
        """Everything that is due at `now`; says how many moves it took."""
        moves = 0
        while due := await due_schedules(self.connection, now, ALL_SHARDS, BEGINNING, 100):
            moved = await self.settler.settle(self.connection, due, now)
            assert moved.schedules == _ids(due)
            moves += 1
        return moves

    async def follow(self, now: datetime) -> None:
        followed = await followed_schedules(self.connection)
        standing = await standing_schedules(self.connection, now, followed.schedules)
        await self.settler.settle(self.connection, standing, now)

    async def put(self, spec: ScheduleSpec, now: datetime = NOON, **options: object) -> int:
        intent = Intent("tick", "sample", spec, **options)  # type: ignore[arg-type]
        return (await put_schedule(self.connection, intent, by="tests", now=now)).schedule_id

    async def ledger(self) -> list[tuple[str, str | None, float, float, int]]:
        rows = await fetch(
            self.connection,
            "select outcome::text, reason::text, fire_at, until_at, count from mainspring.fire"
            " order by fire_at",
        )
        return [
            (
                row["outcome"],
                row["reason"],
                (row["fire_at"] - NOON).total_seconds(),
                (row["until_at"] - NOON).total_seconds(),
                row["count"],
            )
            for row in rows
        ]

    async def fired(self) -> list[float]:
        return [first for outcome, _, first, _, _ in await self.ledger() if outcome == "fired"]

    async def open_runs(self) -> list[int]:
        rows = await fetch(
            self.connection,
            "select r.id from mainspring.run r join mainspring.task t on t.id = r.id"
            " where t.finished_at is null order by r.id",
        )
        return [row["id"] for row in rows]

    async def end_runs(self, now: datetime) -> None:
        """They are cancelled, which is an end like any other."""
        await stop_runs(self.connection, await self.open_runs(), "cancel", now=now)


@pytest.fixture
async def stage(connection: Connection) -> Stage:
    await register_dag(connection, dag_of(), "snapshot")
    return Stage(connection)


async def test_each_instant_makes_one_run_that_knows_its_data_interval(stage: Stage) -> None:
    await stage.put(every(60))
    for second in range(0, 200, 7):
        await stage.tick(at(second))
    assert await stage.fired() == [60, 120, 180]
    rows = await fetch(
        stage.connection, "select fire_at, interval_start, trigger::text from mainspring.run"
    )
    assert {(row["interval_start"], row["fire_at"], row["trigger"]) for row in rows} == {
        (at(minute * 60 - 60), at(minute * 60), "schedule") for minute in (1, 2, 3)
    }


async def test_of_two_who_decide_upon_the_same_reading_one_finds_nothing_to_do(
    stage: Stage, database_url: str
) -> None:
    await stage.put(every(60))
    due = await due_schedules(stage.connection, at(61), ALL_SHARDS, BEGINNING, 100)
    other = await connect(database_url, name="other", stable_plans=True)
    assert (await Settler().settle(other, due, at(61))).schedules
    assert not (await stage.settler.settle(stage.connection, due, at(61))).schedules
    await other.close()
    assert await stage.fired() == [60]


async def test_what_is_caught_up_with_goes_into_statements_that_stay_small(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "_TASKS_PER_STATEMENT", 100)
    made: list[int] = []

    async def counted(
        connection: Connection, moves: Sequence[Move], *args: Any, **more: Any
    ) -> Moved:
        made.append(sum(len(run.ids) for move in moves for run in move.runs))
        return await move_schedules(connection, moves, *args, **more)

    monkeypatch.setattr(settling, "move_schedules", counted)
    await register_dag(stage.connection, dag_of(tasks=40), "snapshot")
    for name in ("one", "two", "three"):
        intent = Intent(name, "sample", every(60, misfire=Misfire.ALL))
        await put_schedule(stage.connection, intent, by="tests", now=NOON)
    await stage.tick(at(600))
    assert max(made) == 2
    assert sorted(await stage.fired()) == sorted([*range(60, 601, 60)] * 3)


# --- those that stand alike --------------------------------------------------------------------


async def _put_alike(stage: Stage) -> list[int]:
    """Three alike, and some that are alike but for what makes a schedule stand alone."""
    specs = {
        "one": every(60),
        "two": every(60),
        "three": every(60),
        "limited": every(60, limit=5),
        "limited_too": every(60, limit=5),
        "jittered": every(60, jitter_seconds=10),
        "jittered_too": every(60, jitter_seconds=10),
        "following": every(60, overlap=Overlap.SKIP),
    }
    made = [
        await put_schedule(stage.connection, Intent(name, "sample", spec), by="tests", now=NOON)
        for name, spec in specs.items()
    ]
    return [put.schedule_id for put in made[:3]]


async def test_schedules_that_stand_alike_are_told_once_and_each_of_them_fires(
    stage: Stage,
) -> None:
    alike = await _put_alike(stage)
    due = await due_schedules(stage.connection, at(60), ALL_SHARDS, BEGINNING, 100)
    assert sorted(each.many for each in due) == [1, 1, 1, 1, 1, 3]
    assert [sorted(each.alike_ids or []) for each in due if each.many == 3] == [alike]
    await stage.tick(at(60))
    rows = await fetch(stage.connection, "select run_id, schedule_id from mainspring.fire")
    assert len({row["run_id"] for row in rows}) == len({row["schedule_id"] for row in rows}) == 8


async def test_of_those_that_stand_alike_one_that_has_moved_is_passed_by(stage: Stage) -> None:
    alike = await _put_alike(stage)
    due = await due_schedules(stage.connection, at(60), ALL_SHARDS, BEGINNING, 100)
    await pause_schedule(stage.connection, "two", by="tests", now=at(60))
    moved = await stage.settler.settle(stage.connection, due, at(60))
    assert _ids(due) - moved.schedules == {alike[1]}
    assert sorted(await stage.fired()) == [60] * 8, "it was settled before its pause"


async def test_those_that_stand_alike_are_skipped_each_in_a_range_of_its_own(stage: Stage) -> None:
    await _put_alike(stage)
    await pause_dag(stage.connection, "sample")
    for seconds in (60, 120, 180):
        await stage.tick(at(seconds))
    rows = await fetch(
        stage.connection,
        "select count, reason::text, count(*) as rows from mainspring.fire group by 1, 2",
    )
    assert [tuple(row.values()) for row in rows] == [(3, "pause", 8)]


@pytest.mark.parametrize(
    ("options", "fired", "skipped"),
    [
        ({"misfire": Misfire.ALL}, range(60, 601, 60), 0),
        ({"misfire": Misfire.ALL, "max_count": 3}, [480, 540, 600], 7),
        ({"misfire": Misfire.ALL, "max_age_seconds": 200}, [420, 480, 540, 600], 6),
        ({"misfire": Misfire.LAST}, [600], 9),
        ({"misfire": Misfire.LAST, "grace_seconds": 5}, [600], 9),
        ({"misfire": Misfire.NONE}, [600], 9),
        ({"misfire": Misfire.NONE, "grace_seconds": 5}, [], 10),
        ({"misfire": Misfire.FROM_NOW}, [], 10),
        ({"grace_seconds": 3600, "misfire": Misfire.NONE}, range(60, 601, 60), 0),
    ],
)
async def test_after_downtime_the_misfire_policy_decides(
    stage: Stage, options: dict[str, object], fired: Sequence[float], skipped: int
) -> None:
    await stage.put(every(60, **options))
    await stage.tick(at(610))
    assert await stage.fired() == list(fired)
    ledger = await stage.ledger()
    assert sum(entry[4] for entry in ledger if entry[1] == "misfire") == skipped
    assert sum(entry[0] == "skipped" for entry in ledger) == (1 if skipped else 0)


async def test_a_thousand_missed_fires_come_in_order_in_batches(stage: Stage) -> None:
    await stage.put(every(60, misfire=Misfire.ALL))
    moves = await stage.tick(at(60_000))
    assert moves == 1000 // FIRES_PER_MOVE
    assert await stage.fired() == [60 * (number + 1) for number in range(1000)]
    ids = [
        row["id"]
        for row in await fetch(stage.connection, "select id from mainspring.run order by fire_at")
    ]
    assert ids == sorted(ids)


async def test_a_month_of_missed_seconds_is_one_row(stage: Stage) -> None:
    await stage.put(every(1, misfire=Misfire.NONE))
    await stage.tick(at(30 * 86_400))
    missed, *recent = await stage.ledger()
    count = 30 * 86_400 - 61
    assert missed == ("skipped", "misfire", 1.0, float(count), count)
    assert len(recent) == 61


async def test_with_overlap_skip_nothing_starts_beside_what_runs(stage: Stage) -> None:
    await stage.put(every(60, overlap=Overlap.SKIP))
    for minute in range(1, 5):
        await stage.tick(at(60 * minute))
    await stage.end_runs(at(270))
    await stage.follow(at(271))
    await stage.tick(at(300))
    assert await stage.ledger() == [
        ("fired", None, 60, 60, 1),
        ("skipped", "overlap", 120, 240, 3),
        ("fired", None, 300, 300, 1),
    ]


async def test_a_run_that_has_closed_makes_room_before_anybody_followed_it(stage: Stage) -> None:
    await stage.put(every(60, overlap=Overlap.SKIP))
    await stage.tick(at(60))
    await stage.end_runs(at(119))
    await stage.tick(at(120))
    assert await stage.fired() == [60, 120]


async def test_at_most_n_runs_are_open(stage: Stage) -> None:
    await stage.put(every(60, overlap=Overlap.BUFFER_ALL, overlap_max=2))
    for minute in range(1, 6):
        await stage.tick(at(60 * minute))
    assert len(await stage.open_runs()) == 2
    assert [entry[0] for entry in await stage.ledger()] == ["fired"] * 2 + ["buffered"] * 3
    await stage.end_runs(at(301))
    await stage.follow(at(302))
    assert await stage.fired() == [60, 120, 180, 240]
    await stage.end_runs(at(303))
    await stage.follow(at(304))
    assert await stage.fired() == [60, 120, 180, 240, 300]


async def test_a_buffer_of_one_keeps_the_first_that_waits(stage: Stage) -> None:
    await stage.put(every(60, overlap=Overlap.BUFFER_ONE))
    for minute in range(1, 5):
        await stage.tick(at(60 * minute))
    await stage.end_runs(at(250))
    await stage.follow(at(251))
    assert await stage.fired() == [60, 120]
    assert ("skipped", "overlap", 180, 240, 2) in await stage.ledger()


async def test_the_latest_replaces_what_runs_and_what_waits(stage: Stage) -> None:
    await stage.put(every(60, overlap=Overlap.CANCEL_OTHER))
    for minute in range(1, 5):
        await stage.tick(at(60 * minute))
    assert [entry[:3] for entry in await stage.ledger()] == [
        ("fired", None, 60),
        ("skipped", "overlap", 120),
        ("skipped", "overlap", 180),
        ("buffered", None, 240),
    ]
    await stage.end_runs(at(250))
    await stage.follow(at(251))
    assert await stage.fired() == [60, 240]


async def test_several_at_once_replace_each_other_too(stage: Stage) -> None:
    await stage.put(every(10, overlap=Overlap.CANCEL_OTHER))
    await stage.tick(at(10))
    await stage.tick(at(45))
    assert [entry[:3] for entry in await stage.ledger()] == [
        ("fired", None, 10),
        ("skipped", "overlap", 20),
        ("buffered", None, 40),
    ]


async def test_a_limit_ends_a_schedule(stage: Stage) -> None:
    schedule_id = await stage.put(every(60, limit=2))
    for minute in range(1, 5):
        await stage.tick(at(60 * minute))
    assert await stage.fired() == [60, 120]
    [standing] = await standing_schedules(stage.connection, at(600), [schedule_id])
    assert standing.next_fire_at is None


async def test_days_of_a_calendar_are_skipped_as_one_range(stage: Stage) -> None:
    await put_calendar(stage.connection, "closed", CalendarSpec(weekdays=("mon", "tue")))
    daily = ScheduleSpec(when=(CronSpec("0 6 * * *"),), exclude=("closed",))
    await stage.put(daily)
    for day in range(4):
        await stage.tick(at(86_400 * day + 18 * 3600 + 1))
    ledger = await stage.ledger()
    assert [(entry[0], entry[1], entry[4]) for entry in ledger] == [
        ("skipped", "exclusion", 2),
        ("fired", None, 1),
        ("fired", None, 1),
    ]


async def test_one_that_cannot_be_computed_is_paused_and_the_others_go_on(stage: Stage) -> None:
    await put_calendar(stage.connection, "closed", CalendarSpec(weekdays=("mon",)))
    await stage.put(every(60, exclude=("closed",)))
    intent = Intent("other", "sample", every(60))
    await create_schedule(stage.connection, intent, by="tests", now=NOON)
    await stage.connection.execute("delete from mainspring.calendar")
    await stage.tick(at(61))
    assert await stage.fired() == [60]
    note = await stage.connection.fetchval(
        "select pause_note from mainspring.schedule where paused_at is not null"
    )
    assert note.startswith("it cannot be computed: ")
    await put_calendar(stage.connection, "closed", CalendarSpec(weekdays=("mon",)))
    await resume_schedule(stage.connection, "tick", now=at(130))
    await stage.tick(at(181))
    assert ("skipped", "pause", 60, 120, 2) in await stage.ledger()


async def test_a_calendar_that_an_engine_cannot_read_stops_only_its_own_schedules(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_calendar(stage.connection, "closed", CalendarSpec(weekdays=("mon",)))
    await put_calendar(stage.connection, "public", CalendarSpec(country="DE"))
    await stage.put(every(60, exclude=("closed",)))
    intent = Intent("public", "sample", every(60, exclude=("public",)))
    await create_schedule(stage.connection, intent, by="tests", now=NOON)
    monkeypatch.setitem(sys.modules, "holidays", None)  # It is not installed there.
    await stage.tick(at(61))
    assert await stage.fired() == [60]
    [paused] = await stage.connection.fetch(
        "select name, pause_note from mainspring.schedule where paused_at is not null"
    )
    assert paused["name"] == "public"
    assert "needs the package `holidays`" in paused["pause_note"]


async def test_schedules_of_one_line_are_spread_by_their_own_names_in_any_case(
    stage: Stage,
) -> None:
    spec = ScheduleSpec(when=(CronSpec("h * * * *"),))
    for name in ("a", "b", "c"):
        intent = Intent(name, "sample", spec)
        await create_schedule(stage.connection, intent, by="tests", now=NOON)
    for minute in range(1, 121):
        await stage.tick(at(60 * minute))
    expected = sorted(
        (fire.at - NOON).total_seconds()
        for name in ("a", "b", "c")
        for fire in Timetable(spec, name).fires_between(NOON, at(7200))
    )
    assert await stage.fired() == expected


async def test_a_pause_is_one_range_and_what_was_due_before_it_fires(stage: Stage) -> None:
    await stage.put(every(60, grace_seconds=600))
    await pause_schedule(stage.connection, "tick", by="tests", note="why", now=at(125))
    await stage.tick(at(500))
    await resume_schedule(stage.connection, "tick", now=at(500))
    await stage.tick(at(545))
    assert await stage.ledger() == [
        ("fired", None, 60, 60, 1),
        ("fired", None, 120, 120, 1),
        ("skipped", "pause", 180, 480, 6),
        ("fired", None, 540, 540, 1),
    ]


async def test_a_change_settles_what_was_due_under_the_spec_before(stage: Stage) -> None:
    await stage.put(every(60, grace_seconds=600))
    await stage.put(every(90, grace_seconds=600), at(130))
    await stage.tick(at(280))
    assert await stage.fired() == [60, 120, 180, 270]
    versions = await fetch(
        stage.connection,
        "select number, in_force_until from mainspring.schedule_version order by 1",
    )
    assert [(row["number"], row["in_force_until"]) for row in versions] == [
        (1, at(130)),
        (2, None),
    ]


async def test_a_change_of_what_is_paused_leaves_it_paused(stage: Stage) -> None:
    await stage.put(every(60))
    await pause_schedule(stage.connection, "tick", by="tests", now=at(10))
    await stage.put(every(90), at(130))
    await stage.tick(at(300))
    assert await stage.ledger() == [("skipped", "pause", 60, 120, 2)]
    await resume_schedule(stage.connection, "tick", now=at(300))
    assert (await stage.ledger())[1:] == [("skipped", "pause", 180, 270, 2)]


async def test_a_stale_version_is_refused_and_changes_nothing(stage: Stage) -> None:
    await stage.put(every(60))
    await stage.put(every(90), at(1))
    with pytest.raises(ConflictError, match="is at version 2, not 1"):
        await put_schedule(
            stage.connection, Intent("tick", "sample", every(30)), version=1, by="tests", now=at(2)
        )
    await stage.tick(at(100))
    assert await stage.fired() == [90]


async def test_what_is_removed_fires_no_more_and_its_name_can_be_used_again(stage: Stage) -> None:
    await stage.put(every(60))
    await stage.tick(at(60))
    await remove_schedule(stage.connection, "tick", now=at(70))
    await stage.tick(at(200))
    assert await stage.fired() == [60]
    with pytest.raises(NotFoundError):
        await pause_schedule(stage.connection, "tick", by="tests", now=at(201))
    made = await create_schedule(
        stage.connection, Intent("tick", "sample", every(90)), by="tests", now=at(210)
    )
    assert made.version == 2
    await stage.tick(at(280))
    assert await stage.fired() == [60, 270]


async def test_what_is_made_anew_is_not_paused_because_one_of_that_name_was(stage: Stage) -> None:
    await stage.put(every(60))
    await pause_schedule(stage.connection, "tick", by="tests", now=at(10))
    await remove_schedule(stage.connection, "tick", now=at(20))
    made = await create_schedule(
        stage.connection, Intent("tick", "sample", every(60)), by="tests", now=at(30)
    )
    assert made.next_fire_at == at(60)
    await stage.tick(at(60))
    assert await stage.fired() == [60]


@pytest.mark.parametrize("paused", [False, True])
async def test_fires_that_wait_go_with_their_schedule(stage: Stage, paused: bool) -> None:
    await stage.put(every(60, overlap=Overlap.BUFFER_ALL))
    await stage.tick(at(60))
    await stage.tick(at(120))
    if paused:
        await pause_schedule(stage.connection, "tick", by="tests", now=at(130))
    await remove_schedule(stage.connection, "tick", now=at(140))
    await stage.end_runs(at(150))
    await stage.follow(at(151))
    assert await stage.ledger() == [
        ("fired", None, 60, 60, 1),
        ("skipped", "overlap", 120, 120, 1),
    ]


async def test_a_name_is_taken_once(stage: Stage) -> None:
    await stage.put(every(60))
    with pytest.raises(ConflictError, match="already"):
        await create_schedule(stage.connection, Intent("tick", "sample", every(1)), by="tests")


async def test_a_schedule_of_an_unknown_dag_is_refused(stage: Stage) -> None:
    with pytest.raises(NotFoundError, match="there is no dag `nothing`"):
        await create_schedule(stage.connection, Intent("x", "nothing", every(60)), by="tests")
    with pytest.raises(InputError, match="parameter"):
        await create_schedule(
            stage.connection, Intent("x", "sample", every(60), {"a": 1}), by="tests"
        )
    assert await stage.connection.fetchval("select count(*) from mainspring.schedule") == 0


async def test_it_pauses_after_failures_one_after_the_other(stage: Stage) -> None:
    schedule_id = await stage.put(every(60, pause_after_failures=2))
    for minute in (1, 2):
        await stage.tick(at(60 * minute))
        await stop_runs(
            stage.connection, await stage.open_runs(), "deadline", now=at(60 * minute + 1)
        )
        await stage.follow(at(60 * minute + 2))
    await stage.tick(at(200))
    assert await stage.fired() == [60, 120]
    [standing] = await standing_schedules(stage.connection, at(200), [schedule_id])
    assert standing.paused
    assert standing.next_fire_at is None
    note = await stage.connection.fetchval("select pause_note from mainspring.schedule")
    assert note == "its runs failed 2 times, one after the other"


async def test_fires_of_a_paused_dag_are_skipped(stage: Stage) -> None:
    await stage.put(every(60))
    await stage.connection.execute("update mainspring.dag set paused_at = now(), shifted_by = '1'")
    for minute in range(1, 4):
        await stage.tick(at(60 * minute))
    await stage.connection.execute("update mainspring.dag set paused_at = null, shifted_by = null")
    await stage.tick(at(240))
    assert await stage.ledger() == [
        ("skipped", "pause", 60, 180, 3),
        ("fired", None, 240, 240, 1),
    ]


async def test_a_run_that_closes_is_noticed_however_many_others_are_open(stage: Stage) -> None:
    for name in ("a", "b", "c"):
        intent = Intent(name, "sample", every(60, overlap=Overlap.BUFFER_ALL))
        await create_schedule(stage.connection, intent, by="tests", now=NOON)
    await stage.tick(at(60))
    *_, last = await stage.open_runs()
    await stop_runs(stage.connection, [last], "cancel", now=at(61))
    [closed] = await fetch(
        stage.connection, "select schedule_id from mainspring.run where id = $1", last
    )
    seen, above = [], (0, 0)
    while True:
        followed = await followed_schedules(stage.connection, above, 1)
        seen += followed.schedules
        if followed.last is None:
            break
        above = followed.last
    assert seen == [closed["schedule_id"]]


async def test_who_has_much_to_catch_up_does_not_delay_the_others(
    stage: Stage, database_url: str
) -> None:
    for number in range(BEHIND_LIMIT + 5):
        intent = Intent(f"behind-{number}", "sample", every(1, misfire=Misfire.ALL))
        await create_schedule(stage.connection, intent, by="tests", now=NOON)
    line = Line(database_url, name="engine")
    shards = Shards(line, uuid4(), "engine")
    await shards.step()
    engine = FireSchedules(line, shards, Bell(line))
    now = at(1200)
    await stage.put(every(60), at(1190))
    await engine.step(stage.connection, now)
    rows = await fetch(
        stage.connection,
        "select s.name, count(*) from mainspring.fire f"
        " join mainspring.schedule s on s.id = f.schedule_id group by 1",
    )
    counts = {row["name"]: row["count"] for row in rows}
    assert counts.pop("tick") == 1
    assert set(counts.values()) == {FIRES_PER_MOVE}
    assert len(counts) == BEHIND_LIMIT
    while await engine.step(stage.connection, now):
        pass
    assert len(await stage.fired()) == 1200 * (BEHIND_LIMIT + 5) + 1
    await line.close()


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_happens_every_instant_is_accounted_for_once(
    stage: Stage, seed: int
) -> None:
    """Ticks, downtime, changes, pauses and ends of runs at random; then a walk by seconds."""
    chance = random.Random(seed)
    now, second = at(0), 0
    schedule_id = await stage.put(_any_spec(chance), now)
    in_force: list[tuple[int, int, int]] = []
    step, began = await _step_of(stage), 0
    for _ in range(60):
        second += chance.choice((1, 3, 7, 20, 61, 400))
        now = at(second + chance.random() * 0.9)
        match chance.choice(("tick", "tick", "tick", "end", "put", "pause", "resume")):
            case "tick":
                await stage.tick(now)
            case "end":
                await stage.end_runs(now)
                await stage.follow(now)
            case "put":
                await stage.put(_any_spec(chance), now)
                in_force.append((step, began, second))
                step, began = await _step_of(stage), second
            case "pause":
                await pause_schedule(stage.connection, "tick", by="tests", now=now)
            case "resume":
                await resume_schedule(stage.connection, "tick", now=now)
    second += 1
    await resume_schedule(stage.connection, "tick", now=at(second))
    await stage.tick(at(second))
    in_force.append((step, began, second))
    [standing] = await standing_schedules(stage.connection, at(second), [schedule_id])
    assert standing.next_fire_at is not None
    assert standing.next_fire_at > at(second)
    nominal = [
        instant
        for step, began, until in in_force
        for instant in range(began + 1, until + 1)
        if (int(NOON.timestamp()) + instant) % step == 0
    ]
    told: list[float] = []
    ledger = await stage.ledger()
    for _, _, first, last, count in ledger:
        covered = [instant for instant in nominal if first <= instant <= last]
        assert len(covered) == count
        told.extend(covered)
    assert told == nominal


def _any_spec(chance: random.Random) -> ScheduleSpec:
    return every(
        chance.choice((5, 30, 60)),
        misfire=chance.choice(list(Misfire)),
        overlap=chance.choice(list(Overlap)),
        grace_seconds=chance.choice((0, 10, 60)),
    )


async def _step_of(stage: Stage) -> int:
    [standing] = await standing_schedules(stage.connection, NOON, [1])
    spec, _ = await stage.settler.timetable(stage.connection, standing)
    when = spec.when[0]
    assert isinstance(when, IntervalSpec)
    return when.seconds


async def test_what_names_a_missing_calendar_is_told_and_can_be_mended(stage: Stage) -> None:
    await put_calendar(stage.connection, "closed", CalendarSpec(weekdays=("monday",)))
    await stage.put(every(60, exclude=("closed",)))
    # Not `remove_calendar`, which would refuse: as two who act at once may leave it.
    await stage.connection.execute("delete from mainspring.calendar")
    await stage.tick(at(60))
    [hindered] = await list_hindered(stage.connection)
    assert (hindered.name, hindered.paused_by, hindered.calendars) == (
        "tick",
        "mainspring",
        ["closed"],
    )
    with pytest.raises(InvalidSchedule, match="is not a calendar"):
        await resume_schedule(stage.connection, "tick", now=at(90))
    await stage.put(every(60), at(100))
    changed = await resume_schedule(stage.connection, "tick", now=at(110))
    assert changed.next_fire_at == at(120)
    assert not await list_hindered(stage.connection)


async def test_a_calendar_that_cannot_be_made_here_stops_no_other_schedule(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_calendar(stage.connection, "feasts", CalendarSpec(country="DE"))
    await put_calendar(stage.connection, "closed", CalendarSpec(weekdays=("monday",)))
    for name in ("feasts", "closed"):
        intent = Intent(name, "sample", every(60, exclude=(name,)))
        await put_schedule(stage.connection, intent, by="tests", now=NOON)
    # As where the extra `holidays` is not installed.
    monkeypatch.setitem(sys.modules, "holidays", None)
    await stage.tick(at(60))
    lines = {line.name: line for line in await list_schedules(stage.connection)}
    assert lines["feasts"].paused_by == "mainspring"
    assert lines["closed"].last_fire_at == at(60)


async def test_what_is_made_anew_after_it_was_removed_is_not_paused(stage: Stage) -> None:
    await stage.put(every(60))
    await pause_schedule(stage.connection, "tick", by="tests", now=at(1))
    await remove_schedule(stage.connection, "tick", now=at(2))
    intent = Intent("tick", "sample", every(60))
    made = await create_schedule(stage.connection, intent, by="tests", now=at(3))
    assert made.next_fire_at == at(60)
    [line] = await list_schedules(stage.connection)
    assert (line.state, line.version, line.next_fire_at) == ("active", 2, at(60))


async def test_now_is_the_second_after_the_change(stage: Stage) -> None:
    seen = at(-30)
    spec = ScheduleSpec(when=(OnceSpec(seen), IntervalSpec(3600, 600)))
    intent = Intent("tick", "sample", spec, at_once=seen)
    made = await create_schedule(stage.connection, intent, by="tests", now=at(0.5))
    assert made.next_fire_at == at(1)
    await stage.tick(at(1))
    [line] = await list_schedules(stage.connection)
    assert (line.last_fire_at, line.next_fire_at) == (at(1), at(600))


@pytest.mark.parametrize("name", ["", "a b", "a\0b", "n" * 201, "..", "käse", "a\udc80"])
async def test_names_that_cannot_be_are_refused_and_change_nothing(stage: Stage, name: str) -> None:
    intent = Intent(name, "sample", every(60))
    for change in (create_schedule, put_schedule):
        with pytest.raises(InputError, match="the schedule's name"):
            await change(stage.connection, intent, by="tests")
    with pytest.raises(NotFoundError):
        await pause_schedule(stage.connection, name, by="tests")
    with pytest.raises(NotFoundError):
        await remove_schedule(stage.connection, name)
    assert not await list_schedules(stage.connection)


async def test_a_stale_version_is_told_what_is_in_force(stage: Stage) -> None:
    await stage.put(every(60))
    await stage.put(every(90))
    with pytest.raises(ConflictError, match="is at version 2, not 1: every 1 min 30 s") as refused:
        await put_schedule(
            stage.connection, Intent("tick", "sample", every(30)), version=1, by="tests"
        )
    assert "schedule show tick" in refused.value.hint
