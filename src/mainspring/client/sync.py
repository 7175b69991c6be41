"""The client for code without an event loop: the same client, in a thread with a loop.

Only what concerns the caller's own connection happens in the caller's thread. Calls of many
threads at once share statements, as concurrent awaits do.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from mainspring.client.client import Client
from mainspring.client.connections import carry_out_sync, check_transaction, sync_door
from mainspring.client.creation import creating_beside
from mainspring.client.jobs import JobTimes
from mainspring.client.scheduling import Times
from mainspring.client.subjects import Subject
from mainspring.domain.durations import Duration
from mainspring.domain.errors import UnavailableError
from mainspring.domain.jobs import CommandCall, HttpCall, JobKind, JobStatus
from mainspring.domain.states import RunState
from mainspring.store.backfill_orders import BackfillOrder, BackfillPreview
from mainspring.store.backfills import BackfillLine
from mainspring.store.dead_letters import Letter
from mainspring.store.drains import Drained
from mainspring.store.job_orders import JobOrder
from mainspring.store.job_reading import JobLine
from mainspring.store.marks import Mark, Marked
from mainspring.store.pauses import Paused
from mainspring.store.reading import RunLine
from mainspring.store.runs import Deed
from mainspring.store.schedule_changes import Changed, Put
from mainspring.store.schedule_reading import ScheduleLine, ScheduleWhole

_T = TypeVar("_T")

_abandoned: list[object] = []
"""Clients of a parent process: their sockets are still its own, so nothing here may end them."""


class SyncClient:
    """Starts, awaits, stops and reruns runs from synchronous code, from any number of threads.

    Connects at its first use, so that it can be made when a module is imported; after a fork
    the child connects anew.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        name: str = "client",
        created_by: str | None = None,
        patience_seconds: float = 30.0,
    ) -> None:
        self._url = url
        self._name = name
        self._created_by = created_by
        self._patience_seconds = patience_seconds
        self._starting = threading.Lock()
        self._room: _Room | None = None
        self._closed = False

    def __enter__(self) -> Self:
        self._entered()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        with self._starting:
            self._closed = True
            room, self._room = self._room, None
        if room is not None and room.pid == os.getpid():
            room.close()

    def enqueue(
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
        """As `Client.enqueue`; `connection` is a synchronous one of psycopg or SQLAlchemy."""
        room = self._entered()
        if connection is None:
            return room.call(
                room.client.enqueue(
                    subject,
                    run_at=run_at,
                    idempotency_key=idempotency_key,
                    parameters=parameters,
                    **named,
                )
            )
        door = sync_door(connection)
        enqueuer = room.client.enqueuer
        runs = room.call(enqueuer.runs_beside(subject, parameters, named, run_at, idempotency_key))
        created = carry_out_sync(door, creating_beside(runs))
        enqueuer.made_beside(created.lanes)
        return created.ids[0]

    def enqueue_many(
        self,
        subject: Subject,
        parameters: Iterable[Mapping[str, Any]],
        /,
        *,
        run_at: datetime | None = None,
        idempotency_keys: Sequence[str] | None = None,
        connection: object | None = None,
    ) -> list[int]:
        """As `Client.enqueue_many`."""
        room = self._entered()
        if connection is None:
            return room.call(
                room.client.enqueue_many(
                    subject, parameters, run_at=run_at, idempotency_keys=idempotency_keys
                )
            )
        door = sync_door(connection)
        check_transaction(door)
        enqueuer = room.client.enqueuer
        runs = room.call(enqueuer.many_runs(subject, parameters, run_at, idempotency_keys))
        if not runs:
            return []
        created = carry_out_sync(door, creating_beside(runs))
        enqueuer.made_beside(created.lanes)
        return created.ids

    def wake(self) -> None:
        """As `Client.wake`."""
        room = self._entered()
        room.call(room.client.wake())

    def wait(self, run_id: int, *, poll_seconds: float = 0.1) -> RunLine:
        """The run, once it is closed."""
        room = self._entered()
        return room.call(room.client.wait(run_id, poll_seconds=poll_seconds))

    def cancel(self, run_id: int, *, at_once: bool = False) -> int:
        """Stop a run. Says how many of its tasks still run and were asked to stop."""
        room = self._entered()
        return room.call(room.client.cancel(run_id, at_once=at_once))

    def rerun(
        self, run_id: int, *, tasks: Sequence[str] | None = None, all: bool = False
    ) -> list[str]:
        """As `Client.rerun`."""
        room = self._entered()
        return room.call(room.client.rerun(run_id, tasks=tasks, all=all))

    def rerun_latest(
        self, run_id: int, *, key: str | None = None, created_by: str | None = None
    ) -> int:
        """As `Client.rerun_latest`."""
        room = self._entered()
        return room.call(room.client.rerun_latest(run_id, key=key, created_by=created_by))

    def retry(self, letters: Sequence[Letter], by: Deed) -> list[str]:
        """As `Client.retry`."""
        room = self._entered()
        return room.call(room.client.retry(letters, by))

    def mark(
        self, run_id: int, task: str, state: Mark, by: Deed, *, result: bytes | None = None
    ) -> Marked:
        """As `Client.mark`."""
        room = self._entered()
        return room.call(room.client.mark(run_id, task, state, by, result=result))

    def pause_dag(self, name: str, *, note: str | None = None, by: str | None = None) -> Paused:
        """As `Client.pause_dag`."""
        room = self._entered()
        return room.call(room.client.pause_dag(name, note=note, by=by))

    def resume_dag(self, name: str) -> Paused:
        """As `Client.resume_dag`."""
        room = self._entered()
        return room.call(room.client.resume_dag(name))

    def pause_queue(self, name: str, *, note: str | None = None, by: str | None = None) -> Paused:
        """As `Client.pause_queue`."""
        room = self._entered()
        return room.call(room.client.pause_queue(name, note=note, by=by))

    def resume_queue(self, name: str) -> Paused:
        """As `Client.resume_queue`."""
        room = self._entered()
        return room.call(room.client.resume_queue(name))

    def drain_worker(
        self,
        worker: str,
        *,
        stop: bool = False,
        note: str | None = None,
        by: str | None = None,
    ) -> Drained:
        """As `Client.drain_worker`."""
        room = self._entered()
        return room.call(room.client.drain_worker(worker, stop=stop, note=note, by=by))

    def resume_worker(self, worker: str) -> Drained:
        """As `Client.resume_worker`."""
        room = self._entered()
        return room.call(room.client.resume_worker(worker))

    def set_priority(self, run_id: int, priority: int) -> int:
        """As `Client.set_priority`."""
        room = self._entered()
        return room.call(room.client.set_priority(run_id, priority))

    def preview_backfill(self, order: BackfillOrder, *, shown: int = 20) -> BackfillPreview:
        """As `Client.preview_backfill`."""
        room = self._entered()
        return room.call(room.client.preview_backfill(order, shown=shown))

    def create_backfill(self, order: BackfillOrder, *, by: str | None = None) -> BackfillLine:
        """As `Client.create_backfill`."""
        room = self._entered()
        return room.call(room.client.create_backfill(order, by=by))

    def backfill(self, backfill_id: int) -> BackfillLine:
        """As `Client.backfill`."""
        room = self._entered()
        return room.call(room.client.backfill(backfill_id))

    def pause_backfill(
        self, backfill_id: int, *, note: str | None = None, by: str | None = None
    ) -> BackfillLine:
        """As `Client.pause_backfill`."""
        room = self._entered()
        return room.call(room.client.pause_backfill(backfill_id, note=note, by=by))

    def resume_backfill(self, backfill_id: int) -> BackfillLine:
        """As `Client.resume_backfill`."""
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
        """As `Client.cancel_backfill`."""
        room = self._entered()
        return room.call(room.client.cancel_backfill(backfill_id, runs=runs, note=note, by=by))

    def wait_backfill(self, backfill_id: int, *, poll_seconds: float = 0.2) -> BackfillLine:
        """As `Client.wait_backfill`."""
        room = self._entered()
        return room.call(room.client.wait_backfill(backfill_id, poll_seconds=poll_seconds))

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
        """As `Client.schedule`."""
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
        """As `Client.create_schedule`."""
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
        """As `Client.put_schedule`."""
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
        """As `Client.pause_schedule`."""
        room = self._entered()
        return room.call(room.client.pause_schedule(*names, note=note, by=by))

    def resume_schedule(self, *names: str) -> list[Changed]:
        """As `Client.resume_schedule`."""
        room = self._entered()
        return room.call(room.client.resume_schedule(*names))

    def remove_schedule(self, *names: str) -> list[Changed]:
        """As `Client.remove_schedule`."""
        room = self._entered()
        return room.call(room.client.remove_schedule(*names))

    def list_schedules(self, *, dag: str | None = None) -> list[ScheduleLine]:
        """As `Client.list_schedules`."""
        room = self._entered()
        return room.call(room.client.list_schedules(dag=dag))

    def show_schedule(self, name: str, *, fires: int = 20) -> ScheduleWhole:
        """As `Client.show_schedule`."""
        room = self._entered()
        return room.call(room.client.show_schedule(name, fires=fires))

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
        """As `Client.create_job`."""
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
        """As `Client.create_jobs`."""
        room = self._entered()
        return room.call(room.client.create_jobs(orders))

    def job(self, job: str | int) -> JobLine:
        """As `Client.job`."""
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
        """As `Client.list_jobs`."""
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
        """As `Client.job_runs`."""
        room = self._entered()
        return room.call(
            room.client.job_runs(
                job, states=states, since=since, until=until, before=before, limit=limit
            )
        )

    def trigger_job(
        self, job: str | int, *, idempotency_key: str | None = None, by: str | None = None
    ) -> int:
        """As `Client.trigger_job`."""
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
        """As `Client.reschedule_job`."""
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
        """As `Client.pause_job`."""
        room = self._entered()
        return room.call(room.client.pause_job(job, note=note, version=version, by=by))

    def resume_job(self, job: str | int, *, version: int | None = None) -> JobLine:
        """As `Client.resume_job`."""
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
        """As `Client.cancel_job`."""
        room = self._entered()
        return room.call(room.client.cancel_job(job, note=note, version=version, by=by))

    def database_url(self) -> str:
        """Where the database is, for connections of the application's own."""
        room = self._entered()
        return room.call(room.client.database_url())

    def _entered(self) -> _Room:
        room = self._room
        if room is not None and room.pid == os.getpid():
            return room
        with self._starting:
            if self._closed:
                raise UnavailableError("the client is closed", hint="make a new one")
            if self._room is not None and self._room.pid != os.getpid():
                _abandoned.append(self._room)
                self._room = None
            if self._room is None:
                self._room = _Room(
                    Client(
                        self._url,
                        name=self._name,
                        created_by=self._created_by,
                        patience_seconds=self._patience_seconds,
                    )
                )
            return self._room


class _Room:
    """A thread with an event loop and a client in it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        # A daemon: a program that forgets to close must be able to end.
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="mainspring client", daemon=True
        )
        self._thread.start()
        try:
            self.call(client.__aenter__())
        except BaseException:
            self._stop()
            raise

    def call(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            # Also an interrupt while waiting: nobody will ask for the answer.
            future.cancel()
            raise

    def close(self) -> None:
        try:
            self.call(self.client.__aexit__(None, None, None))
        finally:
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
