"""Jobs under random hands: one by one against a model, and all at once against the promises."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.errors import ConflictError
from mainspring.domain.jobs import JobStatus
from mainspring.schedule.specs import IntervalSpec, ScheduleSpec
from mainspring.store.attempts import Claimed
from mainspring.store.connection import Connection, connect, fetch
from mainspring.store.history import archive_runs
from mainspring.store.job_reading import list_job_runs
from mainspring.store.jobs import (
    cancel_job,
    pause_job,
    reschedule_job,
    resume_job,
    trigger_job,
)
from mainspring.store.schedules import due_schedules
from mainspring.store.settling import Settler
from tests.support.factory import BareWorker, failure
from tests.support.job_stage import COMMAND_LANE, JobStage, command

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
HOURLY = ScheduleSpec(when=(IntervalSpec(3600),))
SECONDLY = ScheduleSpec(when=(IntervalSpec(1),))
FAR = datetime(2999, 1, 1, tzinfo=UTC)
STEPS = 60
SESSIONS = 6


class Model:
    """What a job is said to be, kept in the simplest way."""

    def __init__(self) -> None:
        self.runs: list[str] = ["queued"]
        """By the order in which they were made."""
        self.cancelled = self.paused = self.scheduled = False

    def status(self) -> str:
        if self.cancelled:
            return "cancelled"
        if "running" in self.runs:
            return "running"
        if self.paused:
            return "paused"
        return "pending" if "queued" in self.runs else self.runs[-1]


class Story:
    """Random deeds, done to the database and to the model."""

    def __init__(self, stage: JobStage, worker: BareWorker, job_id: int, chance: random.Random):
        self.stage, self.worker, self.job_id, self.chance = stage, worker, job_id, chance
        self.model = Model()
        self.now = NOON
        self.numbers = {job_id: 0}
        """Of runs, by id, in the model's list."""
        self.hand: list[Claimed] = []

    async def step(self) -> str:
        deeds = (
            *(self.trigger, self.claim, self.claim, self.end, self.end, self.fire, self.archive),
            *(self.pause, self.resume, self.reschedule, self.unschedule),
        )
        self.now += timedelta(seconds=1)
        deed = self.cancel if self.chance.random() < 0.02 else self.chance.choice(deeds)
        await deed()
        return deed.__name__

    async def trigger(self) -> None:
        if self.model.cancelled:
            with pytest.raises(ConflictError):
                await self.stage.trigger(self.job_id, now=self.now)
            return
        self._made((await self.stage.trigger(self.job_id, now=self.now)).run_id)

    async def fire(self) -> None:
        self.now += timedelta(hours=1)
        connection, before = self.stage.connection, set(self.numbers)
        due = await due_schedules(connection, self.now, range(1, 17), NOON, 10)
        await Settler().settle(connection, due, self.now)
        runs = {run.id for run in await list_job_runs(connection, self.job_id, limit=1000)}
        made = runs - before
        wanted = self.model.scheduled and not self.model.paused and not self.model.cancelled
        assert len(made) == wanted
        for run_id in made:
            self._made(run_id)

    async def claim(self) -> None:
        for claimed in await self.worker.claim(1, lane=COMMAND_LANE):
            self.hand.append(claimed)
            self.model.runs[self.numbers[claimed.run_id]] = "running"

    async def end(self) -> None:
        if self.hand:
            claimed = self.hand.pop(self.chance.randrange(len(self.hand)))
            fails = self.chance.random() < 0.5
            await self.worker.end(claimed, failure(retry=False) if fails else None)
            verdict = "failed" if fails else "succeeded"
            self.model.runs[self.numbers[claimed.run_id]] = verdict

    async def archive(self) -> None:
        async with self.stage.connection.transaction():
            await archive_runs(self.stage.connection, 0, 1000, FAR)

    async def pause(self) -> None:
        if self.model.cancelled or not self.model.scheduled:
            with pytest.raises(ConflictError):
                await pause_job(self.stage.connection, self.job_id, by="me", now=self.now)
            return
        await pause_job(self.stage.connection, self.job_id, by="me", now=self.now)
        self.model.paused = True

    async def resume(self) -> None:
        if self.model.cancelled or not self.model.scheduled:
            with pytest.raises(ConflictError):
                await resume_job(self.stage.connection, self.job_id, now=self.now)
            return
        await resume_job(self.stage.connection, self.job_id, now=self.now)
        self.model.paused = False

    async def reschedule(self) -> None:
        await self._reschedule(HOURLY)

    async def unschedule(self) -> None:
        await self._reschedule(None)

    async def _reschedule(self, spec: ScheduleSpec | None) -> None:
        change = reschedule_job(self.stage.connection, self.job_id, spec, by="me", now=self.now)
        if self.model.cancelled:
            with pytest.raises(ConflictError):
                await change
            return
        await change
        # What is paused stays so under another schedule, and not without one.
        self.model.paused = self.model.paused and spec is not None
        self.model.scheduled = spec is not None

    async def cancel(self) -> None:
        await cancel_job(self.stage.connection, self.job_id, by="me", now=self.now)
        model = self.model
        model.cancelled, model.scheduled, model.paused = True, False, False
        model.runs = ["cancelled" if run == "queued" else run for run in model.runs]

    def _made(self, run_id: int) -> None:
        self.numbers[run_id] = len(self.model.runs)
        self.model.runs.append("queued")


