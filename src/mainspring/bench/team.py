"""An engine, workers and perhaps a server, started as users start them: `python -m mainspring …`.

They end with us: when they are stopped, when they are killed at an error or a Ctrl-C, and, should
we be killed ourselves, because they look for their parent.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from mainspring.bundles.snapshot import tree_digest
from mainspring.domain.errors import UnavailableError

QUEUE = "bench"
_PARENT = "MAINSPRING_PARENT_PID"
"""As `mainspring.app` reads it."""
_STOP_SECONDS = 40.0
_LAST_WORDS = 12
_LISTENS = re.compile(r"the server listens.*http://127\.0\.0\.1:(\d+)")


class Team:
    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        dag_files: Sequence[str],
        slots: str | None,
        workers: int,
        server: bool = False,
    ) -> None:
        self._folder = folder
        self._dag_files = dag_files
        self._workers = workers
        self._slots = slots
        self._server = server
        dags, self._logs = folder / "dags", folder / "logs"
        self._dags = dags
        self._environment = {
            **{name: value for name, value in os.environ.items() if not _is_ours(name)},
            "MAINSPRING_DATABASE_URL": url,
            "MAINSPRING_HOME": str(folder / "work"),
            "MAINSPRING_DAGS": str(dags),
            # One token asks for all, as often as it can.
            "MAINSPRING_RATE": "1000000",
            _PARENT: str(os.getpid()),
        }
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def engine_pid(self) -> int:
        return self._processes["engine"].pid

    @property
    def worker_pids(self) -> list[int]:
        return [p.pid for name, p in self._processes.items() if name not in ("engine", "server")]

    @property
    def server_pid(self) -> int | None:
        """Of our server, the one for HTTP."""
        return self._processes["server"].pid if self._server else None

    def server_port(self) -> int | None:
        """Where it listens; None: not yet."""
        found = _LISTENS.search((self._logs / "server.log").read_text("utf-8", "replace"))
        return int(found[1]) if found else None

    def start(self) -> None:
        for folder in (self._dags, self._logs):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for name in self._dag_files:
            source = files("mainspring.bench").joinpath("dags", f"{name}.py")
            (self._dags / f"{name}.py").write_bytes(source.read_bytes())
        self._start("engine", "engine")
        for number in range(1, self._workers + 1):
            name = f"bench-{number}"
            slots = [] if self._slots is None else ["--slots", self._slots]
            self._start(name, "worker", "--queues", QUEUE, "--name", name, *slots)
        if self._server:
            self._start("server", "server", "--host", "127.0.0.1", "--port", "0")

    def snapshot(self) -> str:
        """The digest under which the engine stores the dags."""
        return tree_digest(self._dags)

    def check(self) -> None:
        """Raises if a process has ended, with its last words."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise UnavailableError(
                    f"`{name}` ended in the middle of the benchmark, with exit code"
                    f" {process.returncode}:\n{self._last_words(name)}"
                )

    def last_words(self) -> str:
        """The ends of all logs."""
        return "\n".join(f"{name}:\n{self._last_words(name)}" for name in self._processes)

    def stop(self) -> None:
        """Workers first; whoever does not end in time is killed."""
        for name in reversed(self._processes):
            process = self._processes[name]
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(_STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    break
        self.kill()

    def kill(self) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
        for process in self._processes.values():
            process.wait()
        self._wait_for_hosts()
        self._processes.clear()

    def _start(self, name: str, *arguments: str) -> None:
        with (self._logs / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-m", "mainspring", *arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # A Ctrl-C in the terminal is for us; we stop them.
                start_new_session=True,
            )

    def _last_words(self, name: str) -> str:
        words = (self._logs / f"{name}.log").read_text("utf-8", "replace").splitlines()
        return "\n".join(words[-_LAST_WORDS:]) or "it said nothing"

    def _wait_for_hosts(self) -> None:
        """Hosts die with their worker; until they have, they hold on to the folder."""
        deadline = time.monotonic() + 5
        sessions = {process.pid for process in self._processes.values()}
        while time.monotonic() < deadline and any(map(_lives, sessions)):
            time.sleep(0.02)


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _is_ours(name: str) -> bool:
    return name.startswith("MAINSPRING_") and name != "MAINSPRING_DEBUG"
