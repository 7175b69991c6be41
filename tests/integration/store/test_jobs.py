"""Jobs in the database: made once, run as they say, changed by those who have seen them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from mainspring.domain.errors import ConflictError, InputError, NotFoundError
from mainspring.domain.jobs import HttpCall, JobKind, JobStatus
from mainspring.domain.lanes import Lane, SlotKind
from mainspring.domain.specs import ParameterSpec
from mainspring.domain.states import RunState
from mainspring.schedule.specs import IntervalSpec, OnceSpec, ScheduleSpec
from mainspring.store.backfill_orders import BackfillOrder, create_backfill, reserve_backfill
from mainspring.store.backfilling import Stepper
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import ensure_queues, register_dag
from mainspring.store.history import archive_runs
from mainspring.store.job_orders import JobOrder
from mainspring.store.job_reading import jobs_of_runs, list_job_runs, list_jobs
from mainspring.store.jobs import (
    VersionGone,
    cancel_job,
    create_jobs,
    find_job,
    forget_jobs,
    pause_job,
    reschedule_job,
    resume_job,
    trigger_job,
)
from mainspring.store.runs import NewRun, create_runs, reopen_run, stop_runs
from mainspring.store.schedule_changes import Intent, create_schedule, put_schedule
from mainspring.store.schedules import due_schedules
from mainspring.store.settling import Settler
from tests.integration.store.lockstep import until_waiting
from tests.support.factory import dag_of, failure
from tests.support.job_stage import COMMAND_LANE, JobStage, command

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
FAR = datetime(2999, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def every(seconds: int) -> ScheduleSpec:
    return ScheduleSpec(when=(IntervalSpec(seconds),))


def once(instant: datetime) -> ScheduleSpec:
    return ScheduleSpec(when=(OnceSpec(instant),))


@pytest.fixture
def stage(connection: Connection) -> JobStage:
    return JobStage(connection)


async def fire(connection: Connection, now: datetime) -> None:
    settler = Settler()
    while True:
        due = await due_schedules(connection, now, range(1, 17), at(-86_400), 100)
        if not due:
            return
        await settler.settle(connection, due, now)


async def count(connection: Connection, table: str) -> int:
    found: int = (await fetch(connection, f"select count(*) as n from mainspring.{table}"))[0]["n"]
    return found


# --- made ------------------------------------------------------------------------------------


async def test_an_immediate_job_has_one_run_under_its_own_number(stage: JobStage) -> None:
    job_id = await stage.make(command("hello", "echo", "hi"))
    line = await stage.read(job_id)
    assert (line.name, line.kind, line.status) == ("hello", JobKind.COMMAND, JobStatus.PENDING)
    assert [run.id for run in await list_job_runs(stage.connection, job_id, limit=9)] == [job_id]
    worker = await stage.worker()
    [claimed] = await worker.claim(lane=COMMAND_LANE)
    assert (await stage.read(job_id)).status is JobStatus.RUNNING
    assert claimed.parameters is not None
    assert msgspec.json.decode(claimed.parameters) == {
        "arguments": ["echo", "hi"],
        "env": {},
        "cwd": None,
    }
    await worker.end(claimed)
    line = await stage.read(job_id)
    assert line.status is JobStatus.SUCCEEDED
    assert line.last_run is not None
    assert (line.last_run.id, line.progress_percent) == (job_id, 100.0)


async def test_jobs_make_neither_dags_nor_versions(stage: JobStage) -> None:
    await stage.make(command("first"))
    before = await count(stage.connection, "dag"), await count(stage.connection, "version")
    await stage.create(*[command(f"job-{n}", retries=n, timeout_seconds=n + 1.0) for n in range(9)])
    after = await count(stage.connection, "dag"), await count(stage.connection, "version")
    assert after == before


async def test_a_job_without_a_name_is_called_after_its_kind_and_number(stage: JobStage) -> None:
    job_id = await stage.make(command())
    assert (await stage.read(job_id)).name == f"command-{job_id}"


async def test_a_name_is_taken_once_and_a_set_with_a_taken_one_makes_nothing(
    stage: JobStage,
) -> None:
    await stage.make(command("taken"))
    with pytest.raises(ConflictError, match="job `taken` already"):
        await stage.make(command("taken"))
    with pytest.raises(ConflictError, match="job `taken` already"):
        await stage.create(command("new"), command("taken"))
    with pytest.raises(ConflictError, match="two of the jobs"):
        await stage.create(command("new"), command("new"))
    assert await count(stage.connection, "job") == await count(stage.connection, "run") == 1


async def test_a_job_that_is_sent_twice_is_made_once(stage: JobStage) -> None:
    [new] = await stage.new(command("once"))
    first = await create_jobs(stage.connection, [new])
    second = await create_jobs(stage.connection, [new])
    assert first.ids == second.ids
    assert (first.made, second.made) == ({new.id}, set())
    assert await count(stage.connection, "run") == 1


async def test_a_key_stands_for_one_job_and_for_what_was_asked_with_it(stage: JobStage) -> None:
    job_id = await stage.make(command("keyed", key="k"))
    assert await stage.make(command("keyed", key="k", created_by="another")) == job_id
    with pytest.raises(ConflictError, match="key `k` was used for another job, `keyed`"):
        await stage.make(command("keyed", "false", key="k"))
    assert await count(stage.connection, "run") == 1


async def test_of_two_who_make_the_same_job_at_once_one_does(
    stage: JobStage, other: Connection, observer: Connection
) -> None:
    [mine] = await stage.new(command("same", key="k"))
    [theirs] = await JobStage(other).new(command("same", key="k"))
    async with stage.connection.transaction():
        await create_jobs(stage.connection, [mine])
        waiting = asyncio.create_task(create_jobs(other, [theirs]))
        await until_waiting(observer, other)
    assert (await waiting).ids == [mine.id]
    assert await count(stage.connection, "run") == 1


async def test_a_job_of_a_version_that_is_not_there_is_not_made(stage: JobStage) -> None:
    [new] = await stage.new(command("lost"))
    draft = msgspec.structs.replace(new.draft, version_id=999_999)
    with pytest.raises(VersionGone, match="no longer knows the dag"):
        await create_jobs(stage.connection, [msgspec.structs.replace(new, draft=draft)])
    assert await count(stage.connection, "job") == await count(stage.connection, "run") == 0


async def test_a_task_is_given_its_parameters_with_the_defaults_of_its_dag(
    stage: JobStage,
) -> None:
    spec = msgspec.structs.replace(
        dag_of(tasks=2, edges=[(0, 1)], name="pair"),
        parameters=(
            ParameterSpec("region", {"type": "string"}),
            ParameterSpec("days", {"type": "integer"}, required=False, default=7),
        ),
    )
    await register_dag(stage.connection, spec, "snapshot")
    job_id = await stage.make(JobOrder(name="report", task="pair", parameters={"region": "eu"}))
    [row] = await fetch(
        stage.connection, "select parameters from mainspring.run where id = $1", job_id
    )
    assert msgspec.json.decode(row["parameters"]) == {"region": "eu", "days": 7}
    with pytest.raises(InputError, match="region"):
        await stage.make(JobOrder(name="bad", task="pair", parameters={"region": 1}))
    with pytest.raises(NotFoundError, match="there is no dag `pears`"):
        await stage.make(JobOrder(name="bad", task="pears"))
    assert await count(stage.connection, "job") == 1


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (JobOrder(name="x"), "none is given"),
        (command("x", task="y"), "`command` and `task` are given"),
        (command("a b"), "the job's name `a b`"),
        (command("x" * 191), "longer than 190"),
        (command("x", retries=-1), "`retries`"),
        (command("x", retries=True), "`retries`"),
        (command("x", priority=10), "`priority`"),
        (command("x", timeout_seconds=0.0), "`timeout`"),
        (command("x", timeout_seconds=float("nan")), "`timeout`"),
        (command("x", queue="a b"), "`queue`"),
        (command("x", key=""), "idempotency key"),
        (command("x", ""), "the program has no name"),
        (command("x", "a\x00"), "NUL"),
        (command("x", parameters={"A=B": 1}), "name of a variable"),
        (command("x", parameters={"A": [1]}), "expected text or a number"),
        (JobOrder(name="x", http=HttpCall("ftp://there")), "does not begin with"),
        (JobOrder(name="x", http=HttpCall("http://h/{a}")), "`a` is in the address"),
        (JobOrder(name="x", http=HttpCall("http://h"), parameters={"a": 1}), "not in the address"),
        (JobOrder(name="x", http=HttpCall("http://h", method="a b")), "no method"),
        (JobOrder(name="x", http=HttpCall("http://h", headers={"a b": "c"})), "name of a header"),
        (JobOrder(name="x", http=HttpCall("http://h", expect=[99])), "no status of HTTP"),
        (JobOrder(name="x", http=HttpCall("http://h", expect=[])), "names no status"),
        (JobOrder(name="x", http=HttpCall("http://h", body="a", json=1)), "both say"),
        (command("x", schedule=once(at(-1))), "no fire to come"),
    ],
)
async def test_what_cannot_be_is_refused_and_nothing_is_made(
    stage: JobStage, order: JobOrder, said: str
) -> None:
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        await stage.create(order)
    with pytest.raises(InputError, match=said):
        await stage.create(command("good"), order)
    assert await count(stage.connection, "job") == await count(stage.connection, "schedule") == 0


# --- options ---------------------------------------------------------------------------------


async def test_options_of_a_job_go_before_what_its_tasks_say(stage: JobStage) -> None:
    order = command("slow", retries=2, timeout_seconds=1.5, priority=8, queue="slow")
    job_id = await stage.make(order)
    queue_id = (await ensure_queues(stage.connection, ["slow"]))["slow"]
    worker = await stage.worker()
    assert await worker.claim(lane=COMMAND_LANE) == []
    [claimed] = await worker.claim(lane=Lane(queue_id, SlotKind.COMMAND).number)
    assert (claimed.priority, claimed.attempts_max, claimed.timeout_seconds) == (8, 3, 1.5)
    line = await stage.read(job_id)
    assert (line.retries, line.timeout_seconds, line.priority, line.queue) == (2, 1.5, 8, "slow")


async def test_options_stay_with_a_run_that_goes_to_history_and_is_opened_again(
    stage: JobStage,
) -> None:
    job_id = await stage.make(command("again", retries=4))
    worker = await stage.worker()
    await stage.work(worker, failure(retry=False))
    async with stage.connection.transaction():
        assert (await archive_runs(stage.connection, 0, 100, FAR)).moved == 1
    assert (await stage.read(job_id)).status is JobStatus.FAILED
    await reopen_run(stage.connection, job_id, {0: 1})
    assert (await stage.read(job_id)).status is JobStatus.RUNNING
    [claimed] = await worker.claim(lane=COMMAND_LANE)
    assert claimed.attempts_max == 5


async def test_a_rerun_on_the_latest_version_is_a_run_of_the_same_job(stage: JobStage) -> None:
    job_id = await stage.make(command("again", retries=4))
    worker = await stage.worker()
    await stage.work(worker)
    [draft] = await stage.new(command("unused"))
    run = NewRun(
        draft.id,
        draft.draft.version_id,
        draft.draft.snapshot_id,
        "rerun",
        draft.draft.parameters,
        rerun_of=job_id,
    )
    await create_runs(stage.connection, [run])
    [claimed] = await worker.claim(lane=COMMAND_LANE)
    assert claimed.attempts_max == 5
    runs = await list_job_runs(stage.connection, job_id, limit=9)
    assert [run.id for run in runs] == [draft.id, job_id]


async def test_a_run_of_no_job_has_no_options(stage: JobStage) -> None:
    dag = await register_dag(stage.connection, dag_of(), "snapshot")
    run_id = await stage.ids.take(stage.connection, 1)
    await create_runs(stage.connection, [NewRun(run_id, dag.version_id, dag.snapshot_id)])
    worker = await stage.worker()
    [claimed] = await worker.claim()
    assert (claimed.attempts_max, claimed.timeout_seconds) == (None, None)


# --- scheduled -------------------------------------------------------------------------------


async def test_a_scheduled_job_runs_when_it_is_due_with_its_options(stage: JobStage) -> None:
    connection = stage.connection
    job_id = await stage.make(command("tick", schedule=every(60), retries=1, priority=2), NOON)
    line = await stage.read(job_id)
    assert (line.status, line.next_run_at) == (JobStatus.PENDING, at(60))
    assert await list_job_runs(connection, job_id, limit=9) == []
    await fire(connection, at(60))
    worker = await stage.worker()
    [claimed] = await worker.claim(lane=COMMAND_LANE)
    assert (claimed.priority, claimed.attempts_max) == (2, 2)
    await worker.end(claimed)
    line = await stage.read(job_id)
    assert (line.status, line.next_run_at) == (JobStatus.SUCCEEDED, at(120))
    [run] = await list_job_runs(connection, job_id, limit=9)
    assert (run.trigger, run.fire_at, run.schedule) == ("schedule", at(60), "job.tick")


async def test_jobs_whose_schedules_stand_alike_have_runs_and_options_of_their_own(
    stage: JobStage,
) -> None:
    connection = stage.connection
    orders = [command(f"tick-{n}", schedule=every(60), retries=n) for n in range(3)]
    ids = [await stage.make(order, NOON) for order in orders]
    await fire(connection, at(60))
    claimed = await (await stage.worker()).claim(lane=COMMAND_LANE)
    attempts = {each.run_id: each.attempts_max for each in claimed}
    for number, job_id in enumerate(ids):
        [run] = await list_job_runs(connection, job_id, limit=9)
        assert (attempts[run.id], run.schedule) == (number + 1, f"job.tick-{number}")


async def test_a_job_for_an_instant_runs_once(stage: JobStage) -> None:
    job_id = await stage.make(command("later", schedule=once(at(60))), NOON)
    await fire(stage.connection, at(59))
    assert (await stage.read(job_id)).status is JobStatus.PENDING
    await fire(stage.connection, at(3600))
    await stage.work(await stage.worker())
    line = await stage.read(job_id)
    assert (line.status, line.next_run_at) == (JobStatus.SUCCEEDED, None)


async def test_a_backfill_of_a_jobs_schedule_makes_runs_of_the_job(stage: JobStage) -> None:
    connection = stage.connection
    job_id = await stage.make(command("tick", schedule=every(60), retries=3, priority=8), NOON)
    order = BackfillOrder(since=at(-120), until=at(0), schedule="job.tick", concurrency=9)
    number = await reserve_backfill(connection)
    await create_backfill(connection, number, order, now=at(1))
    await Stepper().step(connection, number, at(1))
    worker = await stage.worker()
    claimed = await worker.claim(lane=COMMAND_LANE)
    assert [(each.attempts_max, each.priority) for each in claimed] == [(4, 0)] * 2
    assert len(await list_job_runs(connection, job_id, limit=9)) == 2


async def test_the_schedule_of_a_job_is_changed_by_way_of_the_job(stage: JobStage) -> None:
    connection = stage.connection
    job_id = await stage.make(command("tick", schedule=every(60)), NOON)
    intent = Intent("job.tick", "mainspring.command", every(1))
    with pytest.raises(ConflictError, match="is that of a job"):
        await put_schedule(connection, intent, by="me", now=at(1))
    await reschedule_job(connection, job_id, None, by="me", now=at(2))
    # The name is free now, and what is made under it is nobody's.
    dag = dag_of(name="mine")
    await register_dag(connection, dag, "snapshot")
    await create_schedule(connection, Intent("job.tick", "mine", every(1)), by="me", now=at(3))
    await fire(connection, at(4))
    assert await list_job_runs(connection, job_id, limit=9) == []
    with pytest.raises(ConflictError, match=r"schedule `job\.tick` already"):
        await reschedule_job(connection, job_id, every(60), by="me", now=at(5))


# --- triggered -------------------------------------------------------------------------------


async def test_a_trigger_makes_another_run_of_the_job(stage: JobStage) -> None:
    job_id = await stage.make(command("again", "echo", "hi", retries=1))
    run = await stage.trigger(job_id)
    assert run.made
    worker = await stage.worker()
    first, second = await worker.claim(lane=COMMAND_LANE)
    assert first.parameters == second.parameters
    assert first.attempts_max == second.attempts_max == 2
    assert len(await list_job_runs(stage.connection, job_id, limit=9)) == 2


async def test_a_trigger_that_is_sent_twice_or_has_a_known_key_makes_one_run(
    stage: JobStage,
) -> None:
    job_id = await stage.make(command("again"))
    second_job = await stage.make(command("another"))
    new = await stage.new_run(job_id)
    assert (await trigger_job(stage.connection, new)).made
    assert not (await trigger_job(stage.connection, new)).made
    keyed = await stage.trigger(job_id, "k")
    known = await stage.trigger(job_id, "k")
    assert (keyed.made, known.made, known.run_id) == (True, False, keyed.run_id)
    with pytest.raises(ConflictError, match="key `k` was used"):
        await stage.trigger(second_job, "k")
    assert len(await list_job_runs(stage.connection, job_id, limit=9)) == 3


async def test_the_last_run_is_the_one_that_was_made_last_whatever_its_number(
    stage: JobStage,
) -> None:
    early = await stage.ids.take(stage.connection, 1)
    job_id = await stage.make(command("again"), NOON)
    new = await stage.new_run(job_id)
    await trigger_job(stage.connection, msgspec.structs.replace(new, id=early), now=at(60))
    line = await stage.read(job_id)
    assert early < job_id
    assert line.last_run is not None
    assert line.last_run.id == early
    runs = await list_job_runs(stage.connection, job_id, limit=9)
    assert [run.id for run in runs] == [early, job_id]


# --- changed ---------------------------------------------------------------------------------


async def test_a_paused_job_starts_nothing_by_itself_until_it_is_resumed(stage: JobStage) -> None:
    connection = stage.connection
    job_id = await stage.make(command("tick", schedule=every(60)), NOON)
    changed = await pause_job(connection, job_id, by="me", note="why", now=at(1))
    assert (changed.version, changed.changed) == (2, True)
    again = await pause_job(connection, job_id, by="me", now=at(2))
    assert (again.version, again.changed) == (2, False)
    await fire(connection, at(600))
    line = await stage.read(job_id)
    assert (line.status, line.next_run_at) == (JobStatus.PAUSED, None)
    assert line.pause is not None
    assert (line.pause.by, line.pause.note) == ("me", "why")
    assert (await stage.trigger(job_id)).made  # by hand it runs
    await resume_job(connection, job_id, now=at(601))
    assert (await stage.read(job_id)).next_run_at == at(660)


async def test_a_job_without_a_schedule_cannot_be_paused(stage: JobStage) -> None:
    job_id = await stage.make(command("now"))
    with pytest.raises(ConflictError, match="has no schedule that could be paused"):
        await pause_job(stage.connection, job_id, by="me")
    assert (await stage.read(job_id)).version == 1


async def test_a_job_is_rescheduled_from_none_to_some_to_another_to_none(stage: JobStage) -> None:
    connection = stage.connection
    job_id = await stage.make(command("now"), NOON)
    assert not (await reschedule_job(connection, job_id, None, by="me", now=at(0))).changed
    await reschedule_job(connection, job_id, every(60), by="me", now=at(1))
    assert (await stage.read(job_id)).next_run_at == at(60)
    await reschedule_job(connection, job_id, every(3600), by="me", now=at(2))
    assert (await stage.read(job_id)).next_run_at == at(3600)
    await fire(connection, at(3600))
    assert len(await list_job_runs(connection, job_id, limit=9)) == 2
    await reschedule_job(connection, job_id, None, by="me", now=at(3601))
    line = await stage.read(job_id)
    assert (line.next_run_at, line.spec, line.version) == (None, None, 4)
    await reschedule_job(connection, job_id, every(60), by="me", now=at(3602))
    assert (await stage.read(job_id)).next_run_at == at(3660)
    with pytest.raises(InputError, match="no fire to come"):
        await reschedule_job(connection, job_id, once(at(1)), by="me", now=at(3603))
    assert (await stage.read(job_id)).next_run_at == at(3660)


async def test_a_change_of_another_version_than_the_one_in_force_is_a_conflict(
    stage: JobStage,
) -> None:
    connection = stage.connection
    job_id = await stage.make(command("tick", schedule=every(60)), NOON)
    await pause_job(connection, job_id, by="me", version=1, now=at(1))
    for change in (
        reschedule_job(connection, job_id, None, by="me", version=1, now=at(2)),
        resume_job(connection, job_id, version=1, now=at(2)),
        cancel_job(connection, job_id, by="me", version=1, now=at(2)),
    ):
        with pytest.raises(ConflictError, match="is at version 2, not 1"):
            await change
    assert (await stage.read(job_id)).status is JobStatus.PAUSED


async def test_a_cancelled_job_starts_nothing_and_its_open_runs_are_stopped(
    stage: JobStage,
) -> None:
    connection = stage.connection
    job_id = await stage.make(command("tick", schedule=every(60)), NOON)
    await fire(connection, at(60))
    worker = await stage.worker()
    await worker.claim(lane=COMMAND_LANE)
    waiting = await stage.trigger(job_id)
    changed = await cancel_job(connection, job_id, by="me", note="enough", now=at(61))
    assert (changed.changed, changed.stopping, changed.version) == (True, 1, 2)
    assert not (await cancel_job(connection, job_id, by="me", now=at(62))).changed
    await fire(connection, at(600))
    runs = await list_job_runs(connection, job_id, limit=9)
    states = {run.id: (run.state, run.stop) for run in runs}
    assert states.pop(waiting.run_id) == (RunState.CANCELLED, "cancel")
    assert list(states.values()) == [(RunState.RUNNING, "cancel")]
    with pytest.raises(ConflictError, match="job `tick` is cancelled"):
        await stage.trigger(job_id)
    with pytest.raises(ConflictError, match="job `tick` is cancelled"):
        await reschedule_job(connection, job_id, every(1), by="me", now=at(63))
    line = await stage.read(job_id)
    assert line.status is JobStatus.CANCELLED
    assert line.cancel is not None
    assert (line.cancel.by, line.cancel.note) == ("me", "enough")


async def test_a_cancel_waits_for_a_trigger_and_stops_its_run(
    stage: JobStage, other: Connection, observer: Connection
) -> None:
    job_id = await stage.make(command("race"))
    new = await stage.new_run(job_id)
    async with stage.connection.transaction():
        triggered = await trigger_job(stage.connection, new)
        cancelling = asyncio.create_task(cancel_job(other, job_id, by="me"))
        await until_waiting(observer, other)
    await cancelling
    runs = await list_job_runs(stage.connection, job_id, limit=9)
    assert triggered.run_id in {run.id for run in runs}
    assert {run.state for run in runs} == {RunState.CANCELLED}


async def test_a_trigger_that_waits_for_a_cancel_makes_nothing(
    stage: JobStage, other: Connection, observer: Connection
) -> None:
    job_id = await stage.make(command("race"))
    new = await stage.new_run(job_id)
    async with stage.connection.transaction():
        await cancel_job(stage.connection, job_id, by="me")
        triggering = asyncio.create_task(trigger_job(other, new))
        await until_waiting(observer, other)
    with pytest.raises(ConflictError, match="is cancelled"):
        await triggering
    assert len(await list_job_runs(stage.connection, job_id, limit=9)) == 1


# --- looked at -------------------------------------------------------------------------------


async def test_jobs_are_found_by_name_and_by_number(stage: JobStage) -> None:
    job_id = await stage.make(command("hello"))
    assert await find_job(stage.connection, "hello") == job_id
    assert await find_job(stage.connection, job_id) == job_id
    named = await stage.make(command(str(job_id)))
    assert await find_job(stage.connection, str(job_id)) == named  # a name wins
    with pytest.raises(NotFoundError) as caught:
        await find_job(stage.connection, "helo")
    assert caught.value.hint == "did you mean `hello`?"
    with pytest.raises(NotFoundError):
        await find_job(stage.connection, "no name \x00")
    with pytest.raises(NotFoundError):
        await find_job(stage.connection, "9" * 19)


async def test_lists_come_in_pages_and_by_status_and_kind(stage: JobStage) -> None:
    connection = stage.connection
    ids = (await stage.create(*[command(f"c{n}") for n in range(5)])).ids
    web = await stage.make(JobOrder(name="web", http=HttpCall("http://h/")))
    await stop_runs(connection, [ids[1]], "cancel")
    pages, before = [], None
    while page := await list_jobs(connection, before=before, limit=2):
        pages += [job.id for job in page]
        before = page[-1].id
    assert pages == [web, *reversed(ids)]
    cancelled = await list_jobs(connection, status=JobStatus.CANCELLED, limit=9)
    assert [job.id for job in cancelled] == [ids[1]]
    assert [job.id for job in await list_jobs(connection, kind=JobKind.HTTP, limit=9)] == [web]
    assert len(await list_jobs(connection, beginning="c", limit=9)) == 5


async def test_runs_of_a_job_come_in_pages_by_time_and_by_state(stage: JobStage) -> None:
    connection = stage.connection
    job_id = await stage.make(command("many"), at(0))
    runs = [job_id]
    for second in range(1, 10):
        runs.append((await stage.trigger(job_id, now=at(second // 2))).run_id)
    await stop_runs(connection, runs[:4], "cancel")
    async with connection.transaction():
        assert (await archive_runs(connection, 0, 100, FAR)).moved == 4
    found, before = [], None
    while page := await list_job_runs(connection, job_id, before=before, limit=3):
        found += [run.id for run in page]
        before = page[-1].created_at, page[-1].id
    assert found == sorted(runs, reverse=True)
    assert await jobs_of_runs(connection, [*runs, 0]) == dict.fromkeys(runs, (job_id, "many"))
    some = await list_job_runs(connection, job_id, since=at(1), until=at(3), limit=99)
    assert sorted(run.id for run in some) == runs[2:6]
    cancelled = await list_job_runs(connection, job_id, states=[RunState.CANCELLED], limit=99)
    assert sorted(run.id for run in cancelled) == runs[:4]


# --- let go ----------------------------------------------------------------------------------


async def test_a_job_goes_when_it_is_over_and_its_last_run_is_gone(stage: JobStage) -> None:
    connection = stage.connection
    over = await stage.make(command("over"), NOON)
    kept = await stage.make(command("kept"), NOON)
    recurring = await stage.make(command("tick", schedule=every(60)), NOON)
    paused = await stage.make(command("paused", schedule=every(60)), NOON)
    cancelled = await stage.make(command("cancelled", schedule=every(60)), NOON)
    fired = await stage.make(command("fired", schedule=once(at(30))), NOON)
    await pause_job(connection, paused, by="me", now=at(1))
    await cancel_job(connection, cancelled, by="me", now=at(1))
    await fire(connection, at(30))
    assert (await forget_jobs(connection, at(60), 0, 100)).count == 1, "only the cancelled one"
    await stage.work(await stage.worker())
    async with connection.transaction():
        await archive_runs(connection, 0, 100, FAR)
    await fetch(connection, "delete from mainspring.run_history where job_id <> $1", kept)
    await fetch(connection, "delete from mainspring.task_history where run_id <> $1", kept)
    assert (await forget_jobs(connection, at(-1), 0, 100)).count == 0, "they are too young"
    above, gone = 0, 0
    while True:
        piece = await forget_jobs(connection, at(60), above, 2)
        gone += piece.count
        if piece.last is None:
            break
        above = piece.last
    assert gone == 2
    left = {job.id for job in await list_jobs(connection, limit=99)}
    assert left == {kept, recurring, paused}
    assert {over, fired}.isdisjoint(left)
    # The names are free again, those of their schedules, too.
    await stage.create(command("over"), command("fired", schedule=every(60)))
