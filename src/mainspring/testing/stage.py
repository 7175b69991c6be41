"""A database with an engine and a worker on it, for one test: what the fixture gives.

The processes are those of production, started when the first run is asked for. They import the
application's tasks as the test does: their path is that of the test's process.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mainspring.client import Client, SyncClient
from mainspring.client.subjects import Subject
from mainspring.config import load_config
from mainspring.domain.errors import MainspringError
from mainspring.domain.specs import PAYLOAD_BYTES_MAX, DagSpec
from mainspring.domain.states import RunState
from mainspring.logs.places import Places
from mainspring.logs.read import LogReader
from mainspring.store import reading
from mainspring.store.reading import AttemptLine, RunLine, TaskLine
from mainspring.store.run_lists import list_runs
from mainspring.store.shapes import all_attempts
from mainspring.testing.results import AttemptResult, RunResult, TaskResult

_T = TypeVar("_T")

_LOOK_SECONDS = 0.05
_LOG_SHOWN = 4_000
_ATTEMPTS_MAX = 10_000
_RUNS_MAX = 1_000


class ProcessDied(MainspringError):
    """The engine or the worker of a test ended by itself."""

    code = "process_died"


class Mainspring:
    """A Mainspring of the test's own."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        """Of the database; `MAINSPRING_DATABASE_URL` says the same while the test runs."""
        self.client = SyncClient(url)
        self._folder = folder
        self._apps: set[str] = set()
        self._queues: set[str] = set()
        self._engine: _Process | None = None
        self._worker: _Process | None = None

    def run(self, subject: Subject, /, **options: Any) -> RunResult:
        """Enqueue a task or a dag, have it run, and tell what it has come to.

        Parameters and options are those of `Client.enqueue`.
        """
        run_id = self.client.enqueue(subject, **options)
        return self._ask(lambda client: self._result(client, run_id))

    def wait(self, run_id: int) -> RunResult:
        """Have a run that was enqueued run to its end."""
        return self._ask(lambda client: self._result(client, run_id))

    def run_enqueued(self) -> list[RunResult]:
        """Have everything run that is enqueued and due, in the order in which it was enqueued.

        Whatever tasks enqueue meanwhile is run as well. Runs that ended before are left out.
        """
        return self._ask(self._run_enqueued)

    def close(self) -> None:
        self.client.close()
        for process in (self._worker, self._engine):
            if process is not None:
                process.kill()

    # --- runs ------------------------------------------------------------------------------

    async def _run_enqueued(self, client: Client) -> list[RunResult]:
        results: list[RunResult] = []
        while due := await self._due(client):
            for run in due:
                results.append(await self._result(client, run.id))
        return results

    async def _due(self, client: Client) -> list[RunLine]:
        found = []
        for state in (RunState.QUEUED, RunState.RUNNING):
            found += await client.ask(list_runs, state=state, limit=_RUNS_MAX)
        return sorted((run for run in found if run.due_at <= run.read_at), key=lambda run: run.id)

    async def _result(self, client: Client, run_id: int) -> RunResult:
        run = await client.ask(reading.read_run, run_id)
        spec = await client.ask(reading.read_spec, run)
        self._serve(spec)
        while not run.closed:
            for process in (self._engine, self._worker):
                if process is not None:
                    process.check()
            await asyncio.sleep(_LOOK_SECONDS)
            run = await client.ask(reading.read_run, run_id)
        return await _read(client, run)

    def _ask(self, question: Callable[[Client], Coroutine[Any, Any, _T]]) -> _T:
        async def asked() -> _T:
            async with Client(self.url) as client:
                return await question(client)

        # In a thread: the test may have an event loop of its own that runs.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(contextvars.copy_context().run, asyncio.run, asked()).result()

    # --- processes -------------------------------------------------------------------------

    def _serve(self, spec: DagSpec) -> None:
        """An engine, and a worker that has the dag's modules and serves its queues."""
        if self._engine is None:
            self._engine = self._start("engine")
        modules = {task.entry.partition(":")[0] for task in spec.tasks}
        queues = {task.queue for task in spec.tasks}
        if modules <= self._apps and queues <= self._queues:
            return
        if self._worker is not None:
            self._worker.end()
        self._apps |= modules
        self._queues |= queues
        apps = [option for app in sorted(self._apps) for option in ("--app", app)]
        self._worker = self._start("worker", "--queues", ",".join(sorted(self._queues)), *apps)

    def _start(self, *arguments: str) -> _Process:
        environment = {
            **os.environ,
            "MAINSPRING_DATABASE_URL": self.url,
            "MAINSPRING_HOME": str(self._folder / "home"),
            # They end with the tests, however those end.
            "MAINSPRING_PARENT_PID": str(os.getpid()),
            "PYTHONPATH": os.pathsep.join(part or os.getcwd() for part in sys.path),
        }
        environment.pop("MAINSPRING_DAGS", None)
        environment.pop("MAINSPRING_APPS", None)
        return _Process(arguments, environment, self._folder / f"{arguments[0]}.log")


