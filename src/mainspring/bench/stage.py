"""All that a scenario needs, from a fresh schema to the verdict:

yardstick ─► engine and workers ─► scenario ─► drain ─► stop ─► yardstick ─► promises
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from mainspring.bench import cpu, tables
from mainspring.bench.load import Flood, Load
from mainspring.bench.place import Place, patient_connection
from mainspring.bench.server import find_server
from mainspring.bench.settings import Settings
from mainspring.bench.tables import Window
from mainspring.bench.team import QUEUE, Team
from mainspring.bench.watcher import Watcher
from mainspring.bench.yardstick import Yardstick, measure_yardstick
from mainspring.client import Client
from mainspring.domain.errors import NotFoundError, UnavailableError
from mainspring.store.connection import Connection, connect
from mainspring.store.dags import DagRow, read_dag
from mainspring.store.ids import Ids
from mainspring.store.invariants import broken_promises
from mainspring.store.reading import list_file_problems

_READY_SECONDS = 120.0
_DRAIN_SECONDS = 120.0
_YARDSTICK_SECONDS = 2.0
_LIVE_SECONDS = 0.5
_PAUSE_SECONDS = 5.0
"""After a longer pause the system is no longer as it was under load."""


class Saturated(msgspec.Struct, frozen=True):
    """What a full queue gave."""

    window: Window
    tasks: int
    spent: cpu.Spent
    hot_runs: int
    """Runs that had not moved to history at the end."""

    @property
    def per_s(self) -> float:
        return self.tasks / self.window.seconds

    @property
    def cpu_us(self) -> dict[str, float]:
        """For a task, by part; `all` is their sum."""
        return self.spent.each_us(self.tasks)


class Stage:
    def __init__(
        self,
        place: Place,
        settings: Settings,
        watcher: Watcher,
        team: Team,
        *,
        load: Connection,
        watch: Connection,
        glance: Connection,
        client: Client,
        server_pid: int | None,
        first_id: int,
    ) -> None:
        self.settings = settings
        self.watcher = watcher
        self.team = team
        self.yardsticks: list[Yardstick] = []
        """One from before it all and one from after."""
        self.url = place.url
        self.load = Load(load)
        self.watch = watch
        """For questions of the scenario, which may read all that there is."""
        self.glance = glance
        """For looking at how far it is: lookups that must be quick."""
        self.client = client
        self.first_id = first_id
        self.triggered = 0
        """Runs made through the client."""
        self.broken: dict[str, int] = {}
        """Promises of the scenario's own that did not hold, and how far."""
        self._server_pid = server_pid
        self._load_began = self._load_ended = 0.0

    def begin_load(self) -> float:
        """Load begins: how long to warm up before measuring, given what went before."""
        now = time.monotonic()
        if now - self._load_ended > _PAUSE_SECONDS:
            self._load_began = now
        return self.settings.warm_up(now - self._load_began)

    def end_load(self) -> None:
        self._load_ended = time.monotonic()

    async def dag(self, name: str) -> DagRow:
        """A dag, as soon as the engine has read it: not one that an earlier benchmark left."""
        deadline, snapshot = time.monotonic() + _READY_SECONDS, self.team.snapshot()
        while True:
            with contextlib.suppress(NotFoundError):
                dag = await read_dag(self.watch, name)
                if dag.snapshot == snapshot:
                    return dag
            self.team.check()
            if problems := await list_file_problems(self.watch):
                raise UnavailableError(
                    f"the dags of the benchmark cannot be read: {problems[0].message}"
                )
            if time.monotonic() > deadline:
                raise UnavailableError(
                    f"the engine did not read the dags within {_READY_SECONDS:g} s;"
                    f" last words of\n{self.team.last_words()}"
                )
            await asyncio.sleep(0.05)

    async def server_port(self) -> int:
        """Where our server listens, as soon as it does."""
        deadline = time.monotonic() + _READY_SECONDS
        while (port := self.team.server_port()) is None:
            self.team.check()
            if time.monotonic() > deadline:
                raise UnavailableError(f"the server did not start within {_READY_SECONDS:g} s")
            await asyncio.sleep(0.05)
        return port

    async def read_cpu(self) -> cpu.Reading:
        return cpu.read(
            cpu.Roots(
                self._server_pid,
                self.team.engine_pid,
                self.team.worker_pids,
                await tables.backends(self.watch),
            )
        )

    async def trigger(self, dag_name: str) -> int:
        self.triggered += 1
        return await self.client.trigger(dag_name)

    async def finish(self, run_id: int, *, poll_seconds: float = 0.01) -> None:
        """Wait for the end of a run."""
        began = time.monotonic()
        while not await tables.closed_runs(self.glance, [run_id]):
            await asyncio.sleep(poll_seconds)
            if time.monotonic() - began > 1:
                self.team.check()
            if time.monotonic() - began > _DRAIN_SECONDS:
                raise UnavailableError(
                    f"run {run_id} has not ended after {_DRAIN_SECONDS:g} s; last words of\n"
                    + self.team.last_words()
                )

    async def drain(self) -> None:
        deadline = time.monotonic() + _DRAIN_SECONDS
        while not await tables.is_quiet(self.glance, QUEUE):
            self.team.check()
            if time.monotonic() > deadline:
                raise UnavailableError(
                    f"the queue was not empty {_DRAIN_SECONDS:g} s after the load had stopped;"
                    f" last words of\n{self.team.last_words()}",
                    hint="give less load (`--rate`), or report it: the worker may be stuck",
                )
            await asyncio.sleep(0.05)

    async def saturate(
        self,
        dags: Sequence[DagRow],
        seconds: float,
        *,
        words: str = "saturated",
        queued: int = 20_000,
        batch: int = 1_000,
    ) -> Saturated:
        """Keep the queue full, warm up, measure so many seconds, and let the queue run empty."""
        flood = Flood(self.load, self.glance, dags, queued=queued, batch=batch)
        pouring = asyncio.create_task(flood.run())
        tasks_each = len(dags[0].spec.tasks)
        try:
            warm_up = self.begin_load()
            self.watcher.phase(f"{words}: warming up", warm_up)
            await self._watch_flood(pouring, flood, warm_up, tasks_each)
            self.watcher.phase(words, seconds)
            cpu_before, begin = await self.read_cpu(), await tables.now(self.watch)
            await self._watch_flood(pouring, flood, seconds, tasks_each)
            end, cpu_after = await tables.now(self.watch), await self.read_cpu()
            hot_runs = await tables.hot_runs(self.watch)
        finally:
            self.end_load()
            pouring.cancel()
            await asyncio.gather(pouring, return_exceptions=True)
        self.watcher.phase(f"{words}: running the queue empty")
        await self.drain()
        window = Window(begin, end, self.first_id)
        tasks = await tables.done_in(self.watch, window)
        return Saturated(window, tasks, cpu.spent(cpu_before, cpu_after), hot_runs)

    async def _watch_flood(
        self, pouring: asyncio.Task[None], flood: Flood, seconds: float, tasks_each: int
    ) -> None:
        deadline = time.monotonic() + seconds
        done, at = flood.done, time.monotonic()
        while (left := deadline - time.monotonic()) > 0:
            await asyncio.wait([pouring], timeout=min(_LIVE_SECONDS, left))
            if pouring.done():
                pouring.result()
            self.team.check()
            rate = (flood.done - done) * tasks_each / (time.monotonic() - at)
            done, at = flood.done, time.monotonic()
            self.watcher.live(f"{rate:,.0f}/s, {flood.waiting:,} runs waiting")


