"""The client: `async with Client() as client`."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import msgspec

from mainspring.client.enqueuing import Enqueuer
from mainspring.client.jobs import Jobs, JobTimes, job_order, job_schedule
from mainspring.client.link import Address, Link
from mainspring.client.scheduling import Scheduler, Times
from mainspring.client.subjects import Subject
from mainspring.domain.draining import Drain
from mainspring.domain.durations import Duration
from mainspring.domain.errors import InputError
from mainspring.domain.jobs import CommandCall, HttpCall, JobKind, JobStatus
from mainspring.domain.lanes import PRIORITY_MAX, PRIORITY_MIN
from mainspring.domain.notes import checked_note
from mainspring.domain.reruns import Standing, named_tasks, undone_tasks
from mainspring.domain.states import RunState, TaskState
from mainspring.store.backfill_orders import (
    BackfillOrder,
    BackfillPreview,
    create_backfill,
    preview_backfill,
    reserve_backfill,
)
from mainspring.store.backfills import (
    BackfillLine,
    cancel_backfill,
    pause_backfill,
    read_backfill,
    resume_backfill,
    stop_backfill_runs,
)
from mainspring.store.connection import Connection
from mainspring.store.dags import DagRow, read_dag
from mainspring.store.dead_letters import Letter
from mainspring.store.drains import Drained, drain_worker, resume_worker
from mainspring.store.job_orders import JobOrder
from mainspring.store.job_reading import JobLine, list_job_runs, list_jobs
from mainspring.store.jobs import cancel_job, pause_job, reschedule_job, resume_job
from mainspring.store.marks import Mark, Marked, mark_task
from mainspring.store.pauses import (
    Paused,
    change_priority,
    lanes_of,
    pause_dag,
    pause_queue,
    resume_dag,
    resume_queue,
    shift_slice,
)
from mainspring.store.reading import RunLine, read_run, read_run_parameters
from mainspring.store.runs import Deed, read_standing, reopen_run, stop_runs
from mainspring.store.schedule_changes import (
    Changed,
    Put,
    pause_schedule,
    resume_schedule,
)
from mainspring.store.schedule_reading import ScheduleLine, ScheduleWhole, list_schedules
from mainspring.store.wakeups import notify_ready, notify_stop

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Client:
    """Starts, awaits, stops and reruns runs, for one event loop; without one there is `SyncClient`.

    Without `url` the database is that of MAINSPRING_DATABASE_URL, or the embedded one that runs
    in MAINSPRING_HOME. A lost connection is made again, and what was asked is asked again, for
    `patience_seconds`; then UnavailableError says so.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        name: str = "client",
        created_by: str | None = None,
        patience_seconds: float = 30.0,
    ) -> None:
        link = Link(Address(url), name=name, patience_seconds=patience_seconds)
        self._begin(link, created_by)

    def _begin(self, link: Link, created_by: str | None) -> None:
        self._link = link
        self.enqueuer = Enqueuer(self._link, created_by=created_by)
        self.scheduler = Scheduler(self._link, created_by=created_by)
        self.jobs = Jobs(self._link, created_by=created_by)
        self._created_by = created_by

    async def __aenter__(self) -> Self:
        try:
            await self._link.open()
        except BaseException:
            await self._link.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.jobs.close()
        await self.enqueuer.close()
        await self._link.close()

    async def enqueue(
        self,
        subject: Subject,
        /,
        *,
        run_at: datetime | None = None,
        idempotency_key: str | None = None,
        connection: object | None = None,
        parameters: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> int:
        """Make a run of a task or dag of the application, or of a stored dag by its name.

        The run's parameters are given by name; those of a task that has a parameter named like
        one of the options are given as `parameters`. Returns the run's id, once it is committed.

        `run_at`: not before then. `idempotency_key`: one run however often it is asked; the same
        key with another dag or other parameters is a ConflictError. `connection`: a connection or
        session of asyncpg, psycopg or SQLAlchemy, in whose transaction the run is made: it exists
        if and only if that commits, and workers find it within 0.25 s, or at once after `wake`.
        """
        return await self.enqueuer.enqueue(
            subject, parameters, named, run_at, idempotency_key, connection
        )

    async def enqueue_many(
        self,
        subject: Subject,
        parameters: Iterable[Mapping[str, Any]],
        /,
        *,
        run_at: datetime | None = None,
        idempotency_keys: Sequence[str] | None = None,
        connection: object | None = None,
    ) -> list[int]:
        """Make a run for each of `parameters`, all or none; their ids are in the same order.

        `idempotency_keys` has one key for each. A given `connection` has to be in a transaction.
        """
        return await self.enqueuer.enqueue_many(
            subject, parameters, run_at, idempotency_keys, connection
        )

    async def wake(self) -> None:
        """Tell workers of what was enqueued with `connection`; call it after the commit."""
        self.enqueuer.wake()

    async def trigger(
        self,
        dag_name: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        run_at: datetime | None = None,
        key: str | None = None,
        created_by: str | None = None,
    ) -> int:
        """Make a run of a stored dag and return its id, as `enqueue` does.

        `run_at` is no part of what `key` stands for, since a caller that says "in an hour" says
        another instant each time.
        """
        return await self.enqueuer.trigger(dag_name, parameters or {}, run_at, key, created_by)

    async def wait(self, run_id: int, *, poll_seconds: float = 0.1) -> RunLine:
        """The run, once it is closed."""
        while True:
            run = await self.ask(read_run, run_id)
            if run.closed:
                return run
            await asyncio.sleep(poll_seconds)

    async def cancel(self, run_id: int, *, at_once: bool = False) -> int:
        """Stop a run. Says how many of its tasks still run and were asked to stop.

        `at_once` kills processes and commands without the time that they have to tidy up.
        """
        await self.ask(read_run, run_id)
        asked = await self.ask(stop_runs, [run_id], "terminate" if at_once else "cancel")
        if asked:
            await self.ask(notify_stop)
        return asked

    async def rerun(
        self, run_id: int, *, tasks: Sequence[str] | None = None, all: bool = False
    ) -> list[str]:
        """Run tasks of a run again, in the same run: what failed or was cancelled, `tasks`, or all.

        With each goes what comes after it; the rest of the run is kept. Returns the names of the
        tasks that run again. ConflictError if one of them has not ended, if one comes after a task
        that did not succeed and is not among them, or if there is none.
        """
        await self.ask(read_run, run_id)
        standing = await self.ask(read_standing, run_id)
        chosen = _chosen(standing, tasks, all)
        # Each as it was seen: asked again after a lost answer, it opens nothing a second time.
        seen = {node: standing.tasks[node].generation for node in chosen}
        reopened = await self.ask(reopen_run, run_id, seen)
        await self.ask(notify_ready, reopened.lanes)
        return standing.names(reopened.nodes)

    async def rerun_latest(
        self, run_id: int, *, key: str | None = None, created_by: str | None = None
    ) -> int:
        """Make a new run with the parameters of another one, on the dag's version and code of now.

        Returns its id. Asked again, for the same run and while version and code are the same, it is
        the same new run; another `key` makes another. InputError if the parameters do not fit the
        dag any more.
        """
        run = await self.ask(read_run, run_id)
        dag = await self.dag(run.dag)
        parameters = msgspec.json.decode(await self.ask(read_run_parameters, run_id))
        name = f"rerun of run {run_id} on {dag.version_id} {dag.snapshot}" if key is None else key
        return await self.enqueuer.trigger(
            run.dag, parameters, None, name, created_by, rerun_of=run_id
        )

    async def retry(self, letters: Sequence[Letter], by: Deed) -> list[str]:
        """Run dead letters of one run again, and what comes after them; the rest is kept.

        Returns the names of the tasks that run again: none if somebody has taken the letters up
        since they were read. What another failure keeps closed stays closed. ConflictError if a
        task that comes after them has not ended, or comes after one that has not.
        """
        [run_id] = {letter.run_id for letter in letters}
        standing = await self.ask(read_standing, run_id)
        tasks = {letter.task_id - run_id: letter for letter in letters}
        seen = {
            node: standing.tasks[node].generation
            for node, letter in tasks.items()
            if standing.tasks[node].state is TaskState.FAILED
            and standing.tasks[node].term == letter.term
        }
        if not seen:
            return []
        reopened = await self.ask(reopen_run, run_id, seen, retried=by)
        await self.ask(notify_ready, reopened.lanes)
        return standing.names(reopened.nodes)

    async def mark(
        self, run_id: int, task: str, state: Mark, by: Deed, *, result: bytes | None = None
    ) -> Marked:
        """Close a task by hand, as if it had ended so: `result` is JSON, for one that succeeds.

        It may wait, rest, be ready, run, or have failed. An attempt that runs is stopped, and what
        it reports is refused; of a run that has ended the task is opened again, with what comes
        after it. ConflictError if the task has ended otherwise, or moves meanwhile.
        """
        await self.ask(read_run, run_id)
        standing = await self.ask(read_standing, run_id)
        [node] = named_tasks(standing, [task])
        # The term as it was seen: asked again after a lost answer, it is done once.
        term = standing.tasks[node].term
        marked = await self.ask(mark_task, run_id, node, term, state, by, result=result)
        if marked.claimed:
            await self.ask(notify_stop)
        await self.ask(notify_ready, marked.lanes)
        return marked

    async def pause_dag(
        self, name: str, *, note: str | None = None, by: str | None = None
    ) -> Paused:
        """Hold a dag: once this was answered, none of its tasks is handed to a worker.

        What runs goes on. Runs can be made and wait. Pausing a paused dag changes its note, if one
        is given, and nothing else.
        """
        note = checked_note(note)
        paused = await self.ask(pause_dag, name, by=by or self._created_by, note=note)
        await self._shift(paused.id)
        return paused

    async def resume_dag(self, name: str) -> Paused:
        """End a dag's pause: what waits goes on, in the order that it had."""
        resumed = await self.ask(resume_dag, name)
        await self._shift(resumed.id)
        return resumed

    async def pause_queue(
        self, name: str, *, note: str | None = None, by: str | None = None
    ) -> Paused:
        """Hold a queue: once this was answered, nothing of it is handed to a worker."""
        note = checked_note(note)
        return await self.ask(pause_queue, name, by=by or self._created_by, note=note)

    async def resume_queue(self, name: str) -> Paused:
        """End a queue's pause."""
        resumed = await self.ask(resume_queue, name)
        await self.ask(notify_ready, lanes_of(resumed.id))
        return resumed

    async def drain_worker(
        self,
        worker: str,
        *,
        stop: bool = False,
        note: str | None = None,
        by: str | None = None,
    ) -> Drained:
        """Let a worker, by id or name, finish what it runs: once this was answered, it is given
        nothing more until it is resumed. With `stop` it ends when nothing is left.
        """
        drained = await self.ask(
            drain_worker,
            worker,
            then=Drain.STOP if stop else Drain.STAY,
            by=by or self._created_by,
            note=checked_note(note),
        )
        await self.ask(notify_stop)
        return drained

    async def resume_worker(self, worker: str) -> Drained:
        """Let a worker claim again that was to drain."""
        resumed = await self.ask(resume_worker, worker)
        await self.ask(notify_stop)
        return resumed

    async def set_priority(self, run_id: int, priority: int) -> int:
        """Change the priority of all tasks of a run that no worker has; says how many there were.

        From 0 to 9, higher sooner. Among tasks of one priority their order stays as it was.
        """
        if type(priority) is not int or not PRIORITY_MIN <= priority <= PRIORITY_MAX:
            raise InputError(
                f"`priority` must be a whole number from {PRIORITY_MIN} to {PRIORITY_MAX},"
                f" not {priority!r}"
            )
        await self.ask(read_run, run_id)
        tasks, lanes = await self.ask(change_priority, run_id, priority)
        if lanes:
            await self.ask(notify_ready, lanes)
        return tasks

    async def schedule(
        self,
        subject: Subject,
        when: Times,
        /,
        *,
        name: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        note: str = "",
        by: str | None = None,
        **options: Any,
    ) -> ScheduleLine:
        """Let a task or dag of the application, or a stored dag, run by itself.

        `when` is a cron line, `"every 90m"`, an instant, an RRULE, `"now"`, or several of these in
        a list. The schedule is named like its dag unless `name` says otherwise; `parameters` are
        those of its runs. `options` are those of `@dag(schedule=…)`: `timezone`, `overlap`,
        `misfire`, `jitter` and so on. It is made, or changed, or, if it is so already, left alone:
        an application can say it each time it starts.
        """
        dag = await self.enqueuer.stored_name(subject)
        intent = await self.scheduler.intent(name or dag, dag, when, parameters, note, options)
        return await self.scheduler.ensure(intent, by)

    async def create_schedule(
        self,
        name: str,
        subject: Subject,
        when: Times,
        /,
        *,
        parameters: Mapping[str, Any] | None = None,
        note: str = "",
        by: str | None = None,
        **options: Any,
    ) -> Put:
        """Make a schedule, as `schedule` does; ConflictError if there is one of that name."""
        dag = await self.enqueuer.stored_name(subject)
        intent = await self.scheduler.intent(name, dag, when, parameters, note, options)
        return await self.scheduler.create(intent, by)

    async def put_schedule(
        self,
        name: str,
        subject: Subject,
        when: Times,
        /,
        *,
        version: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        note: str = "",
        by: str | None = None,
        **options: Any,
    ) -> Put:
        """Make a schedule what is said here, all of it: what is not said has its default.

        With `version`, only if that is the one in force, 0 meaning none; otherwise ConflictError
        tells what is. What was due until now is settled as it was before.
        """
        dag = await self.enqueuer.stored_name(subject)
        intent = await self.scheduler.intent(name, dag, when, parameters, note, options)
        return await self.scheduler.put(intent, version, by)

    async def pause_schedule(
        self, *names: str, note: str | None = None, by: str | None = None
    ) -> list[Changed]:
        """Let schedules fire no more until they are resumed; all of them, or none."""
        who = by or self._created_by or "client"
        return await self.scheduler.change(
            names, functools.partial(pause_schedule, by=who, note=note)
        )

    async def resume_schedule(self, *names: str) -> list[Changed]:
        """End the pause of schedules: they go on with their first fire after now."""
        return await self.scheduler.change(names, resume_schedule)

    async def remove_schedule(self, *names: str) -> list[Changed]:
        """Schedules are no more; runs that they made go on, and their history stays."""
        return await self.scheduler.remove(names)

    async def list_schedules(self, *, dag: str | None = None) -> list[ScheduleLine]:
        """All schedules, or those of a dag, by name."""
        return await self.ask(list_schedules, dag=dag)

    async def show_schedule(self, name: str, *, fires: int = 20) -> ScheduleWhole:
        """One schedule, with its versions, and what became of its last fires."""
        return await self.scheduler.show(name, fires=fires)

    async def _shift(self, dag_id: int) -> None:
        """Its tasks go aside, or come back, some runs at a time."""
        done = await self.ask(shift_slice, dag_id, 0)
        while done.last is not None:
            if done.lanes:
                await self.ask(notify_ready, done.lanes)
            done = await self.ask(shift_slice, dag_id, done.last)

    async def preview_backfill(self, order: BackfillOrder, *, shown: int = 20) -> BackfillPreview:
        """What a backfill would run: how many instants, the first of them, and which have a run."""
        return await self.ask(preview_backfill, order, shown=shown)

    async def create_backfill(self, order: BackfillOrder, *, by: str | None = None) -> BackfillLine:
        """Make runs for instants of the past, as `order` says; engines do it from now on."""
        # A number of our own first: asked again after a lost answer, it is made once.
        number = await self.ask(reserve_backfill)
        return await self.ask(create_backfill, number, order, by=by or self._created_by)

    async def backfill(self, backfill_id: int) -> BackfillLine:
        """How a backfill stands."""
        return await self.ask(read_backfill, backfill_id)

    async def pause_backfill(
        self, backfill_id: int, *, note: str | None = None, by: str | None = None
    ) -> BackfillLine:
        """Once this was answered it makes no runs, until it is resumed; open ones go on."""
        note = checked_note(note)
        return await self.ask(pause_backfill, backfill_id, by=by or self._created_by, note=note)

    async def resume_backfill(self, backfill_id: int) -> BackfillLine:
        """It goes on where it was."""
        return await self.ask(resume_backfill, backfill_id)

    async def cancel_backfill(
        self,
        backfill_id: int,
        *,
        runs: bool = False,
        note: str | None = None,
        by: str | None = None,
    ) -> BackfillLine:
        """It makes no more runs. With `runs`, its open ones are stopped, too."""
        note = checked_note(note)
        await self.ask(cancel_backfill, backfill_id, by=by or self._created_by, note=note)
        if runs and (await self.ask(stop_backfill_runs, backfill_id))[1]:
            await self.ask(notify_stop)
        return await self.ask(read_backfill, backfill_id)

    async def wait_backfill(self, backfill_id: int, *, poll_seconds: float = 0.2) -> BackfillLine:
        """The backfill, once nothing more will happen to it by itself: it is over, or paused."""
        while True:
            line = await self.ask(read_backfill, backfill_id)
            if line.over or line.halted:
                return line
            await asyncio.sleep(poll_seconds)

    async def create_job(
        self,
        name: str | None = None,
        /,
        *,
        command: Sequence[str] | CommandCall | None = None,
        http: str | Mapping[str, Any] | HttpCall | None = None,
        task: Subject | None = None,
        when: JobTimes | None = None,
        parameters: Mapping[str, Any] | None = None,
        retries: int | None = None,
        timeout: Duration | None = None,
        priority: int | None = None,
        queue: str | None = None,
        idempotency_key: str | None = None,
        by: str | None = None,
        **options: Any,
    ) -> int:
        """Make a job of a command, a request or a task, and return its number.

        Without `when` it runs at once, and that run has the job's number. `when` is an instant, a
        cron line, `"every 90m"`, an RRULE, or several of these in a list; `options` are those of a
        schedule. `command` is a list of the program and its arguments, `http` an address or what
        `HttpCall` has, `task` a task or dag of the application, or the name of a stored one.
        `retries`, `timeout` (of each attempt), `priority` and `queue` go before what the tasks say.
        ConflictError if there is a job of that name; with `idempotency_key` one job is made however
        often it is asked for.
        """
        dag = None if task is None else await self.enqueuer.stored_name(task)
        order = job_order(
            name,
            command=command,
            http=http,
            task=dag,
            when=when,
            parameters=parameters,
            retries=retries,
            timeout=timeout,
            priority=priority,
            queue=queue,
            created_by=by or self._created_by,
            key=idempotency_key,
            options=options,
        )
        return await self.jobs.create(order)

    async def create_jobs(self, orders: Iterable[JobOrder]) -> list[int]:
        """Make a job for each order, all or none; their numbers are in the same order."""
        return await self.jobs.create_many(orders)

    async def job(self, job: str | int) -> JobLine:
        """How a job stands, by its name or number: status, progress, last and next run."""
        return await self.jobs.read(job)

    async def list_jobs(
        self,
        *,
        status: JobStatus | None = None,
        kind: JobKind | None = None,
        beginning: str = "",
        before: int | None = None,
        limit: int = 50,
    ) -> list[JobLine]:
        """The newest first; the next page is `before` the last number of this one."""
        return await self.ask(
            list_jobs, status=status, kind=kind, beginning=beginning, before=before, limit=limit
        )

    async def job_runs(
        self,
        job: str | int,
        *,
        states: Sequence[RunState] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: RunLine | None = None,
        limit: int = 50,
    ) -> list[RunLine]:
        """Runs of a job, the newest first; the next page is `before` the last of this one."""
        return await self.ask(
            list_job_runs,
            await self.jobs.find(job),
            states=states,
            since=since,
            until=until,
            before=None if before is None else (before.created_at, before.id),
            limit=limit,
        )

    async def trigger_job(
        self, job: str | int, *, idempotency_key: str | None = None, by: str | None = None
    ) -> int:
        """Run a job now, whatever its schedule says, and return the run's id."""
        return await self.jobs.trigger(job, idempotency_key, by)

    async def reschedule_job(
        self,
        job: str | int,
        when: JobTimes | None,
        /,
        *,
        version: int | None = None,
        by: str | None = None,
        **options: Any,
    ) -> JobLine:
        """Let a job run by another schedule from now on, or by none.

        With `version`, here and in the other changes, only if the job is still at that one.
        """
        spec = job_schedule(when, options)
        who = by or self._created_by or "client"
        return await self.jobs.change(
            job, functools.partial(reschedule_job, spec=spec, by=who, version=version)
        )

    async def pause_job(
        self,
        job: str | int,
        *,
        note: str | None = None,
        version: int | None = None,
        by: str | None = None,
    ) -> JobLine:
        """Let the schedule of a job fire no more until it is resumed; what runs goes on."""
        who = by or self._created_by or "client"
        return await self.jobs.change(
            job, functools.partial(pause_job, by=who, note=note, version=version)
        )

    async def resume_job(self, job: str | int, *, version: int | None = None) -> JobLine:
        """End the pause of a job: it goes on with its first fire after now."""
        return await self.jobs.change(job, functools.partial(resume_job, version=version))

    async def cancel_job(
        self,
        job: str | int,
        *,
        note: str | None = None,
        version: int | None = None,
        by: str | None = None,
    ) -> JobLine:
        """Let nothing of a job start any more, and stop its open runs."""
        who = by or self._created_by or "client"
        return await self.jobs.change(
            job, functools.partial(cancel_job, by=who, note=note, version=version)
        )

    async def dag(self, name: str) -> DagRow:
        """A dag as a trigger uses it now."""
        return await self.ask(read_dag, name)

    async def database_url(self) -> str:
        """Where the database is, for connections of the application's own."""
        return await self._link.address.url()

    async def ask(
        self,
        function: Callable[Concatenate[Connection, _P], Awaitable[_T]],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Any repeatable function of `mainspring.store`, such as those of `store.reading`."""
        return await self._link.ask(function, *args, **kwargs)


def client_over(link: Link) -> Client:
    """A client that shares a connection with others."""
    client = Client.__new__(Client)
    client._begin(link, None)
    return client


def _chosen(standing: Standing, tasks: Sequence[str] | None, all: bool) -> list[int]:
    if tasks is None:
        return list(range(len(standing.tasks))) if all else undone_tasks(standing)
    if all:
        raise InputError("give `tasks` or `all`, not both")
    if not tasks:
        raise InputError("`tasks` names no task", hint="leave it away to rerun what failed")
    return named_tasks(standing, [tasks] if isinstance(tasks, str) else tasks)