@pytest.mark.parametrize("seed", range(6))
async def test_a_job_stands_as_what_was_done_to_it_says(connection: Connection, seed: int) -> None:
    stage = JobStage(connection)
    job_id = await stage.make(command("story"), NOON)
    story = Story(stage, await stage.worker(), job_id, random.Random(seed))
    told: list[str] = []
    for _ in range(STEPS):
        told.append(await story.step())
        line = await stage.read(job_id)
        assert line.status == story.model.status(), told
        assert (line.next_run_at is not None) == (
            story.model.scheduled and not story.model.paused
        ), told


@pytest.mark.parametrize("seed", range(3))
async def test_of_what_many_do_at_once_nothing_is_lost_and_a_cancel_is_final(
    connection: Connection, database_url: str, seed: int
) -> None:
    """The promises are asked after the test, as after every one. Times are the database's own: a
    given one would be older than that of somebody who was waited for."""
    stage = JobStage(connection)
    job_id = await stage.make(command("race", schedule=SECONDLY))
    made: set[int] = set()

    async def hand(number: int) -> None:
        chance = random.Random(f"{seed} {number}")
        mine = await connect(database_url, name=f"hand {number}", stable_plans=True)
        own = JobStage(mine)
        for turn in range(12):
            try:
                match chance.choice(["trigger", "trigger", "pause", "resume", "put", "fire"]):
                    case "trigger":
                        run = await own.new_run(job_id)
                        made.add((await trigger_job(mine, run)).run_id)
                    case "pause":
                        await pause_job(mine, job_id, by="me")
                    case "resume":
                        await resume_job(mine, job_id)
                    case "put":
                        spec = chance.choice([SECONDLY, None])
                        await reschedule_job(mine, job_id, spec, by="me")
                    case "fire":
                        due = await due_schedules(mine, None, range(1, 17), NOON, 10)
                        await Settler().settle(mine, due, None)
            except ConflictError:
                pass  # It is cancelled, or has no schedule now.
            if number == 0 and turn == 8:
                await cancel_job(mine, job_id, by="me")
        await mine.close()

    await asyncio.gather(*(hand(number) for number in range(SESSIONS)))
    assert (await stage.read(job_id)).status is JobStatus.CANCELLED
    runs = await list_job_runs(connection, job_id, limit=1000)
    assert made <= {run.id for run in runs}
    assert {run.state for run in runs} <= {"cancelled"}
    left = await fetch(connection, "select count(*) as n from mainspring.ready")
    assert left[0]["n"] == 0