@asynccontextmanager
async def staged(
    place: Place,
    settings: Settings,
    watcher: Watcher,
    *,
    dag_files: Sequence[str],
    slots: str | None,
    workers: int,
    server: bool,
    violations: dict[str, int],
) -> AsyncIterator[Stage]:
    """A stage with everything running; promises that do not hold at its end go to `violations`."""
    watcher.phase("making the schema")
    await place.prepare()
    watcher.phase("measuring the raw ceiling", _yardstick_seconds(settings))
    yardstick = await measure_yardstick(place.url, _yardstick_seconds(settings))
    team = Team(
        place.url, place.folder, dag_files=dag_files, slots=slots, workers=workers, server=server
    )
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(team.kill)
        watcher.phase("starting engine and workers")
        team.start()
        load = await connect(place.url, name="bench load", stable_plans=True)
        stack.callback(load.terminate)
        glance = await connect(place.url, name="bench glance", stable_plans=True)
        stack.callback(glance.terminate)
        watch = await patient_connection(place.url, "bench watch")
        stack.callback(watch.terminate)
        stage = Stage(
            place,
            settings,
            watcher,
            team,
            load=load,
            watch=watch,
            glance=glance,
            client=await stack.enter_async_context(Client(place.url, name="bench client")),
            server_pid=await find_server(place.url, watch),
            first_id=await Ids().take(watch, 1),
        )
        stage.yardsticks.append(yardstick)
        await _joined(stage, workers)
        yield stage
        watcher.phase("stopping engine and workers")
        await stage.drain()
        await asyncio.to_thread(team.stop)
        watcher.phase("measuring the raw ceiling again", _yardstick_seconds(settings))
        stage.yardsticks.append(await measure_yardstick(place.url, _yardstick_seconds(settings)))
        watcher.phase("checking the promises")
        for name, count in (await _violations(place.url, stage)).items():
            violations[name] = violations.get(name, 0) + count


def _yardstick_seconds(settings: Settings) -> float:
    return min(_YARDSTICK_SECONDS, settings.length(_YARDSTICK_SECONDS))


async def _joined(stage: Stage, workers: int) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while await tables.living_workers(stage.watch) < workers:
        stage.team.check()
        if time.monotonic() > deadline:
            raise UnavailableError(f"the workers did not start within {_READY_SECONDS:g} s")
        await asyncio.sleep(0.05)


async def _violations(url: str, stage: Stage) -> dict[str, int]:
    """How many rows break each promise, ours included: every run that was made has succeeded."""
    connection = await patient_connection(url, "bench promises")
    try:
        found = {name: len(rows) for name, rows in (await broken_promises(connection)).items()}
        if failed := await tables.unsuccessful_runs(connection, stage.first_id):
            found["every_run_of_the_benchmark_succeeded"] = len(failed)
        made = stage.load.made + stage.triggered
        missing = made - await tables.count_runs(connection, stage.first_id)
        if missing > 0:
            found["every_run_of_the_benchmark_is_there"] = missing
        return found | stage.broken
    finally:
        connection.terminate()
