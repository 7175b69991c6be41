# Generated from src/mainspring/api/resources by `make gen`; do not edit.
"""The client over HTTP: a method for each route of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from msgspec import UNSET, UnsetType

from mainspring.config import server_place
from mainspring.domain.pages import Page
from mainspring.http.asking import Asker, Sockets, Transport
from mainspring.http.later import Later
from mainspring.http.requests import (
    Reply,
    body,
    checked_url,
    given,
    range_header,
    target,
    version_header,
)

if TYPE_CHECKING:
    from mainspring.domain import jobs, roles, states, written_dags
    from mainspring.http import models
    from mainspring.schedule import backfilling
    from mainspring.store import (
        backfill_shapes,
        calendar_documents,
        checks,
        coming_fires,
        comparison,
        engine_shapes,
        grid,
        job_shapes,
        letter_shapes,
        pruning,
        rollup_shapes,
        rollups,
        schedule_shapes,
        shapes,
        tokens,
        why,
    )
else:
    backfill_shapes = Later("mainspring.store.backfill_shapes")
    backfilling = Later("mainspring.schedule.backfilling")
    calendar_documents = Later("mainspring.store.calendar_documents")
    checks = Later("mainspring.store.checks")
    coming_fires = Later("mainspring.store.coming_fires")
    comparison = Later("mainspring.store.comparison")
    engine_shapes = Later("mainspring.store.engine_shapes")
    grid = Later("mainspring.store.grid")
    job_shapes = Later("mainspring.store.job_shapes")
    jobs = Later("mainspring.domain.jobs")
    letter_shapes = Later("mainspring.store.letter_shapes")
    models = Later("mainspring.http.models")
    pruning = Later("mainspring.store.pruning")
    roles = Later("mainspring.domain.roles")
    rollup_shapes = Later("mainspring.store.rollup_shapes")
    rollups = Later("mainspring.store.rollups")
    schedule_shapes = Later("mainspring.store.schedule_shapes")
    shapes = Later("mainspring.store.shapes")
    states = Later("mainspring.domain.states")
    tokens = Later("mainspring.store.tokens")
    why = Later("mainspring.store.why")
    written_dags = Later("mainspring.domain.written_dags")


class Dags:
    """Named graphs of tasks, their versions, and runs of them."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def list(
        self,
        *,
        owner: str | None = None,
        tag: Sequence[str] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[shapes.Dag]:
        """Dags, by name."""
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/dags", {}, {"owner": owner, "tag": tag, "limit": limit, "cursor": cursor}
            ),
            Page[shapes.Dag],
        )

    async def each(
        self,
        *,
        owner: str | None = None,
        tag: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[shapes.Dag]:
        """As `list`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list(owner=owner, tag=tag, limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def list_file_problems(self) -> Page[shapes.UnreadFile]:
        """Files of dags that could not be read, and why. What was read of them before is in
        force.
        """
        return await self._asker.ask(
            "GET", target("/api/v1/file-problems", {}, {}), Page[shapes.UnreadFile]
        )

    async def show(self, dag: str, /) -> shapes.DagWhole:
        """One dag with its parameters and tasks, as a trigger uses it now."""
        return await self._asker.ask(
            "GET", target("/api/v1/dags/{dag}", {"dag": dag}, {}), shapes.DagWhole
        )

    async def list_versions(self, dag: str, /, *, limit: int | None = None) -> Page[shapes.Version]:
        """The versions of a dag, the newest first; the oldest are not told."""
        return await self._asker.ask(
            "GET",
            target("/api/v1/dags/{dag}/versions", {"dag": dag}, {"limit": limit}),
            Page[shapes.Version],
        )

    async def diff_versions(self, dag: str, /, *, before: int, after: int) -> shapes.VersionsDiffer:
        """What changed in a dag from one version to another."""
        return await self._asker.ask(
            "GET",
            target("/api/v1/dags/{dag}/diff", {"dag": dag}, {"before": before, "after": after}),
            shapes.VersionsDiffer,
        )

    async def show_code(self, dag: str, version: int, /, *, file: str | None = None) -> models.Code:
        """The last code that a version was read from: its files, and the text of one.

        At most 512 KiB of a text are told. Code is for those who may act: a secret that
        somebody wrote into it cannot be told from the rest.
        """
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/dags/{dag}/versions/{version}/code",
                {"dag": dag, "version": version},
                {"file": file},
            ),
            models.Code,
        )

    async def roll_back(
        self, dag: str, /, *, version: int, idempotency_key: str | None = None
    ) -> shapes.VersionChange:
        """Let triggers of a dag use this version, with its code.

        Runs that exist stay on theirs. It holds until a file that concerns the dag changes: its
        own, or one that defines no other dag. The version that the folder has ends it at once.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/dags/{dag}/rollback", {"dag": dag}, {}),
            shapes.VersionChange,
            content=body({"version": version}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def refresh(self, *, idempotency_key: str | None = None) -> models.Asked:
        """Let engines ask their repositories of dags now, not in a while."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/dags/refresh", {}, {}),
            models.Asked,
            headers={"Idempotency-Key": idempotency_key},
        )

    async def pause(
        self, dag: str, /, *, note: str | None = None, idempotency_key: str | None = None
    ) -> shapes.PauseChange:
        """Hold a dag: none of its tasks is handed to a worker any more. What runs goes on."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/dags/{dag}/pause", {"dag": dag}, {}),
            shapes.PauseChange,
            content=body({"note": given(note)}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def resume(
        self, dag: str, /, *, idempotency_key: str | None = None
    ) -> shapes.PauseChange:
        """End a dag's pause: what waits goes on, in the order that it had."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/dags/{dag}/resume", {"dag": dag}, {}),
            shapes.PauseChange,
            headers={"Idempotency-Key": idempotency_key},
        )

    async def create_run(
        self,
        dag: str,
        /,
        *,
        parameters: Mapping[str, Any] | UnsetType = UNSET,
        run_at: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> shapes.Run:
        """Start a run of a dag.

        With an `Idempotency-Key` it is one run, however often it is asked; the answer tells how
        the run stands.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/dags/{dag}/runs", {"dag": dag}, {}),
            shapes.Run,
            content=body({"parameters": parameters, "run_at": given(run_at)}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def list_runs(
        self,
        dag: str,
        /,
        *,
        state: states.RunState | None = None,
        trigger: Literal["schedule", "event", "manual", "backfill", "upstream", "rerun"]
        | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[shapes.Run]:
        """Runs of a dag, the newest first."""
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/dags/{dag}/runs",
                {"dag": dag},
                {
                    "state": state,
                    "trigger": trigger,
                    "since": since,
                    "until": until,
                    "before": before,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            Page[shapes.Run],
        )

    async def each_run(
        self,
        dag: str,
        /,
        *,
        state: states.RunState | None = None,
        trigger: Literal["schedule", "event", "manual", "backfill", "upstream", "rerun"]
        | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[shapes.Run]:
        """As `list_runs`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list_runs(
                dag,
                state=state,
                trigger=trigger,
                since=since,
                until=until,
                before=before,
                limit=limit,
                cursor=cursor,
            )
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def show_run(
        self,
        dag: str,
        run: int,
        /,
        *,
        wait: float | None = None,
        task_state: Sequence[states.TaskState] | None = None,
        tasks_max: int | None = None,
        result_bytes: int | None = None,
    ) -> shapes.RunWhole:
        """One run of a dag, as `/runs/{run}` tells it."""
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/dags/{dag}/runs/{run}",
                {"dag": dag, "run": run},
                {
                    "wait": wait,
                    "task_state": task_state,
                    "tasks_max": tasks_max,
                    "result_bytes": result_bytes,
                },
            ),
            shapes.RunWhole,
        )

    async def create_runs(
        self,
        dag: str,
        /,
        *,
        runs: Sequence[models.NewRunOfMany],
        run_at: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> models.RunsMade:
        """Start many runs of a dag, all or none; an error says which of them cannot be."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/dags/{dag}/runs/bulk", {"dag": dag}, {}),
            models.RunsMade,
            content=body({"runs": runs, "run_at": given(run_at)}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def write(
        self,
        *,
        name: str,
        tasks: Sequence[written_dags.WrittenTask],
        parameters: Mapping[str, Mapping[str, Any]] | UnsetType = UNSET,
        timeout: str | float | None = None,
        description: str = "",
        doc: str = "",
        owner: str = "",
        tags: Sequence[str] | UnsetType = UNSET,
        schedule: str | Sequence[str] | models.WrittenSpec | None = None,
        schedule_parameters: Mapping[str, Any] | UnsetType = UNSET,
        if_match: int | None = None,
        idempotency_key: str | None = None,
    ) -> shapes.DagWritten:
        """Make a dag from JSON, or a new version of it: all of it, as it is to be.

        A task is a `command`, an `http` request, or a `task`: a function that is installed
        where the workers are. Any value may be `{"$parameter": name}` or `{"$result": task}`.
        What is so already is left alone. With `If-Match` only that version is changed; with
        `If-None-Match: *` it must not be there yet. A name that a file or an application has is
        refused.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/dags", {}, {}),
            shapes.DagWritten,
            content=body(
                {
                    "name": name,
                    "tasks": tasks,
                    "parameters": parameters,
                    "timeout": given(timeout),
                    "description": description,
                    "doc": doc,
                    "owner": owner,
                    "tags": tags,
                    "schedule": given(schedule),
                    "schedule_parameters": schedule_parameters,
                }
            ),
            headers={
                "If-Match": None if if_match is None else version_header(if_match),
                "Idempotency-Key": idempotency_key,
            },
        )

    async def remove(self, dag: str, /) -> shapes.DagRemoved:
        """Take a dag away that was written as JSON, and its schedules.

        No run of it can be made any more. Runs that are open go on, and history stays. A dag of
        a file or of an application is refused: it goes with these.
        """
        return await self._asker.ask(
            "DELETE", target("/api/v1/dags/{dag}", {"dag": dag}, {}), shapes.DagRemoved
        )


class Jobs:
    """Commands, requests and tasks under a name, at once or by a schedule."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def create(
        self,
        *,
        name: str | None = None,
        command: Sequence[str] | jobs.CommandCall | None = None,
        http: str | jobs.HttpCall | None = None,
        task: str | None = None,
        schedule: str | Sequence[str] | models.WrittenSpec | None = None,
        parameters: Mapping[str, Any] | UnsetType = UNSET,
        retries: int | None = None,
        timeout: str | float | None = None,
        priority: int | None = None,
        queue: str | None = None,
        idempotency_key: str | None = None,
    ) -> job_shapes.JobMade:
        """Make a job of a command, a request or a task; without a schedule it runs at once.

        That run has the job's number. With an `Idempotency-Key` it is one job, however often it
        is asked for; the answer tells how it stands.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/jobs", {}, {}),
            job_shapes.JobMade,
            content=body(
                {
                    "name": given(name),
                    "command": given(command),
                    "http": given(http),
                    "task": given(task),
                    "schedule": given(schedule),
                    "parameters": parameters,
                    "retries": given(retries),
                    "timeout": given(timeout),
                    "priority": given(priority),
                    "queue": given(queue),
                }
            ),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def create_jobs(
        self, *, jobs: Sequence[models.JobBody], idempotency_key: str | None = None
    ) -> Page[job_shapes.JobMade]:
        """Make up to 10,000 jobs, all or none. The answer has them in the order of the request."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/jobs/bulk", {}, {}),
            Page[job_shapes.JobMade],
            content=body({"jobs": jobs}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def list(
        self,
        *,
        status: jobs.JobStatus | None = None,
        kind: jobs.JobKind | None = None,
        name: str | None = None,
        before: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[job_shapes.Job]:
        """Jobs, the newest first.

        A filter looks at the newest 2,000 jobs from the cursor on; follow `next` to look
        further.
        """
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/jobs",
                {},
                {
                    "status": status,
                    "kind": kind,
                    "name": name,
                    "before": before,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            Page[job_shapes.Job],
        )

    async def each(
        self,
        *,
        status: jobs.JobStatus | None = None,
        kind: jobs.JobKind | None = None,
        name: str | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[job_shapes.Job]:
        """As `list`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list(
                status=status, kind=kind, name=name, before=before, limit=limit, cursor=cursor
            )
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def show(self, job: str, /) -> job_shapes.Job:
        """How a job stands: status, progress, last and next run.

        The `ETag` is good for `If-Match`.
        """
        return await self._asker.ask(
            "GET", target("/api/v1/jobs/{job}", {"job": job}, {}), job_shapes.Job
        )

    async def list_runs(
        self,
        job: str,
        /,
        *,
        state: Sequence[states.RunState] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[shapes.Run]:
        """Runs of a job, the newest first.

        With states, the newest 2,000 from the cursor on are looked at; follow `next` to look
        further.
        """
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/jobs/{job}/runs",
                {"job": job},
                {
                    "state": state,
                    "since": since,
                    "until": until,
                    "before": before,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            Page[shapes.Run],
        )

    async def each_run(
        self,
        job: str,
        /,
        *,
        state: Sequence[states.RunState] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[shapes.Run]:
        """As `list_runs`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list_runs(
                job,
                state=state,
                since=since,
                until=until,
                before=before,
                limit=limit,
                cursor=cursor,
            )
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def trigger(self, job: str, /, *, idempotency_key: str | None = None) -> shapes.Run:
        """Run a job now, whatever its schedule says. `id` is the run's.

        With an `Idempotency-Key` it is one run, however often it is asked for.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/jobs/{job}/trigger", {"job": job}, {}),
            shapes.Run,
            headers={"Idempotency-Key": idempotency_key},
        )

    async def change(
        self,
        job: str,
        /,
        *,
        schedule: str | Sequence[str] | models.WrittenSpec | UnsetType | None = UNSET,
        paused: bool | UnsetType = UNSET,
        cancelled: bool | UnsetType = UNSET,
        note: str | None = None,
        if_match: int | None = None,
    ) -> job_shapes.Job:
        """Reschedule, pause, resume or cancel a job: one of them at a time.

        With `If-Match` it is changed only if it is still at that version; a 412 has how it is
        now in `current`.
        """
        return await self._asker.ask(
            "PATCH",
            target("/api/v1/jobs/{job}", {"job": job}, {}),
            job_shapes.Job,
            content=body(
                {
                    "schedule": schedule,
                    "paused": paused,
                    "cancelled": cancelled,
                    "note": given(note),
                }
            ),
            headers={"If-Match": None if if_match is None else version_header(if_match)},
        )


class Runs:
    """What was executed, and what can be done to it."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def list(
        self,
        *,
        state: states.RunState | None = None,
        trigger: Literal["schedule", "event", "manual", "backfill", "upstream", "rerun"]
        | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        dag: str | None = None,
        tag: Sequence[str] | None = None,
        text: str | None = None,
    ) -> Page[shapes.Run]:
        """Runs, the newest first.

        Dags, states and times are looked up. What that leaves is looked through, 2,000 runs in
        a request: a page may hold less than was asked for, or nothing, and still have a `next`
        to follow.
        """
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/runs",
                {},
                {
                    "state": state,
                    "trigger": trigger,
                    "since": since,
                    "until": until,
                    "before": before,
                    "limit": limit,
                    "cursor": cursor,
                    "dag": dag,
                    "tag": tag,
                    "text": text,
                },
            ),
            Page[shapes.Run],
        )

    async def each(
        self,
        *,
        state: states.RunState | None = None,
        trigger: Literal["schedule", "event", "manual", "backfill", "upstream", "rerun"]
        | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: int | None = None,
        limit: int | None = None,
        dag: str | None = None,
        tag: Sequence[str] | None = None,
        text: str | None = None,
    ) -> AsyncIterator[shapes.Run]:
        """As `list`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list(
                state=state,
                trigger=trigger,
                since=since,
                until=until,
                before=before,
                limit=limit,
                dag=dag,
                tag=tag,
                text=text,
                cursor=cursor,
            )
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def show(
        self,
        run: int,
        /,
        *,
        wait: float | None = None,
        task_state: Sequence[states.TaskState] | None = None,
        tasks_max: int | None = None,
        result_bytes: int | None = None,
    ) -> shapes.RunWhole:
        """One run with its parameters, its tasks and their attempts.

        With `wait` the answer comes when the run has ended, or when that time is over: `state`
        tells.
        """
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/runs/{run}",
                {"run": run},
                {
                    "wait": wait,
                    "task_state": task_state,
                    "tasks_max": tasks_max,
                    "result_bytes": result_bytes,
                },
            ),
            shapes.RunWhole,
        )

    async def list_tasks(self, run: int, /) -> Page[shapes.Task]:
        """The tasks of a run, in the order of its dag."""
        return await self._asker.ask(
            "GET", target("/api/v1/runs/{run}/tasks", {"run": run}, {}), Page[shapes.Task]
        )

    async def show_task(self, run: int, task: str, /) -> shapes.Task:
        """One task of a run, with its attempts."""
        return await self._asker.ask(
            "GET",
            target("/api/v1/runs/{run}/tasks/{task}", {"run": run, "task": task}, {}),
            shapes.Task,
        )

    async def list_attempts(self, run: int, task: str, /) -> Page[shapes.Attempt]:
        """The attempts of one task, in their order."""
        return await self._asker.ask(
            "GET",
            target("/api/v1/runs/{run}/tasks/{task}/attempts", {"run": run, "task": task}, {}),
            Page[shapes.Attempt],
        )

    async def why(self, run: int, /, *, task: str | None = None) -> why.Why:
        """Why a run, or one task of it, stands where it stands, and what would move it on."""
        return await self._asker.ask(
            "GET", target("/api/v1/runs/{run}/why", {"run": run}, {"task": task}), why.Why
        )

    async def compare(self, run: int, other: int, /) -> comparison.Comparison:
        """Two runs side by side: versions, parameters, and each task."""
        return await self._asker.ask(
            "GET",
            target("/api/v1/runs/{run}/compare/{other}", {"run": run, "other": other}, {}),
            comparison.Comparison,
        )

    async def list_logs(
        self,
        run: int,
        /,
        *,
        task: str | None = None,
        content: bool | None = None,
        cursor: str | None = None,
    ) -> Page[shapes.Log]:
        """The logs of a run's tasks, in the order of its dag: how long they are, and how they
        end.

        Each try of a task has its own, under its term; a page holds those of 100 tasks.
        """
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/runs/{run}/logs",
                {"run": run},
                {"task": task, "content": content, "cursor": cursor},
            ),
            Page[shapes.Log],
        )

    async def each_log(
        self, run: int, /, *, task: str | None = None, content: bool | None = None
    ) -> AsyncIterator[shapes.Log]:
        """As `list_logs`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list_logs(run, task=task, content=content, cursor=cursor)
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def read_log(
        self,
        run: int,
        task: str,
        number: int,
        /,
        *,
        term: int | None = None,
        offset: int | None = None,
        wait: float | None = None,
        byte_range: tuple[int, int | None] | None = None,
    ) -> Reply:
        """What an attempt wrote, by byte range, or as it comes.

        Without `Range: bytes=A-B`, from its beginning; at most 1 MiB at a time, and `Content-
        Range` says which part it is. `Mainspring-Log` says whether more may come: `open`, or
        how it ended.

        To follow it give `offset`, the byte to go on from, and `wait`: the answer comes when
        something is there, when the log has ended, or when that time is over. `Mainspring-Log-
        Next` is the offset of the next request. Where something was lost the answer goes on
        after it, so it begins where its length and that offset say.
        """
        return await self._asker.reply(
            "GET",
            target(
                "/api/v1/runs/{run}/tasks/{task}/attempts/{number}/logs",
                {"run": run, "task": task, "number": number},
                {"term": term, "offset": offset, "wait": wait},
            ),
            headers={"Range": None if byte_range is None else range_header(byte_range)},
        )

    async def cancel(
        self, run: int, /, *, at_once: bool = False, idempotency_key: str | None = None
    ) -> shapes.RunStopping:
        """Stop a run. What runs is asked to end, what waits never starts.

        A run that has ended stays as it is.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/runs/{run}/cancel", {"run": run}, {}),
            shapes.RunStopping,
            content=body({"at_once": at_once}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def rerun(
        self,
        run: int,
        /,
        *,
        tasks: Sequence[str] | None = None,
        all: bool = False,
        idempotency_key: str | None = None,
    ) -> shapes.RunAgain:
        """Run tasks of a run again, in the same run, and what comes after them."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/runs/{run}/rerun", {"run": run}, {}),
            shapes.RunAgain,
            content=body({"tasks": given(tasks), "all": all}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def rerun_latest(self, run: int, /, *, idempotency_key: str | None = None) -> shapes.Run:
        """Make a new run with the parameters of another one, on the dag's version and code of
        now.

        Asked again while version and code are the same, it is the same new run; with another
        `Idempotency-Key` it is another one.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/runs/{run}/rerun-latest", {"run": run}, {}),
            shapes.Run,
            headers={"Idempotency-Key": idempotency_key},
            once=True,
        )

    async def mark(
        self,
        run: int,
        task: str,
        /,
        *,
        state: Literal["succeeded", "skipped"],
        note: str,
        result: Any = None,
        idempotency_key: str | None = None,
    ) -> shapes.RunMarked:
        """Close a task by hand: what comes after it goes on as if it had ended so.

        For a task that waits, rests, is ready, runs, or has failed. What runs is stopped, and
        what it reports is refused. A run that has failed is opened again.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/runs/{run}/tasks/{task}/mark", {"run": run, "task": task}, {}),
            shapes.RunMarked,
            content=body({"state": state, "note": note, "result": given(result)}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def set_priority(
        self, run: int, /, *, priority: int, idempotency_key: str | None = None
    ) -> shapes.RunReordered:
        """Give all tasks of a run that no worker has yet another priority."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/runs/{run}/priority", {"run": run}, {}),
            shapes.RunReordered,
            content=body({"priority": priority}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def cancel_runs(
        self,
        *,
        runs: Sequence[int] | None = None,
        filter: models.Filter | None = None,
        cursor: str | None = None,
        limit: int = 100,
        at_once: bool = False,
        idempotency_key: str | None = None,
    ) -> models.Done:
        """Stop many runs."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/runs/bulk/cancel", {}, {}),
            models.Done,
            content=body(
                {
                    "runs": given(runs),
                    "filter": given(filter),
                    "cursor": given(cursor),
                    "limit": limit,
                    "at_once": at_once,
                }
            ),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def rerun_runs(
        self,
        *,
        runs: Sequence[int] | None = None,
        filter: models.Filter | None = None,
        cursor: str | None = None,
        limit: int = 100,
        all: bool = False,
        idempotency_key: str | None = None,
    ) -> models.Done:
        """Run again what failed or was cancelled in many runs, each in the same run."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/runs/bulk/rerun", {}, {}),
            models.Done,
            content=body(
                {
                    "runs": given(runs),
                    "filter": given(filter),
                    "cursor": given(cursor),
                    "limit": limit,
                    "all": all,
                }
            ),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def set_priorities(
        self,
        *,
        priority: int,
        runs: Sequence[int] | None = None,
        filter: models.Filter | None = None,
        cursor: str | None = None,
        limit: int = 100,
        idempotency_key: str | None = None,
    ) -> models.Done:
        """Give all tasks of many runs that no worker has yet another priority."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/runs/bulk/priority", {}, {}),
            models.Done,
            content=body(
                {
                    "runs": given(runs),
                    "filter": given(filter),
                    "cursor": given(cursor),
                    "limit": limit,
                    "priority": priority,
                }
            ),
            headers={"Idempotency-Key": idempotency_key},
        )


class Grid:
    """Many runs at a glance, in few bytes."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def show_strips(
        self, *, runs: int | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Page[grid.Strip]:
        """The last runs of every dag, by name of the dag."""
        return await self._asker.ask(
            "GET",
            target("/api/v1/strips", {}, {"runs": runs, "limit": limit, "cursor": cursor}),
            Page[grid.Strip],
        )

    async def each_of_show_strips(
        self, *, runs: int | None = None, limit: int | None = None
    ) -> AsyncIterator[grid.Strip]:
        """As `show_strips`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.show_strips(runs=runs, limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def show_graph(self, dag: str, /, *, version: int | None = None) -> grid.Graph:
        """The tasks of a dag and what they come after, parents before children."""
        return await self._asker.ask(
            "GET",
            target("/api/v1/dags/{dag}/graph", {"dag": dag}, {"version": version}),
            grid.Graph,
        )

    async def show(
        self, dag: str, /, *, runs: int | None = None, cursor: str | None = None
    ) -> grid.Grid:
        """Runs of a dag, the newest first, with the state of each task as one character.

        The tasks are in the order of `/dags/{dag}/graph` for the run's version.
        """
        return await self._asker.ask(
            "GET",
            target("/api/v1/dags/{dag}/grid", {"dag": dag}, {"runs": runs, "cursor": cursor}),
            grid.Grid,
        )

    async def show_timeline(self, run: int, /) -> grid.Timeline:
        """When each task of a run ran, in the order of its version's graph."""
        return await self._asker.ask(
            "GET", target("/api/v1/runs/{run}/timeline", {"run": run}, {}), grid.Timeline
        )


class Schedules:
    """What fires when, and what became of it."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def list(
        self, *, dag: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Page[schedule_shapes.Schedule]:
        """Schedules, by name."""
        return await self._asker.ask(
            "GET",
            target("/api/v1/schedules", {}, {"dag": dag, "limit": limit, "cursor": cursor}),
            Page[schedule_shapes.Schedule],
        )

    async def each(
        self, *, dag: str | None = None, limit: int | None = None
    ) -> AsyncIterator[schedule_shapes.Schedule]:
        """As `list`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list(dag=dag, limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def show(
        self, schedule: str, /, *, fires: int | None = None
    ) -> schedule_shapes.ScheduleDocument:
        """One schedule: its spec, its next fires, what became of the last ones, its versions.

        Its version is in the `ETag`, which a `PUT` takes as `If-Match`.
        """
        return await self._asker.ask(
            "GET",
            target("/api/v1/schedules/{schedule}", {"schedule": schedule}, {"fires": fires}),
            schedule_shapes.ScheduleDocument,
        )

    async def put(
        self,
        schedule: str,
        /,
        *,
        dag: str,
        spec: models.WrittenSpec,
        parameters: Mapping[str, Any] | UnsetType = UNSET,
        note: str = "",
        if_match: int | None = None,
    ) -> schedule_shapes.ScheduleChange:
        """Make a schedule what is said here, all of it: what is left out has its default.

        With `If-Match`, the version or the `ETag` that the caller has seen, only that one is
        changed; without, or with `If-None-Match: *`, it is made, and must not be there yet.
        What is refused for that comes with the `current` one. A schedule that is so already is
        left alone.
        """
        return await self._asker.ask(
            "PUT",
            target("/api/v1/schedules/{schedule}", {"schedule": schedule}, {}),
            schedule_shapes.ScheduleChange,
            content=body({"dag": dag, "spec": spec, "parameters": parameters, "note": note}),
            headers={"If-Match": None if if_match is None else version_header(if_match)},
        )

    async def pause(
        self, schedule: str, /, *, note: str | None = None, idempotency_key: str | None = None
    ) -> schedule_shapes.ScheduleChange:
        """Let a schedule fire no more. What it has started goes on."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/schedules/{schedule}/pause", {"schedule": schedule}, {}),
            schedule_shapes.ScheduleChange,
            content=body({"note": given(note)}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def resume(
        self, schedule: str, /, *, idempotency_key: str | None = None
    ) -> schedule_shapes.ScheduleChange:
        """Let a schedule fire again, from its next fire on; those of the pause are skipped."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/schedules/{schedule}/resume", {"schedule": schedule}, {}),
            schedule_shapes.ScheduleChange,
            headers={"Idempotency-Key": idempotency_key},
        )

    async def pause_several(
        self,
        *,
        schedules: Sequence[str],
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> Page[schedule_shapes.ScheduleChange]:
        """Let schedules fire no more, all of these or none. What they have started goes on."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/schedules/pause", {}, {}),
            Page[schedule_shapes.ScheduleChange],
            content=body({"schedules": schedules, "note": given(note)}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def resume_several(
        self, *, schedules: Sequence[str], idempotency_key: str | None = None
    ) -> Page[schedule_shapes.ScheduleChange]:
        """Let schedules fire again, all of these or none; fires of their pauses are skipped."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/schedules/resume", {}, {}),
            Page[schedule_shapes.ScheduleChange],
            content=body({"schedules": schedules}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def delete(self, schedule: str, /) -> schedule_shapes.ScheduleRemoved:
        """Remove a schedule. Runs that it has started go on, and history keeps what it fired."""
        return await self._asker.ask(
            "DELETE",
            target("/api/v1/schedules/{schedule}", {"schedule": schedule}, {}),
            schedule_shapes.ScheduleRemoved,
        )

    async def preview_spec(
        self,
        *,
        spec: models.WrittenSpec,
        name: str = "preview",
        since: datetime | None = None,
        until: datetime | None = None,
        count: int = 10,
        idempotency_key: str | None = None,
    ) -> Page[schedule_shapes.PreviewFire]:
        """When a schedule would fire, before there is one."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/schedules/preview", {}, {}),
            Page[schedule_shapes.PreviewFire],
            content=body(
                {
                    "spec": spec,
                    "name": name,
                    "since": given(since),
                    "until": given(until),
                    "count": count,
                }
            ),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def preview(
        self,
        schedule: str,
        /,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        count: int | None = None,
    ) -> Page[schedule_shapes.PreviewFire]:
        """When a schedule fires; notes tell what a change of clocks or a calendar does to a
        fire.
        """
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/schedules/{schedule}/preview",
                {"schedule": schedule},
                {"since": since, "until": until, "count": count},
            ),
            Page[schedule_shapes.PreviewFire],
        )

    async def diff(
        self,
        schedule: str,
        /,
        *,
        dag: str,
        spec: models.WrittenSpec,
        days: int | None = None,
        since: datetime | None = None,
        parameters: Mapping[str, Any] | UnsetType = UNSET,
        note: str = "",
        idempotency_key: str | None = None,
    ) -> schedule_shapes.ScheduleDiff:
        """What a `PUT` with the same body would add, remove and move. Nothing is changed."""
        return await self._asker.ask(
            "POST",
            target(
                "/api/v1/schedules/{schedule}/diff",
                {"schedule": schedule},
                {"days": days, "since": since},
            ),
            schedule_shapes.ScheduleDiff,
            content=body({"dag": dag, "spec": spec, "parameters": parameters, "note": note}),
            headers={"Idempotency-Key": idempotency_key},
        )


class Calendars:
    """Named days on which schedules do not fire."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def list(self) -> Page[calendar_documents.CalendarLine]:
        """All calendars by name, and how many schedules leave out their days."""
        return await self._asker.ask(
            "GET", target("/api/v1/calendars", {}, {}), Page[calendar_documents.CalendarLine]
        )

    async def show(self, calendar: str, /) -> calendar_documents.Calendar:
        """One calendar: what it holds, the days to come, and which schedules leave them out."""
        return await self._asker.ask(
            "GET",
            target("/api/v1/calendars/{calendar}", {"calendar": calendar}, {}),
            calendar_documents.Calendar,
        )

    async def put(
        self,
        calendar: str,
        /,
        *,
        dates: Sequence[date] | UnsetType = UNSET,
        weekdays: Sequence[str] | UnsetType = UNSET,
        country: str | None = None,
        subdivision: str | None = None,
    ) -> calendar_documents.CalendarPut:
        """Make a calendar hold these days and no others.

        Schedules that exclude it follow with their next fire. Public holidays need the extra
        `holidays`, here and where the engine runs.
        """
        return await self._asker.ask(
            "PUT",
            target("/api/v1/calendars/{calendar}", {"calendar": calendar}, {}),
            calendar_documents.CalendarPut,
            content=body(
                {
                    "dates": dates,
                    "weekdays": weekdays,
                    "country": given(country),
                    "subdivision": given(subdivision),
                }
            ),
        )

    async def remove(self, calendar: str, /) -> calendar_documents.CalendarRemoved:
        """Remove a calendar that no schedule excludes any more."""
        return await self._asker.ask(
            "DELETE",
            target("/api/v1/calendars/{calendar}", {"calendar": calendar}, {}),
            calendar_documents.CalendarRemoved,
        )


class Fires:
    """What fires in the hours to come, and what was missed or skipped."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def list(
        self, *, hours: int | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Page[coming_fires.ComingFires]:
        """What each schedule does in the hours to come: counts by the hour, and the first
        fires.

        The first hour is the one that is under way, from now on. Schedules that are paused or
        over are left out.
        """
        return await self._asker.ask(
            "GET",
            target("/api/v1/fires", {}, {"hours": hours, "limit": limit, "cursor": cursor}),
            Page[coming_fires.ComingFires],
        )

    async def each(
        self, *, hours: int | None = None, limit: int | None = None
    ) -> AsyncIterator[coming_fires.ComingFires]:
        """As `list`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list(hours=hours, limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def list_skipped(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[schedule_shapes.SkippedFires]:
        """Fires of all schedules that made no run, with the reason; newest first.

        Fires that follow one another and were skipped for one reason are told as one, by the
        first.
        """
        return await self._asker.ask(
            "GET",
            target("/api/v1/fires/skipped", {}, {"limit": limit, "cursor": cursor}),
            Page[schedule_shapes.SkippedFires],
        )

    async def each_skipped(
        self, *, limit: int | None = None
    ) -> AsyncIterator[schedule_shapes.SkippedFires]:
        """As `list_skipped`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list_skipped(limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next


class Backfills:
    """Runs for times of the past."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def create(
        self,
        *,
        since: datetime,
        schedule: str | None = None,
        dag: str | None = None,
        spec: models.WrittenSpec | None = None,
        until: datetime | None = None,
        parameters: Mapping[str, Any] | UnsetType = UNSET,
        reprocess: backfilling.Reprocess | UnsetType = UNSET,
        concurrency: int = 1,
        newest_first: bool = False,
        priority: int = 0,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> backfill_shapes.Backfill:
        """Make runs for instants of the past; engines do it from now on."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/backfills", {}, {}),
            backfill_shapes.Backfill,
            content=body(
                {
                    "schedule": given(schedule),
                    "dag": given(dag),
                    "spec": given(spec),
                    "from": since,
                    "to": given(until),
                    "parameters": parameters,
                    "reprocess": reprocess,
                    "concurrency": concurrency,
                    "newest_first": newest_first,
                    "priority": priority,
                    "note": given(note),
                }
            ),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def estimate(
        self,
        *,
        since: datetime,
        count: int | None = None,
        schedule: str | None = None,
        dag: str | None = None,
        spec: models.WrittenSpec | None = None,
        until: datetime | None = None,
        parameters: Mapping[str, Any] | UnsetType = UNSET,
        reprocess: backfilling.Reprocess | UnsetType = UNSET,
        concurrency: int = 1,
        newest_first: bool = False,
        priority: int = 0,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> backfill_shapes.BackfillEstimate:
        """What a `POST /backfills` with the same body would run. Nothing is made."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/backfills/preview", {}, {"count": count}),
            backfill_shapes.BackfillEstimate,
            content=body(
                {
                    "schedule": given(schedule),
                    "dag": given(dag),
                    "spec": given(spec),
                    "from": since,
                    "to": given(until),
                    "parameters": parameters,
                    "reprocess": reprocess,
                    "concurrency": concurrency,
                    "newest_first": newest_first,
                    "priority": priority,
                    "note": given(note),
                }
            ),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def list(
        self,
        *,
        dag: str | None = None,
        state: states.BackfillState | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[backfill_shapes.Backfill]:
        """Backfills, the newest first."""
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/backfills",
                {},
                {"dag": dag, "state": state, "limit": limit, "cursor": cursor},
            ),
            Page[backfill_shapes.Backfill],
        )

    async def each(
        self,
        *,
        dag: str | None = None,
        state: states.BackfillState | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[backfill_shapes.Backfill]:
        """As `list`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list(dag=dag, state=state, limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def show(
        self, backfill: int, /, *, failed: bool | None = None, limit: int | None = None
    ) -> backfill_shapes.BackfillDocument:
        """One backfill: how far it is, and what became of its instants, the latest first."""
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/backfills/{backfill}",
                {"backfill": backfill},
                {"failed": failed, "limit": limit},
            ),
            backfill_shapes.BackfillDocument,
        )

    async def pause(
        self, backfill: int, /, *, note: str | None = None, idempotency_key: str | None = None
    ) -> backfill_shapes.Backfill:
        """Let a backfill make no runs until it is resumed. Those that are open go on."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/backfills/{backfill}/pause", {"backfill": backfill}, {}),
            backfill_shapes.Backfill,
            content=body({"note": given(note)}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def resume(
        self, backfill: int, /, *, idempotency_key: str | None = None
    ) -> backfill_shapes.Backfill:
        """Let a backfill go on where it was."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/backfills/{backfill}/resume", {"backfill": backfill}, {}),
            backfill_shapes.Backfill,
            headers={"Idempotency-Key": idempotency_key},
        )

    async def cancel(
        self,
        backfill: int,
        /,
        *,
        runs: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> backfill_shapes.Backfill:
        """End a backfill: it makes no more runs, ever."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/backfills/{backfill}/cancel", {"backfill": backfill}, {}),
            backfill_shapes.Backfill,
            content=body({"runs": runs, "note": given(note)}),
            headers={"Idempotency-Key": idempotency_key},
        )


class DeadLetters:
    """Tasks that failed for good, by error."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def list(
        self,
        *,
        dag: str | None = None,
        task: str | None = None,
        error: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        group: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[letter_shapes.LetterGroup]:
        """Dead letters by error; what failed last comes first."""
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/dead-letters",
                {},
                {
                    "dag": dag,
                    "task": task,
                    "error": error,
                    "since": since,
                    "until": until,
                    "group": group,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            Page[letter_shapes.LetterGroup],
        )

    async def each(
        self,
        *,
        dag: str | None = None,
        task: str | None = None,
        error: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        group: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[letter_shapes.LetterGroup]:
        """As `list`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list(
                dag=dag,
                task=task,
                error=error,
                since=since,
                until=until,
                group=group,
                limit=limit,
                cursor=cursor,
            )
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def list_group(
        self, group: str, /, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[letter_shapes.DeadLetter]:
        """The dead letters of a group, the oldest first, with their errors."""
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/dead-letters/{group}", {"group": group}, {"limit": limit, "cursor": cursor}
            ),
            Page[letter_shapes.DeadLetter],
        )

    async def each_group(
        self, group: str, /, *, limit: int | None = None
    ) -> AsyncIterator[letter_shapes.DeadLetter]:
        """As `list_group`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list_group(group, limit=limit, cursor=cursor)
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def list_discarded(
        self,
        *,
        dag: str | None = None,
        task: str | None = None,
        error: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[letter_shapes.DiscardedLetter]:
        """Letters that were taken off the list, by whom and why; the last comes first.

        With `error` a page may hold less than was asked for and still have a `next`.
        """
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/dead-letters/discarded",
                {},
                {
                    "dag": dag,
                    "task": task,
                    "error": error,
                    "since": since,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            Page[letter_shapes.DiscardedLetter],
        )

    async def each_discarded(
        self,
        *,
        dag: str | None = None,
        task: str | None = None,
        error: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[letter_shapes.DiscardedLetter]:
        """As `list_discarded`, all of them; `limit`: how many are asked for at a time."""
        cursor: str | None = None
        while True:
            page = await self.list_discarded(
                dag=dag, task=task, error=error, since=since, limit=limit, cursor=cursor
            )
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    async def list_of_run(
        self, run: int, /, *, task: str | None = None
    ) -> Page[letter_shapes.DeadLetter]:
        """The dead letters of a run, in the order of its tasks."""
        return await self._asker.ask(
            "GET",
            target("/api/v1/runs/{run}/dead-letters", {"run": run}, {"task": task}),
            Page[letter_shapes.DeadLetter],
        )

    async def retry_letters(
        self,
        *,
        groups: Sequence[str] | UnsetType = UNSET,
        letters: Sequence[models.LetterOf] | UnsetType = UNSET,
        filter: models.LetterFilter | None = None,
        note: str = "",
        limit: int = 2000,
        cursor: str | None = None,
        idempotency_key: str | None = None,
    ) -> letter_shapes.SomeRetried:
        """Run dead letters again: each in its own run, with what comes after it.

        What cannot be retried now is `left`, with the reason. Of very many some are dealt with;
        `ended` then says so, and the same with `next` as `cursor` goes on. What fails again
        meanwhile waits for another look.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/dead-letters/retry", {}, {}),
            letter_shapes.SomeRetried,
            content=body(
                {
                    "groups": groups,
                    "letters": letters,
                    "filter": given(filter),
                    "note": note,
                    "limit": limit,
                    "cursor": given(cursor),
                }
            ),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def discard_letters(
        self,
        *,
        groups: Sequence[str] | UnsetType = UNSET,
        letters: Sequence[models.LetterOf] | UnsetType = UNSET,
        filter: models.LetterFilter | None = None,
        note: str = "",
        limit: int = 2000,
        cursor: str | None = None,
        idempotency_key: str | None = None,
    ) -> letter_shapes.SomeDiscarded:
        """Take dead letters off the list. Their runs stay as they are, in history."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/dead-letters/discard", {}, {}),
            letter_shapes.SomeDiscarded,
            content=body(
                {
                    "groups": groups,
                    "letters": letters,
                    "filter": given(filter),
                    "note": note,
                    "limit": limit,
                    "cursor": given(cursor),
                }
            ),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def retry_group(
        self, group: str, /, *, note: str = "", idempotency_key: str | None = None
    ) -> letter_shapes.SomeRetried:
        """Run all dead letters of a group again."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/dead-letters/{group}/retry", {"group": group}, {}),
            letter_shapes.SomeRetried,
            content=body({"note": note}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def discard_group(
        self, group: str, /, *, note: str = "", idempotency_key: str | None = None
    ) -> letter_shapes.SomeDiscarded:
        """Take all dead letters of a group off the list."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/dead-letters/{group}/discard", {"group": group}, {}),
            letter_shapes.SomeDiscarded,
            content=body({"note": note}),
            headers={"Idempotency-Key": idempotency_key},
        )


class Stats:
    """What ended per minute, hour or day, and how long it took."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def show(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        step: rollups.Width | None = None,
        dag: str | None = None,
    ) -> rollup_shapes.Statistics:
        """What ended in some time, all dags together or one: throughput, failures, durations
        and lag.

        A run is counted about ten seconds after its end, when it moves to history.
        """
        return await self._asker.ask(
            "GET",
            target("/api/v1/stats", {}, {"since": since, "until": until, "step": step, "dag": dag}),
            rollup_shapes.Statistics,
        )

    async def show_of_dag(
        self,
        dag: str,
        /,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        step: rollups.Width | None = None,
    ) -> rollup_shapes.Statistics:
        """What ended of one dag in some time."""
        return await self._asker.ask(
            "GET",
            target(
                "/api/v1/dags/{dag}/stats",
                {"dag": dag},
                {"since": since, "until": until, "step": step},
            ),
            rollup_shapes.Statistics,
        )


