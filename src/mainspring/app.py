"""The one place that builds processes: an engine, a worker, a server, or all beside a database.

`mainspring up` is a supervisor: it starts the embedded PostgreSQL as its own child, brings the
schema up to date, and keeps one engine, one worker and one server running. They are separate
processes so that none can stop another's heartbeat, and they end when their supervisor is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import structlog
import uvloop

from mainspring.client.link import reached
from mainspring.config import Config, database_url
from mainspring.domain.errors import InputError
from mainspring.domain.lanes import EVERY_QUEUE, SlotKind
from mainspring.embedded import EmbeddedPostgres
from mainspring.engine.engine import Engine
from mainspring.logs.places import check_place
from mainspring.observe.listener import told
from mainspring.observe.log_lines import configure_logging
from mainspring.observe.measures import Measures
from mainspring.patience import set_within
from mainspring.store.connection import connect
from mainspring.store.migrate import check_schema, migrate
from mainspring.worker.apps import check_apps
from mainspring.worker.depot import Depot
from mainspring.worker.http_line import Server
from mainspring.worker.remote_depot import RemoteDepot
from mainspring.worker.slots import default_slots
from mainspring.worker.sql_depot import SqlDepot
from mainspring.worker.worker import Worker

_PARENT = "MAINSPRING_PARENT_PID"
_PARENT_SECONDS = 0.5
_LISTENER = "MAINSPRING_LISTENER"
"""The number of the socket that a server gets from its supervisor."""
_NOT_FOR_UP = tuple(
    f"MAINSPRING_{name}{file}"
    for name in ("URL", "TOKEN", "METRICS_PORT")
    for file in ("", "_FILE")
)
"""Its worker is beside the database, whatever server the command line would ask. One port for the
metrics of two processes would be one too few."""

log = structlog.get_logger(__name__)


class Process(Protocol):
    """An engine, a worker or a server."""

    async def run(self) -> None: ...

    def stop(self) -> None: ...


def run_engine(config: Config) -> int:
    check_place(config.object_store)
    url = database_url(config)
    _configure_logging(config)
    # A tick makes thousands of small objects that die with it; looking among them for cycles took
    # a fifth of its time.
    gc.set_threshold(100_000, 20, 20)
    measures = Measures("engine")
    return uvloop.run(
        _serve(url, lambda: Engine(config, url, measures), _telling(config, measures))
    )


def run_worker(
    config: Config,
    *,
    queues: Sequence[str],
    slots: Mapping[SlotKind, int] | None = None,
    name: str | None = None,
) -> int:
    check_apps(config.apps)
    _configure_logging(config)
    measures = Measures("worker")
    telling = _telling(config, measures)

    def build(build_depot: Callable[[str], Depot]) -> Worker:
        return Worker(
            config,
            build_depot,
            queues=queues,
            slots=slots or default_slots(),
            name=name,
            measures=measures,
        )

    if config.server is not None:
        if config.server.token is None:
            raise InputError(
                "MAINSPRING_TOKEN is not set, by which the server would know this worker",
                hint="make one there: `mainspring token create --name NAME --role worker"
                " --queue QUEUE`",
            )
        server = Server.at(config.server.url, config.server.token)

        def build_remote() -> Worker:
            return build(lambda name: RemoteDepot(config, server, name=name))

        return uvloop.run(_run(build_remote, telling))
    url = database_url(config)

    def build_near() -> Worker:
        return build(lambda name: SqlDepot(config, url, name=name))

    return uvloop.run(_serve(url, build_near, telling))


def run_server(config: Config) -> int:
    # Imported late: engines and workers need no web framework.
    from mainspring.api.server import Server, check_listening

    check_listening(config.listening)
    url = database_url(config)
    _configure_logging(config)
    # As for an engine: what a request makes dies with it.
    gc.set_threshold(100_000, 20, 20)
    given = os.environ.get(_LISTENER)
    listener = None if given is None else socket.socket(fileno=int(given))
    return uvloop.run(_serve(url, lambda: Server(config, url, listener), contextlib.nullcontext()))


def _configure_logging(config: Config) -> None:
    configure_logging(config.log_lines, supervised=_PARENT in os.environ)


Telling: TypeAlias = "contextlib.AbstractAsyncContextManager[None]"
"""Entered while a process runs, so that its metrics can be read."""


def _telling(config: Config, measures: Measures) -> Telling:
    return told(measures, config.metrics)


async def _serve(url: str, build: Callable[[], Process], telling: Telling) -> int:
    """Run one process beside the database, once that is there and fits."""
    async with reached(url, name="start") as connection:
        await check_schema(connection)
    return await _run(build, telling)


async def _run(build: Callable[[], Process], telling: Telling) -> int:
    """Run one process until a signal, or the end of its supervisor, stops it."""
    process = build()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, process.stop)
    orphaned = asyncio.create_task(_stop_when_orphaned(process))
    try:
        async with telling:
            await process.run()
    finally:
        orphaned.cancel()
    return 0


async def _stop_when_orphaned(process: Process) -> None:
    parent = os.environ.get(_PARENT)
    while parent is not None:
        if os.getppid() != int(parent):
            log.warning("the supervisor is gone")
            process.stop()
            return
        await asyncio.sleep(_PARENT_SECONDS)


# --- everything at once -------------------------------------------------------------------


class Child:
    """A process that is started again when it dies, not faster than it is worth."""

    def __init__(
        self,
        name: str,
        *arguments: str,
        environment: Mapping[str, str],
        logs: Path | None,
        listener: socket.socket | None = None,
    ) -> None:
        self.name = name
        self._arguments = arguments
        self._environment = dict(environment)
        self._listener = listener
        """Ours as long as it may be started again: who calls meanwhile waits."""
        if listener is not None:
            self._environment[_LISTENER] = str(listener.fileno())
        self._logs = logs
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._deaths = 0

    def start(self) -> None:
        self._started_at = time.monotonic()
        with contextlib.ExitStack() as files:
            log_file = None
            if self._logs is not None:
                self._logs.mkdir(parents=True, exist_ok=True)
                log_file = files.enter_context((self._logs / f"{self.name}.log").open("ab"))
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mainspring", self.name, *self._arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=log_file,
                pass_fds=[] if self._listener is None else [self._listener.fileno()],
                # A Ctrl-C in the terminal is for the supervisor; it stops its children in order.
                start_new_session=True,
            )

    def tend(self) -> None:
        """Start it again if it died."""
        if self._process is None or self._process.poll() is None:
            return
        lived = time.monotonic() - self._started_at
        if lived > min(2.0**self._deaths, 30.0):
            log.error("a process died and is started again", process=self.name)
            self._deaths = 0 if lived > 60 else self._deaths + 1
            self.start()

    def signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    async def ended(self) -> None:
        if self._process is not None:
            await asyncio.to_thread(self._process.wait)
        if self._listener is not None:
            # Nobody is to wait for a server that does not come back.
            self._listener.close()


async def run_up(
    config: Config,
    view: Callable[[str], Awaitable[None]],
    listener: socket.socket,
    *,
    logs: Path | None,
) -> int:
    """Start everything, show `view(url)` meanwhile, and stop in order at a signal.

    The server takes its callers from `listener`.
    The processes write their logs into files in `logs`, or to our own standard error.
    """
    from mainspring.api.server import check_listening

    _configure_logging(config)
    check_place(config.object_store)
    check_listening(config.listening)
    postgres = None if config.database_url else EmbeddedPostgres(config.home)
    url = config.database_url or (postgres.start() if postgres else "")
    try:
        connection = await connect(url, name="up")
        await migrate(connection)
        await connection.close()
        environment = {
            **{name: value for name, value in os.environ.items() if name not in _NOT_FOR_UP},
            "MAINSPRING_DATABASE_URL": url,
            "MAINSPRING_HOME": str(config.home),
            "MAINSPRING_HOST": config.listening.host,
            "MAINSPRING_PORT": str(config.listening.port),
            _PARENT: str(os.getpid()),
        }
        if config.object_store is not None:
            environment["MAINSPRING_OBJECTS"] = config.object_store
        if config.dags is not None:
            environment["MAINSPRING_DAGS"] = str(config.dags.absolute())
        elif config.repository is not None:
            environment["MAINSPRING_DAGS"] = str(config.repository)
        children = [
            Child("engine", environment=environment, logs=logs),
            Child("worker", "--queues", EVERY_QUEUE, environment=environment, logs=logs),
            Child("server", environment=environment, logs=logs, listener=listener),
        ]
        await _supervise(children, postgres, view(url))
    finally:
        if postgres is not None:
            postgres.stop()
    return 0


async def _supervise(
    children: Sequence[Child], postgres: EmbeddedPostgres | None, viewing: Awaitable[None]
) -> None:
    signalled = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, signalled.set)
    for child in children:
        child.start()
    view = asyncio.ensure_future(viewing)
    try:
        while not signalled.is_set() and not view.done():
            for child in children:
                child.tend()
            if postgres is not None and postgres.poll() is not None:
                log.error("PostgreSQL died and is started again")
                postgres.start()
            await set_within(signalled, 0.2)
        if view.done():
            view.result()
    finally:
        view.cancel()
        await asyncio.gather(view, return_exceptions=True)
        signalled.clear()
        await _stop(children, signalled)


async def _stop(children: Sequence[Child], hurry: asyncio.Event) -> None:
    """Workers hand back what they hold before the engine goes; a second signal hurries them."""
    for child in reversed(children):
        child.signal(signal.SIGTERM)
        ended = asyncio.create_task(child.ended())
        hurried = asyncio.create_task(hurry.wait())
        await asyncio.wait([ended, hurried], return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            child.signal(signal.SIGTERM)
            await asyncio.wait([ended], timeout=15)
            child.signal(signal.SIGKILL)
        hurried.cancel()
        await ended
