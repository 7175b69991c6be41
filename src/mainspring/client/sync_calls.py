# Generated from src/mainspring/client/client.py by `make gen`; do not edit.
"""What `SyncClient` hands on to the client in its thread, call by call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mainspring.client.jobs import JobTimes
from mainspring.client.scheduling import Times
from mainspring.client.subjects import Subject
from mainspring.domain.durations import Duration
from mainspring.domain.jobs import CommandCall, HttpCall, JobKind, JobStatus
from mainspring.domain.states import RunState
from mainspring.store.backfill_orders import (
    BackfillOrder,
    BackfillPreview,
)
from mainspring.store.backfills import (
    BackfillLine,
)
from mainspring.store.dags import DagRow
from mainspring.store.dead_letters import Letter
from mainspring.store.drains import Drained
from mainspring.store.job_orders import JobOrder
from mainspring.store.job_reading import JobLine
from mainspring.store.marks import Mark, Marked
from mainspring.store.pauses import (
    Paused,
)
from mainspring.store.reading import RunLine
from mainspring.store.runs import Deed
from mainspring.store.schedule_changes import Changed, Put
from mainspring.store.schedule_reading import ScheduleLine, ScheduleWhole

if TYPE_CHECKING:
    from mainspring.client.sync import Room


class SyncCalls(ABC):
    """All that `Client` has but what concerns the caller's own connection."""

    @abstractmethod
    def _entered(self) -> Room: ...

    def wake(self) -> None:
        """Tell workers of what was enqueued with `connection`; call it after the commit."""
        room = self._entered()
        room.call(room.client.wake())

    def trigger(
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
        room = self._entered()
        return room.call(
            room.client.trigger(dag_name, parameters, run_at=run_at, key=key, created_by=created_by)
        )

    def wait(self, run_id: int, *, poll_seconds: float = 0.1) -> RunLine:
        """The run, once it is closed."""
        room = self._entered()
        return room.call(room.client.wait(run_id, poll_seconds=poll_seconds))

    def cancel(self, run_id: int, *, at_once: bool = False) -> int:
        """Stop a run. Says how many of its tasks still run and were asked to stop.

        `at_once` kills processes and commands without the time that they have to tidy up.
        """
        room = self._entered()
        return room.call(room.client.cancel(run_id, at_once=at_once))

    def rerun(
        self, run_id: int, *, tasks: Sequence[str] | None = None, all: bool = False
    ) -> list[str]:
        """Run tasks of a run again, in the same run: what failed or was cancelled, `tasks`, or all.

        With each goes what comes after it; the rest of the run is kept. Returns the names of the
        tasks that run again. ConflictError if one of them has not ended, if one comes after a task
        that did not succeed and is not among them, or if there is none.
        """
        room = self._entered()
        return room.call(room.client.rerun(run_id, tasks=tasks, all=all))

    def rerun_latest(
        self, run_id: int, *, key: str | None = None, created_by: str | None = None
    ) -> int:
        """Make a new run with the parameters of another one, on the dag's version and code of now.

        Returns its id. Asked again, for the same run and while version and code are the same, it is
        the same new run; another `key` makes another. InputError if the parameters do not fit the
        dag any more.
        """
        room = self._entered()
        return room.call(room.client.rerun_latest(run_id, key=key, created_by=created_by))

    def retry(self, letters: Sequence[Letter], by: Deed) -> list[str]:
        """Run dead letters of one run again, and what comes after them; the rest is kept.

        Returns the names of the tasks that run again: none if somebody has taken the letters up
        since they were read. What another failure keeps closed stays closed. ConflictError if a
        task that comes after them has not ended, or comes after one that has not.
        """
        room = self._entered()
        return room.call(room.client.retry(letters, by))

    def mark(
        self, run_id: int, task: str, state: Mark, by: Deed, *, result: bytes | None = None
    ) -> Marked:
        """Close a task by hand, as if it had ended so: `result` is JSON, for one that succeeds.

        It may wait, rest, be ready, run, or have failed. An attempt that runs is stopped, and what
        it reports is refused; of a run that has ended the task is opened again, with what comes
        after it. ConflictError if the task has ended otherwise, or moves meanwhile.
        """
        room = self._entered()
        return room.call(room.client.mark(run_id, task, state, by, result=result))

    def pause_dag(self, name: str, *, note: str | None = None, by: str | None = None) -> Paused:
        """Hold a dag: once this was answered, none of its tasks is handed to a worker.

        What runs goes on. Runs can be made and wait. Pausing a paused dag changes its note, if one
        is given, and nothing else.
        """
        room = self._entered()
        return room.call(room.client.pause_dag(name, note=note, by=by))

    def resume_dag(self, name: str) -> Paused:
        """End a dag's pause: what waits goes on, in the order that it had."""
        room = self._entered()
        return room.call(room.client.resume_dag(name))

    def pause_queue(self, name: str, *, note: str | None = None, by: str | None = None) -> Paused:
        """Hold a queue: once this was answered, nothing of it is handed to a worker."""
        room = self._entered()
        return room.call(room.client.pause_queue(name, note=note, by=by))

    def resume_queue(self, name: str) -> Paused:
        """End a queue's pause."""
        room = self._entered()
        return room.call(room.client.resume_queue(name))

    def drain_worker(
        self, worker: str, *, stop: bool = False, note: str | None = None, by: str | None = None
    ) -> Drained:
        """Let a worker, by id or name, finish what it runs: once this was answered, it is given
        nothing more until it is resumed. With `stop` it ends when nothing is left.
        """
        room = self._entered()
        return room.call(room.client.drain_worker(worker, stop=stop, note=note, by=by))

    def resume_worker(self, worker: str) -> Drained:
        """Let a worker claim again that was to drain."""
        room = self._entered()
        return room.call(room.client.resume_worker(worker))

    def set_priority(self, run_id: int, priority: int) -> int:
        """Change the priority of all tasks of a run that no worker has; says how many there were.

        From 0 to 9, higher sooner. Among tasks of one priority their order stays as it was.
        """
        room = self._entered()
        return room.call(room.client.set_priority(run_id, priority))

    def schedule(
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
        room = self._entered()
        return room.call(
            room.client.schedule(
                subject, when, name=name, parameters=parameters, note=note, by=by, **options
            )
        )

    def create_schedule(
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
        room = self._entered()
        return room.call(
            room.client.create_schedule(
                name, subject, when, parameters=parameters, note=note, by=by, **options
            )
        )

    def put_schedule(
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
        room = self._entered()
        return room.call(
            room.client.put_schedule(
                name,
                subject,
                when,
                version=version,
                parameters=parameters,
                note=note,
                by=by,
                **options,
            )
        )

    def pause_schedule(
        self, *names: str, note: str | None = None, by: str | None = None
    ) -> list[Changed]:
        """Let schedules fire no more until they are resumed; all of them, or none."""
        room = self._entered()
        return room.call(room.client.pause_schedule(*names, note=note, by=by))

    def resume_schedule(self, *names: str) -> list[Changed]:
        """End the pause of schedules: they go on with their first fire after now."""
        room = self._entered()
        return room.call(room.client.resume_schedule(*names))

    def remove_schedule(self, *names: str) -> list[Changed]:
        """Schedules are no more; runs that they made go on, and their history stays."""
        room = self._entered()
        return room.call(room.client.remove_schedule(*names))

    def list_schedules(self, *, dag: str | None = None) -> list[ScheduleLine]:
        """All schedules, or those of a dag, by name."""
        room = self._entered()
        return room.call(room.client.list_schedules(dag=dag))

    def show_schedule(self, name: str, *, fires: int = 20) -> ScheduleWhole:
        """One schedule, with its versions, and what became of its last fires."""
        room = self._entered()
        return room.call(room.client.show_schedule(name, fires=fires))

    def preview_backfill(self, order: BackfillOrder, *, shown: int = 20) -> BackfillPreview:
        """What a backfill would run: how many instants, the first of them, and which have a run."""
        room = self._entered()
        return room.call(room.client.preview_backfill(order, shown=shown))

    def create_backfill(self, order: BackfillOrder, *, by: str | None = None) -> BackfillLine:
        """Make runs for instants of the past, as `order` says; engines do it from now on."""
        room = self._entered()
        return room.call(room.client.create_backfill(order, by=by))

    def backfill(self, backfill_id: int) -> BackfillLine:
        """How a backfill stands."""
        room = self._entered()
        return room.call(room.client.backfill(backfill_id))

    def pause_backfill(
        self, backfill_id: int, *, note: str | None = None, by: str | None = None
    ) -> BackfillLine:
        """Once this was answered it makes no runs, until it is resumed; open ones go on."""
        room = self._entered()
        return room.call(room.client.pause_backfill(backfill_id, note=note, by=by))

    def resume_backfill(self, backfill_id: int) -> BackfillLine:
        """It goes on where it was."""
        room = self._entered()
        return room.call(room.client.resume_backfill(backfill_id))

    def cancel_backfill(
        self,
        backfill_id: int,
        *,
        runs: bool = False,
        note: str | None = None,
        by: str | None = None,
    ) -> BackfillLine:
        """It makes no more runs. With `runs`, its open ones are stopped, too."""
        room = self._entered()
        return room.call(room.client.cancel_backfill(backfill_id, runs=runs, note=note, by=by))

    def wait_backfill(self, backfill_id: int, *, poll_seconds: float = 0.2) -> BackfillLine:
        """The backfill, once nothing more will happen to it by itself: it is over, or paused."""
        room = self._entered()
        return room.call(room.client.wait_backfill(backfill_id, poll_seconds=poll_seconds))

    def create_job(
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
        room = self._entered()
        return room.call(
            room.client.create_job(
                name,
                command=command,
                http=http,
                task=task,
                when=when,
                parameters=parameters,
                retries=retries,
                timeout=timeout,
                priority=priority,
                queue=queue,
                idempotency_key=idempotency_key,
                by=by,
                **options,
            )
        )

    def create_jobs(self, orders: Iterable[JobOrder]) -> list[int]:
        """Make a job for each order, all or none; their numbers are in the same order."""
        room = self._entered()
        return room.call(room.client.create_jobs(orders))

    def job(self, job: str | int) -> JobLine:
        """How a job stands, by its name or number: status, progress, last and next run."""
        room = self._entered()
        return room.call(room.client.job(job))

    def list_jobs(
        self,
        *,
        status: JobStatus | None = None,
        kind: JobKind | None = None,
        beginning: str = "",
        before: int | None = None,
        limit: int = 50,
    ) -> list[JobLine]:
        """The newest first; the next page is `before` the last number of this one."""
        room = self._entered()
        return room.call(
            room.client.list_jobs(
                status=status, kind=kind, beginning=beginning, before=before, limit=limit
            )
        )

    def job_runs(
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
        room = self._entered()
        return room.call(
            room.client.job_runs(
                job, states=states, since=since, until=until, before=before, limit=limit
            )
        )

    def trigger_job(
        self, job: str | int, *, idempotency_key: str | None = None, by: str | None = None
    ) -> int:
        """Run a job now, whatever its schedule says, and return the run's id."""
        room = self._entered()
        return room.call(room.client.trigger_job(job, idempotency_key=idempotency_key, by=by))

    def reschedule_job(
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
        room = self._entered()
        return room.call(room.client.reschedule_job(job, when, version=version, by=by, **options))

    def pause_job(
        self,
        job: str | int,
        *,
        note: str | None = None,
        version: int | None = None,
        by: str | None = None,
    ) -> JobLine:
        """Let the schedule of a job fire no more until it is resumed; what runs goes on."""
        room = self._entered()
        return room.call(room.client.pause_job(job, note=note, version=version, by=by))

    def resume_job(self, job: str | int, *, version: int | None = None) -> JobLine:
        """End the pause of a job: it goes on with its first fire after now."""
        room = self._entered()
        return room.call(room.client.resume_job(job, version=version))

    def cancel_job(
        self,
        job: str | int,
        *,
        note: str | None = None,
        version: int | None = None,
        by: str | None = None,
    ) -> JobLine:
        """Let nothing of a job start any more, and stop its open runs."""
        room = self._entered()
        return room.call(room.client.cancel_job(job, note=note, version=version, by=by))

    def dag(self, name: str) -> DagRow:
        """A dag as a trigger uses it now."""
        room = self._entered()
        return room.call(room.client.dag(name))

    def database_url(self) -> str:
        """Where the database is, for connections of the application's own."""
        room = self._entered()
        return room.call(room.client.database_url())
