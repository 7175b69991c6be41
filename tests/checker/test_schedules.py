"""S1, S2, S3: a fire that is doubled, lost, invented or early is caught."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.schedule.specs import CronSpec, IntervalSpec, ScheduleSpec
from mainspring.schedule.timetable import Timetable
from tests.checker.case import Case
from tests.checker.conftest import Surgery, assert_found
from tests.checker.evidence import Asked
from tests.checker.instants import instants, rule_of
from tests.checker.promises import PROMISES
from tests.checker.promises.schedules import latest

LINES = ("* * * * * *", "*/2 * * * * *", "*/7 1-40/3 * * * *", "30 5,6 * * *", "0 0 1 * 1-5")


@pytest.mark.parametrize("promise", ["S1", "S2", "S3"])
def test_the_piece_puts_schedules_to_the_test(case: Case, promise: str) -> None:
    finding = PROMISES[promise](case)
    assert finding.exercised >= 2
    assert not finding.violations
    assert latest(case).keys() == {"calm"}


async def test_two_runs_of_one_fire_are_caught(surgery: Surgery) -> None:
    await surgery.sql(
        "update mainspring.run set fire_at = (select min(fire_at) from mainspring.run),"
        " schedule_id = (select min(schedule_id) from mainspring.run)"
        " where trigger = 'schedule'"
    )
    await surgery.finds("S1", "runs of schedule `tick` are of its fire")


async def test_a_fire_that_nobody_tells_of_is_caught(surgery: Surgery) -> None:
    await surgery.sql("delete from mainspring.fire where outcome = 'fired'")
    await surgery.finds("S2", "under version 1 is accounted for 0 times")
    await surgery.finds("S2", "was fired by a schedule and is not in its ledger")


async def test_a_fire_without_its_run_is_caught(surgery: Surgery) -> None:
    await surgery.sql("update mainspring.fire set run_id = 1 where outcome = 'fired'")
    await surgery.finds("S2", "has no run")


async def test_a_skip_without_a_reason_is_caught(surgery: Surgery) -> None:
    await surgery.sql(
        "update mainspring.fire set outcome = 'skipped', reason = 'overlap', run_id = null"
    )
    await surgery.finds("S2", "was skipped for an overlap that its spec allows")
    await surgery.sql("update mainspring.fire set reason = 'misfire'")
    await surgery.finds("S2", "within its grace")
    await surgery.sql("update mainspring.fire set reason = 'limit'")
    await surgery.finds("S2", "its spec has no reason")


async def test_a_fire_that_no_spec_names_is_caught(surgery: Surgery) -> None:
    await surgery.sql(
        "update mainspring.fire set fire_at = fire_at + interval '0.5 s',"
        " until_at = until_at + interval '0.5 s' where outcome = 'fired'"
    )
    await surgery.finds("S3", "has others")


async def test_a_range_that_counts_wrong_is_caught(surgery: Surgery) -> None:
    await surgery.sql("update mainspring.fire set count = count + 1 where outcome = 'skipped'")
    await surgery.finds("S3", "has others")


async def test_a_cursor_that_goes_back_is_caught(surgery: Surgery) -> None:
    await surgery.sql("update mainspring.schedule_state set cursor_at = '2020-01-01T00:00:00Z'")
    await surgery.finds("S3", "went back from")


async def test_a_run_before_its_fire_is_caught(surgery: Surgery) -> None:
    await surgery.sql(
        "insert into mainspring.run (id, created_at, due_at, dag_id, version_id, snapshot_id,"
        " tenant_id, trigger, schedule_id, fire_at) select 7, r.created_at, r.due_at, r.dag_id,"
        " r.version_id, r.snapshot_id, r.tenant_id, 'schedule', 1, now() + interval '1 h'"
        " from mainspring.run r limit 1"
    )
    await surgery.finds("S3", "run 7 of the fire", "was made before it")


def test_a_version_that_nobody_asked_for_is_caught(case: Case) -> None:
    case.client[:] = [
        record
        for record in case.client
        if not (isinstance(record, Asked) and record.what == "put_schedule")
    ]
    assert_found(case, "S2", "version 2 of schedule `tick` was asked for by nobody")


def test_a_change_that_was_promised_and_not_made_is_caught(case: Case) -> None:
    for place, record in enumerate(case.client):
        if isinstance(record, Asked) and record.what == "put_schedule":
            other = record.spec.replace('"seconds":', '"seconds":9')
            case.client[place] = msgspec.structs.replace(record, spec=other)
    assert_found(case, "S2", "was said to be changed", "and was not")


def test_a_fire_during_a_pause_is_caught(case: Case) -> None:
    """The pause is told to have come before everything else."""
    first = min(
        case.monotonic(run.fire_at.timestamp())
        for run in case.runs_ever.values()
        if run.fire_at is not None
    )
    resumes = [record for record in case.client if getattr(record, "what", "") == "resume_schedule"]
    assert resumes
    case.client[:] = [
        msgspec.structs.replace(record, at=first - 5)
        if getattr(record, "schedule", "") == "tick" and record not in resumes
        else record
        for record in case.client
        if record not in resumes
    ]
    numbers = {
        record.number
        for record in case.client
        if isinstance(record, Asked) and record.what == "pause_schedule"
    }
    case.client[:] = [
        msgspec.structs.replace(record, at=first - 4) if record.number in numbers else record
        for record in case.client
        if not (isinstance(record, Asked) and record.what == "remove_schedule")
        and not (isinstance(record, Asked) and record.what == "put_schedule")
    ]
    assert_found(case, "S2", "which was paused")


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2050, 1, 1), timezones=st.just(UTC)),
    st.sampled_from(LINES) | st.tuples(st.integers(1, 500), st.integers(0, 499)),
)
def test_the_checker_and_the_product_know_the_same_instants(
    after: datetime, when: str | tuple[int, int]
) -> None:
    until = after + timedelta(minutes=20)
    if isinstance(when, str):
        spec = ScheduleSpec(when=(CronSpec(when),))
    else:
        spec = ScheduleSpec(when=(IntervalSpec(when[0], when[1] % when[0]),))
    by_hand = instants(rule_of(msgspec.json.encode(spec).decode()), after, until)
    fires = []
    fire = Timetable(spec, "x", {}).next_fire(after)
    while fire is not None and fire.at <= until:
        fires.append(fire.at)
        fire = Timetable(spec, "x", {}).next_fire(fire.at)
    assert fires == by_hand
