"""Jobs, for both clients: what a caller says becomes an order, then a draft, then a row.

Jobs that are asked for while a set is under way go together in the next one. Everything here can be
asked again after a lost answer: ids are reserved first, and a change that was made already changes
nothing. One that was to be made of a certain version is then told as a conflict: look, and judge.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mainspring.client.link import Link
from mainspring.client.reserve import Ids
from mainspring.client.waking import Waker
from mainspring.domain.durations import Duration, parse_duration
from mainspring.domain.errors import InputError, UnavailableError
from mainspring.domain.jobs import CommandCall, HttpCall
from mainspring.schedule.parsing import NOW, Written, schedule_from
from mainspring.schedule.specs import ScheduleSpec
from mainspring.store.connection import Connection
from mainspring.store.job_orders import JobDraft, JobDrafter, JobOrder
from mainspring.store.job_reading import JobLine, read_job
from mainspring.store.jobs import (
    CreatedJobs,
    JobChanged,
    NewJob,
    NewJobRun,
    Triggered,
    VersionGone,
    create_jobs,
    find_job,
    read_job_binding,
    trigger_job,
)
from mainspring.store.wakeups import notify_stop

JobTimes = Written | ScheduleSpec | Sequence[Written]
"""When a job runs, as a caller may write it: `"0 2 * * *"`, `"every 90m"`, an instant, …"""

_TOGETHER_MAX = 500
_SET_MAX = 2_000
"""Jobs in one statement of a large set."""


class MadeJob(NamedTuple):
    """What asking for a job came to."""

    id: int
    name: str | None
    """None: its key was known, and it is called as it was then."""


class _Waiting(NamedTuple):
    job: NewJob
    answer: asyncio.Future[MadeJob]


class Jobs:
    def __init__(self, link: Link, *, created_by: str | None) -> None:
        self._link = link
        self._created_by = created_by
        self._making = link.sibling("jobs", stable_plans=True)
        self._ids = Ids(self._making)
        self._waker = Waker(link)
        self._drafter = JobDrafter()
        self._queue: deque[_Waiting] = deque()
        self._sending: asyncio.Task[None] | None = None

    async def close(self) -> None:
        while self._sending is not None:
            await asyncio.wait([self._sending])
        await self._ids.close()
        await self._waker.close()
        await self._making.close()

    # --- made ------------------------------------------------------------------------------------

    async def create(self, order: JobOrder) -> int:
        """One; with others that are asked for meanwhile, in one statement."""
        return (await self.make(order)).id

    async def make(self, order: JobOrder) -> MadeJob:
        [draft] = await self._drafts([order])
        [job_id] = await self._ids.take([draft.tasks])
        answer: asyncio.Future[MadeJob] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(NewJob(job_id, draft), answer))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())
        return await answer

    async def create_many(self, orders: Iterable[JobOrder]) -> list[int]:
        """All or none."""
        return [made.id for made in await self.make_many(orders)]

    async def make_many(self, orders: Iterable[JobOrder]) -> list[MadeJob]:
        given = list(orders)
        if not given:
            return []
        drafts = await self._drafts(given)
        ids = await self._ids.take([draft.tasks for draft in drafts])
        jobs = [NewJob(id, draft) for id, draft in zip(ids, drafts, strict=True)]
        try:
            created = await self._making.ask(_create_all, jobs)
        except VersionGone:
            self._drafter.forget()
            raise
        self._waker.wake(created.lanes)
        return _made(jobs, created)

    async def _drafts(self, orders: Sequence[JobOrder]) -> list[JobDraft]:
        return await self._making.ask(self._drafter.drafts, orders)

    async def _send_all(self) -> None:
        batch: list[_Waiting] = []
        try:
            while self._queue:
                batch = []
                names: set[str] = set()
                while self._queue and len(batch) < _TOGETHER_MAX:
                    # Of two with one name the second finds the first.
                    if self._queue[0].job.name in names:
                        break
                    names.add(self._queue[0].job.name)
                    batch.append(self._queue.popleft())
                await self._send(batch)
        finally:
            self._sending = None
            _fail([*batch, *self._queue], UnavailableError("the client was stopped"))
            self._queue.clear()

    async def _send(self, batch: Sequence[_Waiting]) -> None:
        try:
            created = await self._making.ask(create_jobs, [waiting.job for waiting in batch])
        except Exception as error:
            if isinstance(error, VersionGone):
                self._drafter.forget()
            if len(batch) > 1 and not isinstance(error, UnavailableError):
                # It was rolled back; one that clashes does not spoil the others.
                middle = len(batch) // 2
                await self._send(batch[:middle])
                await self._send(batch[middle:])
            else:
                _fail(batch, error)
        else:
            told = _made([waiting.job for waiting in batch], created)
            for waiting, made in zip(batch, told, strict=True):
                if not waiting.answer.done():
                    waiting.answer.set_result(made)
            self._waker.wake(created.lanes)

    # --- asked and changed -----------------------------------------------------------------------

    async def find(self, job: str | int) -> int:
        return await self._link.ask(find_job, job)

    async def read(self, job: str | int) -> JobLine:
        return await self._link.ask(read_job, await self.find(job))

    async def trigger(self, job: str | int, key: str | None, by: str | None) -> int:
        job_id = await self.find(job)
        binding = await self._link.ask(read_job_binding, job_id)
        draft = await self._link.ask(
            self._drafter.run, job_id, binding.kind, binding.dag, binding.parameters
        )
        [run_id] = await self._ids.take([draft.tasks])
        run = NewJobRun(run_id, draft, by or self._created_by, key)
        try:
            triggered: Triggered = await self._making.ask(trigger_job, run)
        except VersionGone:
            self._drafter.forget()
            raise
        self._waker.wake(triggered.lanes)
        return triggered.run_id

    async def change(
        self, job: str | int, change: Callable[[Connection, int], Awaitable[JobChanged]]
    ) -> JobLine:
        """Changed, and as it is then."""
        job_id = await self.find(job)
        changed = await self._link.ask(change, job_id)
        if changed.lanes:
            self._waker.wake(set(changed.lanes))
        if changed.stopping:
            await self._link.ask(notify_stop)
        return await self._link.ask(read_job, job_id)


async def _create_all(connection: Connection, jobs: Sequence[NewJob]) -> CreatedJobs:
    if len(jobs) <= _SET_MAX:
        return await create_jobs(connection, jobs)
    ids: list[int] = []
    made: set[int] = set()
    lanes: set[int] = set()
    async with connection.transaction():
        for start in range(0, len(jobs), _SET_MAX):
            created = await create_jobs(connection, jobs[start : start + _SET_MAX])
            ids += created.ids
            made |= created.made
            lanes |= created.lanes
    return CreatedJobs(ids, made, lanes)


def _made(jobs: Sequence[NewJob], created: CreatedJobs) -> list[MadeJob]:
    return [
        MadeJob(job_id, job.name if job_id in created.made else None)
        for job, job_id in zip(jobs, created.ids, strict=True)
    ]


def _fail(batch: Sequence[_Waiting], error: Exception) -> None:
    for waiting in batch:
        if not waiting.answer.done():
            waiting.answer.set_exception(error)


# --- what a caller may write -----------------------------------------------------------------


def job_order(
    name: str | None,
    *,
    command: Sequence[str] | CommandCall | None,
    http: str | Mapping[str, Any] | HttpCall | None,
    task: str | None,
    when: JobTimes | None,
    parameters: Mapping[str, Any] | None,
    retries: int | None,
    timeout: Duration | None,
    priority: int | None,
    queue: str | None,
    created_by: str | None,
    key: str | None,
    options: Mapping[str, Any],
) -> JobOrder:
    return JobOrder(
        name=name,
        command=_command(command),
        http=_http(http),
        task=task,
        schedule=job_schedule(when, options),
        parameters=parameters or {},
        retries=retries,
        timeout_seconds=None if timeout is None else parse_duration(timeout, what="`timeout`"),
        priority=priority,
        queue=queue,
        created_by=created_by,
        key=key,
    )


def job_schedule(when: JobTimes | None, options: Mapping[str, Any]) -> ScheduleSpec | None:
    """The spec of what is written; None for at once."""
    if when is None or when == NOW or when == [NOW]:
        if options:
            raise InputError(
                f"`{next(iter(options))}` is an option of a schedule, and the job has none",
                hint="say when it runs",
            )
        return None
    return schedule_from(when, **options)


def _command(given: Sequence[str] | CommandCall | None) -> CommandCall | None:
    if given is None or isinstance(given, CommandCall):
        return given
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError(
            "`command`: expected a list: the program and its arguments",
            hint='write `["echo", "hi"]`; for a shell, `["sh", "-c", "…"]`',
        )
    return CommandCall(list(given))


def _http(given: str | Mapping[str, Any] | HttpCall | None) -> HttpCall | None:
    import msgspec

    if given is None or isinstance(given, HttpCall):
        return given
    if isinstance(given, str):
        return HttpCall(given)
    try:
        return msgspec.convert(dict(given), HttpCall)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise InputError(f"`http`: {error}") from None
