"""Real engines and workers as processes, on a database and a folder of dags of their own."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pytest

from mainspring.client import Client
from mainspring.domain.roles import Role
from mainspring.store.connection import Connection, connect, fetch
from mainspring.store.tokens import create_token, new_secret
from tests.support.launcher import Launched, Launcher

_T = TypeVar("_T")

Process: TypeAlias = "subprocess.Popen[bytes] | Launched"

NEAR_AND_FAR = pytest.mark.parametrize(
    "team", ["beside the database", "through a server"], indirect=True
)
"""For modules whose tests hold of workers that speak SQL and of those that speak HTTP."""

CLOSED = ("succeeded", "failed", "cancelled")


class Team:
    """Starts processes, triggers dags, waits for what must come to pass.

    A wait has no limit of its own: if what it waits for never comes, the run of the tests stops
    at the time limit of the whole, and the log of the processes is shown.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        launcher: Launcher | None = None,
        *,
        lease_seconds: float = 3.0,
        remote: bool = False,
    ) -> None:
        """Without a launcher each process reads its modules itself, as it must where it has others
        than we have."""
        self.url = url
        self._remote = remote
        """Whether workers reach the database through a server only."""
        self.token = new_secret()
        """Of remote workers."""
        self._place: socket.socket | None = None
        self.server: Process | None = None
        self.dags = folder / "dags"
        self.dags.mkdir()
        self.effects = folder / "effects.log"
        self.effects.touch()
        self.working_folder: Path | None = None
        self._folder = folder
        self._log = (folder / "processes.log").open("wb")
        self.lease_seconds = lease_seconds
        self._launcher = launcher
        self._processes: list[Process] = []
        self._written: set[str] = set()
        self.connection: Connection

    async def __aenter__(self) -> Team:
        self.connection = await connect(self.url, name="team")
        if self._remote:
            queues = ["default", "mail", "print"]
            await create_token(
                self.connection, self.token, name="team", role=Role.WORKER, queues=queues
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        for process in self._processes:
            if process.poll() is None:
                # A stopped process acts on no signal but this one.
                process.send_signal(signal.SIGCONT)
                process.kill()
        for process in self._processes:
            process.wait()
        self._log.close()
        if self._place is not None:
            self._place.close()
        if not self.connection.is_closed():
            await self.connection.close()
        print(self.log())

    # --- processes -------------------------------------------------------------------------

    def start_engine(self, **environment: str) -> Process:
        return self._start("engine", **environment)

    def start_worker(self, *options: str) -> Process:
        return self._start("worker", *options, **self._way())

    def serve_workers(self, fault: str = "") -> Process:
        """At the same address as the one before, if there was one."""
        if self._place is None:
            # Held, though nobody listens at it: so it is nobody else's while no server runs.
            self._place = socket.socket()
            self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._place.bind(("127.0.0.1", 0))
        port = str(self._place.getsockname()[1])
        self.server = self._start("server", "--port", port, MAINSPRING_FAULT=fault)
        return self.server

    @property
    def server_url(self) -> str:
        assert self._place is not None
        return f"http://127.0.0.1:{self._place.getsockname()[1]}"

    def _way(self) -> dict[str, str]:
        """How workers reach their tasks."""
        if not self._remote:
            return {}
        if self.server is None:
            self.serve_workers()
        return {
            "MAINSPRING_DATABASE_URL": "",
            "MAINSPRING_URL": self.server_url,
            "MAINSPRING_TOKEN": self.token,
        }

    def start_server(self, *options: str, **environment: str) -> Process:
        """At a free port, which its log tells."""
        return self._start("server", "--port", "0", *options, **environment)

    def start_distant_worker(self, *options: str, fault: str = "") -> Process:
        """As on another machine: with a home of its own, and without the folder of dags."""
        return self._start(
            "worker",
            *options,
            MAINSPRING_HOME=str(self.distant_home),
            MAINSPRING_DAGS="",
            MAINSPRING_FAULT=fault,
            **self._way(),
        )

    @property
    def distant_home(self) -> Path:
        return self._folder / "elsewhere"

    def _environment(self, **more: str) -> dict[str, str]:
        # A server that a test's commands ask is not the one of these processes.
        ours = {
            k: v for k, v in os.environ.items() if k not in ("MAINSPRING_URL", "MAINSPRING_TOKEN")
        }
        return {
            **ours,
            "MAINSPRING_DATABASE_URL": self.url,
            "MAINSPRING_HOME": str(self._folder / "home"),
            "MAINSPRING_DAGS": str(self.dags),
            "MAINSPRING_LEASE_SECONDS": str(self.lease_seconds),
            "EFFECTS": str(self.effects),
            **more,
        }

    def _start(self, *arguments: str, **environment: str) -> Process:
        environment = self._environment(**environment)
        process: Process
        if self._launcher is not None:
            process = self._launcher.start(
                arguments, environment, output=self._log.fileno(), folder=self.working_folder
            )
        else:
            process = subprocess.Popen(
                [sys.executable, "-m", "mainspring", *arguments],
                env=environment,
                cwd=self.working_folder,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    # --- dags and runs ---------------------------------------------------------------------

    def write(self, name: str, code: str) -> None:
        """A file of dags; tasks can log effects outside of the system under test."""
        self._written.add(name)
        (self.dags / name).write_text(_PRELUDE + textwrap.dedent(code), "utf-8")

    async def trigger(self, dag: str, parameters: Mapping[str, Any] | None = None) -> int:
        async with Client(self.url) as client:
            return await client.trigger(dag, parameters or {})

    async def known(self, dag: str) -> None:
        """Wait until the dag has been read; a file of ours that cannot be is the test's fault."""

        async def read() -> bool:
            problems = await self.rows("select file, message from mainspring.file_problem")
            assert not [p for p in problems if p["file"] in self._written], problems
            return bool(await self.rows("select 1 from mainspring.dag where name = $1", dag))

        await self.until(read)

    async def scheduled(self, dag: str) -> None:
        """Wait until what the dag says of its schedules is stored, too; that comes second."""
        await self.until(
            lambda: self.rows(
                "select 1 from mainspring.schedule s join mainspring.dag d on d.id = s.dag_id"
                " where d.name = $1 and s.in_code",
                dag,
            )
        )

    async def ended(self, run_id: int) -> str:
        return await self.until(
            lambda: self.connection.fetchval(
                "select state from mainspring.run_view where id = $1 and state = any($2)",
                run_id,
                list(CLOSED),
            )
        )

    async def until(self, asked: Callable[[], Awaitable[_T | None]]) -> _T:
        """What `asked` answers, as soon as it is not nothing."""
        while not (answer := await asked()):
            for process in self._processes:
                assert process.poll() in (None, 0, -signal.SIGKILL), "a process died"
            await asyncio.sleep(0.02)
        return answer

    async def rows(self, sql: str, *args: Any) -> list[dict[str, Any]]:
        return [dict(row) for row in await fetch(self.connection, sql, *args)]

    async def error_of(self, run_id: int) -> str:
        """Type and message of the last error in a run."""
        [row] = await self.rows(
            "select convert_from(error, 'UTF8')::json as error from mainspring.attempt a"
            " join mainspring.task t on t.id = a.task_id"
            " where t.run_id = $1 order by a.finished_at desc limit 1",
            run_id,
        )
        return str(row["error"])

    async def log_of(self, run_id: int) -> bytes:
        rows = await self.rows(
            "select content from mainspring.log l join mainspring.task t on t.id = l.task_id"
            " where t.run_id = $1 order by l.task_id, l.term, l.start",
            run_id,
        )
        return b"".join(row["content"] for row in rows)

    def log(self) -> str:
        """What the processes have said."""
        return Path(self._log.name).read_text("utf-8", "replace")

    def effects_of(self, word: str) -> list[str]:
        lines = self.effects.read_text("utf-8").splitlines()
        return [line.partition(" ")[2] for line in lines if line.startswith(f"{word} ")]


_PRELUDE = """\
import asyncio, os, signal, sys, time
from mainspring import Fail, Retry, RetryPolicy, Skip, dag, task

def effect(word, value=""):
    with open(os.environ["EFFECTS"], "a") as file:
        file.write(f"{word} {value}\\n")

"""