class Queues:
    """Where ready tasks wait for a worker."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def list(self) -> Page[shapes.Lane]:
        """What waits and what runs, by queue and slot kind; queues where nothing does are left
        out.
        """
        return await self._asker.ask("GET", target("/api/v1/queues", {}, {}), Page[shapes.Lane])

    async def list_pauses(self) -> Page[shapes.PausedThing]:
        """Dags and queues that are paused; those that were paused first come first."""
        return await self._asker.ask(
            "GET", target("/api/v1/pauses", {}, {}), Page[shapes.PausedThing]
        )

    async def show(self, queue: str, /) -> shapes.QueueWhole:
        """One queue with the workers that serve it."""
        return await self._asker.ask(
            "GET", target("/api/v1/queues/{queue}", {"queue": queue}, {}), shapes.QueueWhole
        )

    async def pause(
        self, queue: str, /, *, note: str | None = None, idempotency_key: str | None = None
    ) -> shapes.PauseChange:
        """Hold a queue: nothing of it is handed to a worker any more. What runs goes on."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/queues/{queue}/pause", {"queue": queue}, {}),
            shapes.PauseChange,
            content=body({"note": given(note)}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def resume(
        self, queue: str, /, *, idempotency_key: str | None = None
    ) -> shapes.PauseChange:
        """End a queue's pause."""
        return await self._asker.ask(
            "POST",
            target("/api/v1/queues/{queue}/resume", {"queue": queue}, {}),
            shapes.PauseChange,
            headers={"Idempotency-Key": idempotency_key},
        )


class Workers:
    """Processes that run tasks."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def list(self) -> Page[shapes.Worker]:
        """Living workers, by name."""
        return await self._asker.ask("GET", target("/api/v1/workers", {}, {}), Page[shapes.Worker])

    async def list_in_hand(
        self, *, worker: int | None = None, limit: int | None = None
    ) -> Page[shapes.InHand]:
        """What living workers have in hand; what they have held longest comes first.

        The first `limit` of it are told, without a `next`: it changes faster than one could
        turn pages.
        """
        return await self._asker.ask(
            "GET",
            target("/api/v1/workers/tasks", {}, {"worker": worker, "limit": limit}),
            Page[shapes.InHand],
        )

    async def drain(
        self,
        worker: str,
        /,
        *,
        stop: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> shapes.DrainChange:
        """Let a worker finish what it runs. From the answer on it is given nothing more.

        What it has in hand and has not begun goes back to its queue.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/workers/{worker}/drain", {"worker": worker}, {}),
            shapes.DrainChange,
            content=body({"stop": stop, "note": given(note)}),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def resume(
        self, worker: str, /, *, idempotency_key: str | None = None
    ) -> shapes.DrainChange:
        """Let a worker claim again that was to drain.

        One that leaves by itself, as it was sent a signal, leaves nevertheless.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/workers/{worker}/resume", {"worker": worker}, {}),
            shapes.DrainChange,
            headers={"Idempotency-Key": idempotency_key},
        )


class Engines:
    """Processes that fire schedules and look after runs."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def list(self) -> Page[engine_shapes.Engine]:
        """Engines at work, by name, with the shards of schedules that they look at first."""
        return await self._asker.ask(
            "GET", target("/api/v1/engines", {}, {}), Page[engine_shapes.Engine]
        )


class Tokens:
    """Who may ask, and what."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def list(self) -> Page[tokens.Token]:
        """All tokens, the newest first; their secrets are not known."""
        return await self._asker.ask("GET", target("/api/v1/tokens", {}, {}), Page[tokens.Token])

    async def make(
        self,
        *,
        name: str,
        role: roles.Role,
        queues: Sequence[str] | UnsetType = UNSET,
        expires_in: str | None = None,
        idempotency_key: str | None = None,
    ) -> tokens.NewToken:
        """Make a token. Its secret, `token`, is in this answer and nowhere else.

        Asked again with the same `Idempotency-Key`, the answer is the same: the secret is made
        anew from yours, and is stored by nobody.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/tokens", {}, {}),
            tokens.NewToken,
            content=body(
                {"name": name, "role": role, "queues": queues, "expires_in": given(expires_in)}
            ),
            headers={"Idempotency-Key": idempotency_key},
        )

    async def delete(self, token: int, /) -> tokens.Token:
        """Revoke a token: within a second no server takes it any more."""
        return await self._asker.ask(
            "DELETE", target("/api/v1/tokens/{token}", {"token": token}, {}), tokens.Token
        )