class _Process:
    def __init__(self, arguments: Iterable[str], environment: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mainspring", *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def check(self) -> None:
        status = self._process.poll()
        if status is not None:
            said = self._log.read_text("utf-8", "replace")[-_LOG_SHOWN:].strip()
            raise ProcessDied(f"the {self._log.stem} ended with status {status}:\n{said}")

    def end(self) -> None:
        """Let it hand back what it has."""
        self._process.terminate()
        self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


# --- what a run has come to ------------------------------------------------------------------


async def _read(client: Client, run: RunLine) -> RunResult:
    tasks = await client.ask(reading.list_tasks, run, result_bytes=PAYLOAD_BYTES_MAX)
    attempts = await client.ask(reading.list_attempts, run, limit=_ATTEMPTS_MAX)
    logs = await _logs(client, run, tasks)
    beginning = run.started_at or run.created_at
    tries = {
        task.id: [
            _attempt(line, beginning, logs.get((task.id, line.term), ""))
            for line in all_attempts(task, [each for each in attempts if each.task_id == task.id])
        ]
        for task in tasks
    }
    begun = sorted(
        (task for task in tasks if tries[task.id]),
        key=lambda task: (tries[task.id][0].began_seconds, task.node),
    )
    return RunResult(
        dag=run.dag,
        state=run.state,
        parameters=msgspec.json.decode(await client.ask(reading.read_run_parameters, run.id)),
        tasks={task.name: _task(task, tries[task.id]) for task in tasks},
        order=[task.name for task in begun],
        elapsed_seconds=_seconds(beginning, run.finished_at),
    )


def _task(task: TaskLine, tries: list[AttemptResult]) -> TaskResult:
    return TaskResult(
        name=task.name,
        state=task.state,
        result=None if task.result is None else msgspec.json.decode(task.result),
        tries=tuple(tries),
    )


def _attempt(line: AttemptLine, beginning: datetime, log: str) -> AttemptResult:
    return AttemptResult(
        number=line.attempt,
        state=line.state,
        error=line.error,
        began_seconds=_seconds(beginning, line.started_at or line.finished_at),
        seconds=0.0
        if line.started_at is None
        else _seconds(line.started_at, line.finished_at or line.started_at),
        called=line.started_at is not None,
        log=log,
    )


async def _logs(client: Client, run: RunLine, tasks: list[TaskLine]) -> dict[tuple[int, int], str]:
    """What attempts printed, by task and term."""
    reader = LogReader(client.ask, Places(load_config().home))
    found: dict[tuple[int, int], str] = {}
    async for log in reader.logs(tasks[0].id, tasks[-1].id + 1):
        pieces = [piece async for _, piece in reader.pieces(log, 0, log.stored)]
        found[log.task_id, log.term] = b"".join(pieces).decode("utf-8", "replace")
    return found


def _seconds(since: datetime, until: datetime | None) -> float:
    return 0.0 if until is None else max((until - since).total_seconds(), 0.0)
