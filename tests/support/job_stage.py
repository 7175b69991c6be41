"""Jobs for tests that speak to the store directly: ordered, run by hand, at given times."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from mainspring.domain.jobs import BUILT_IN_DAGS, CommandCall, JobKind
from mainspring.domain.lanes import Lane, SlotKind
from mainspring.domain.outcomes import Outcome
from mainspring.store.attempts import Claimed
from mainspring.store.connection import Connection
from mainspring.store.ids import Ids
from mainspring.store.job_orders import JobDrafter, JobOrder
from mainspring.store.job_reading import JobLine, read_job
from mainspring.store.jobs import (
    CreatedJobs,
    NewJob,
    NewJobRun,
    Triggered,
    create_jobs,
    read_job_binding,
    trigger_job,
)
from tests.support.factory import BareWorker

COMMAND_LANE = Lane(1, SlotKind.COMMAND).number


def command(name: str | None = None, *arguments: str, **options: Any) -> JobOrder:
    return JobOrder(name=name, command=CommandCall(list(arguments or ("true",))), **options)


class JobStage:
    """What a client does for jobs, on one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.drafter = JobDrafter()
        self.ids = Ids()

    async def new(self, *orders: JobOrder) -> list[NewJob]:
        drafts = await self.drafter.drafts(self.connection, orders)
        ids = await self.ids.take_many(self.connection, [draft.tasks for draft in drafts])
        return [NewJob(id, draft) for id, draft in zip(ids, drafts, strict=True)]

    async def create(self, *orders: JobOrder, now: datetime | None = None) -> CreatedJobs:
        return await create_jobs(self.connection, await self.new(*orders), now=now)

    async def make(self, order: JobOrder, now: datetime | None = None) -> int:
        return (await self.create(order, now=now)).ids[0]

    async def new_run(self, job_id: int, key: str | None = None) -> NewJobRun:
        job = await read_job_binding(self.connection, job_id)
        draft = await self.drafter.run(self.connection, job_id, job.kind, job.dag, job.parameters)
        return NewJobRun(await self.ids.take(self.connection, draft.tasks), draft, key=key)

    async def trigger(
        self, job_id: int, key: str | None = None, now: datetime | None = None
    ) -> Triggered:
        return await trigger_job(self.connection, await self.new_run(job_id, key), now=now)

    async def read(self, job_id: int) -> JobLine:
        return await read_job(self.connection, job_id)

    async def worker(self) -> BareWorker:
        return await BareWorker.join(self.connection, BUILT_IN_DAGS[JobKind.COMMAND])

    async def work(
        self, worker: BareWorker, outcome: Outcome | None = None, *, lane: int = COMMAND_LANE
    ) -> list[Claimed]:
        """Claim and end whatever is ready."""
        claimed = await worker.claim(lane=lane)
        for each in claimed:
            await worker.end(each, outcome)
        return claimed