class Care:
    """Whether all is well, and letting go of what is old."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def doctor(self) -> checks.Health:
        """Checks, each with a verdict, what was found and what to do.

        The promises, which read much, are asked by `mainspring doctor` beside the database.
        """
        return await self._asker.ask("GET", target("/api/v1/doctor", {}, {}), checks.Health)

    async def prune(
        self, *, keep_seconds: float, dry_run: bool = False, idempotency_key: str | None = None
    ) -> pruning.Pruning:
        """Let go of finished runs that are older than is kept, with their logs and results.

        An engine does this by itself. Of very many some go; `more` then says so, and the rest
        is there for another request. Objects of long logs are left to an engine.
        """
        return await self._asker.ask(
            "POST",
            target("/api/v1/prune", {}, {}),
            pruning.Pruning,
            content=body({"keep_seconds": keep_seconds, "dry_run": dry_run}),
            headers={"Idempotency-Key": idempotency_key},
        )


class Operations:
    """Health, metrics, documentation and login."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def clock(self) -> shapes.Clock:
        """The database's clock, by which everything happens."""
        return await self._asker.ask("GET", target("/api/v1/clock", {}, {}), shapes.Clock)


class HttpClient:
    """All that the server can do, for one event loop; without one there is `SyncHttpClient`.

    Without `url` the server is that of MAINSPRING_URL, and without `token` the caller is known by
    MAINSPRING_TOKEN. What got lost on the way is asked again, for `patience_seconds`, where that
    cannot do it twice; a POST gets an Idempotency-Key for that.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: Transport | None = None,
        patience_seconds: float = 30.0,
    ) -> None:
        if transport is None:
            place = server_place(url, token)
            transport, token = Sockets(checked_url(place.url)), place.token
        self._asker = Asker(transport, token, patience_seconds)
        self.dags = Dags(self._asker)
        self.jobs = Jobs(self._asker)
        self.runs = Runs(self._asker)
        self.grid = Grid(self._asker)
        self.schedules = Schedules(self._asker)
        self.calendars = Calendars(self._asker)
        self.fires = Fires(self._asker)
        self.backfills = Backfills(self._asker)
        self.dead_letters = DeadLetters(self._asker)
        self.stats = Stats(self._asker)
        self.queues = Queues(self._asker)
        self.workers = Workers(self._asker)
        self.engines = Engines(self._asker)
        self.tokens = Tokens(self._asker)
        self.care = Care(self._asker)
        self.operations = Operations(self._asker)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._asker.close()
