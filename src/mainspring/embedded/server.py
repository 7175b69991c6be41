"""The supervisor: one PostgreSQL server as a direct child of this process.

`start` brings the server up or raises; it never returns one that does not answer. `poll` and `wait`
tell whether it still runs, and calling `start` again is how to restart it: the decision is the
caller's. The home stays locked from `start` to `stop`, also while the server is down in between.

The server ends with this process, however that ends (`child.py`), and what an earlier one left is
dealt with before the next begins (`leftovers.py`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from mainspring.embedded import configuration, leftovers, logs
from mainspring.embedded.account import Account, choose_account, current_account
from mainspring.embedded.address import url_of
from mainspring.embedded.binaries import POSTGRESQL_MAJOR, find_binaries, find_psql
from mainspring.embedded.child import Watchdog, needs_watchdog, run_tool, spawn_server
from mainspring.embedded.cluster import Cluster, choose_place
from mainspring.embedded.configuration import PORT, PRODUCT_DATABASE, PRODUCT_ROLE, SUPERUSER
from mainspring.embedded.errors import EmbeddedError
from mainspring.embedded.home import Home, Marker, new_id, write_file
from mainspring.embedded.lock import HomeLock
from mainspring.embedded.machine import read_machine
from mainspring.embedded.probe import answers

# Recovery after a crash replays up to `max_wal_size`; slow disks need minutes for that.
_READY_SECONDS = 900
# An earlier server's last processes notice its death within moments, unless they are computing.
_RETRY_SECONDS = 30
_ASK_BACKENDS_AFTER_SECONDS = 0.5
_KILL_BACKENDS_AFTER_SECONDS = 8
_STOP_STEPS = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, None))
_PRUNE_EVERY_SECONDS = 10

_IN_USE = ('postmaster.pid" already exists', "is still in use")

# Said at each start, so that a changed option, or a hand's mistake, is put right.
_BOOTSTRAP = f"""
select 'create role {PRODUCT_ROLE}'
    where not exists (select from pg_roles where rolname = '{PRODUCT_ROLE}') \\gexec
alter role {PRODUCT_ROLE} login nosuperuser nocreaterole noreplication nobypassrls {{createdb}};
select 'create database {PRODUCT_DATABASE} owner {PRODUCT_ROLE}'
    where not exists (select from pg_database where datname = '{PRODUCT_DATABASE}') \\gexec
"""


class EmbeddedPostgres:
    def __init__(
        self,
        home: Path,
        *,
        createdb: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        configuration.check_settings(settings or {})
        self._home = Home(home)
        self._createdb = createdb
        self._settings = dict(settings or {})
        self._lock = HomeLock(self._home.path)
        self._cluster: Cluster | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: Watchdog | None = None
        self._supervisor_pid = 0
        self._pruned_at = 0.0
        self._guard = threading.RLock()

    def start(self) -> str:
        """Bring the server up, from nothing or from a crash, and return its address."""
        with self._guard:
            if self.poll() is None:
                return self.url
            try:
                self._start()
            except OSError as error:
                self.stop()
                raise EmbeddedError(
                    f"cannot start the embedded PostgreSQL of {self._home.path}: {error}",
                    hint="see that its disk is mounted, writable and not full",
                ) from error
            except BaseException:
                self.stop()
                raise
            return self.url

    def stop(self) -> None:
        """Shut down fast and cleanly; harmless when there is nothing to stop."""
        with self._guard:
            if not self._is_supervisor:  # A forked copy of this object supervises nothing.
                return
            for number, seconds in _STOP_STEPS:
                if self.poll() is not None:
                    break
                self._signal(number)
                self.wait(seconds)
            self._lock.release()

    def kill(self) -> None:
        """End the server as a crash would: SIGKILL, and nothing tidied up."""
        with self._guard:
            if self._is_supervisor and self.poll() is None:
                self._signal(signal.SIGKILL)
                self.wait()

    def poll(self) -> int | None:
        """None while the server runs; else its exit code, or 0 if it was never started."""
        if self._process is None:
            return 0
        if not self._is_supervisor:
            return None if leftovers.read_pid(self._opened.data) == self._process.pid else 0
        code = self._process.poll()
        if code is None:
            self._prune_logs()
        else:
            self._dismiss_watchdog()  # The number may soon be another process's.
        return code

    def wait(self, timeout_seconds: float | None = None) -> int | None:
        """Wait for the server's end; None if it still runs when the time is up."""
        if self._process is None:
            return 0
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return None
        return self.poll()

    @property
    def url(self) -> str:
        return url_of(self._opened.socket)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.poll() is None else None

    @property
    def log_folder(self) -> Path:
        return self._opened.log

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    # -- start, step by step -------------------------------------------------------------------

    def _start(self) -> None:
        self._supervisor_pid = os.getpid()
        user = current_account()
        self._home.make()
        self._lock.acquire()
        cluster, account = self._open_cluster()
        binaries = find_binaries(account)
        cluster.make_folder(account)
        cluster.initialise(binaries, account)
        cluster.make_socket_folder(account)
        logs.prune(cluster.log)
        self._write_configuration(cluster, account, user)
        self._launch_until_ready(cluster, account, binaries.postgres)
        self._make_role_and_database(cluster, user)
        if not answers(cluster.socket, role=PRODUCT_ROLE, database=PRODUCT_DATABASE):
            raise self._failed(cluster, "does not let its own user in")

    def _open_cluster(self) -> tuple[Cluster, Account]:
        marker = self._home.read()
        if marker is None:
            identity = new_id()
            place = choose_place(self._home, identity, choose_account())
            marker = Marker(id=identity, postgresql=POSTGRESQL_MAJOR, cluster=place)
            self._home.write(marker)
        self._cluster = Cluster(self._home, marker)
        return self._cluster, self._cluster.account()

    def _write_configuration(self, cluster: Cluster, account: Account, user: Account) -> None:
        places = configuration.Places(cluster.hba, cluster.ident, cluster.socket, cluster.log)
        machine = read_machine(cluster.folder)
        texts = {
            cluster.configuration: configuration.server_configuration(
                places, machine, self._settings
            ),
            cluster.hba: configuration.access_rules(),
            cluster.ident: configuration.user_map(user.name),
        }
        for path, text in texts.items():
            write_file(path, text, mode=0o640, group=account.gid)

    def _launch_until_ready(self, cluster: Cluster, account: Account, postgres: Path) -> None:
        began = time.monotonic()
        pause_seconds = 0.05
        while True:
            leftovers.make_way(cluster.data, cluster.socket, cluster.configuration, account)
            self._launch(cluster, account, postgres)
            if self._wait_until_ready(cluster):
                return
            waited = time.monotonic() - began
            words = logs.last_words(cluster.startup_log, cluster.log)
            if not any(sign in words for sign in _IN_USE) or waited > _RETRY_SECONDS:
                raise self._failed(cluster, f"did not start (exit code {self.poll()}):\n{words}")
            if waited > _KILL_BACKENDS_AFTER_SECONDS:
                leftovers.end_backends(cluster.data, signal.SIGKILL)
            elif waited > _ASK_BACKENDS_AFTER_SECONDS:
                leftovers.end_backends(cluster.data, signal.SIGQUIT)
            time.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, 1.0)

    def _launch(self, cluster: Cluster, account: Account, postgres: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        output = os.open(cluster.startup_log, flags, 0o600)
        try:
            self._process = spawn_server(
                [postgres, "-D", cluster.data, "-c", f"config_file={cluster.configuration}"],
                account,
                output=output,
            )
        finally:
            os.close(output)
        if needs_watchdog():
            self._watchdog = Watchdog(self._process.pid, account)

    def _wait_until_ready(self, cluster: Cluster) -> bool:
        """True when it answers, False when it has ended."""
        assert self._process is not None
        deadline = time.monotonic() + _READY_SECONDS
        while self.wait(0.01) is None:
            # The status line spares the server's log a refusal per probe while it recovers.
            lines = leftovers.read_pid_file(cluster.data)
            ready = len(lines) > 7 and lines[7].strip() == "ready"
            if ready and lines[0] == str(self._process.pid):
                return self._answers_or_ends(cluster, deadline)
            if time.monotonic() > deadline:
                raise self._failed(cluster, f"was not ready after {_READY_SECONDS} s")
        return False

    def _answers_or_ends(self, cluster: Cluster, deadline: float) -> bool:
        while not answers(cluster.socket, role=SUPERUSER, database="postgres"):
            if self.wait(0.05) is not None:
                return False
            if time.monotonic() > deadline:
                raise self._failed(cluster, "runs, but does not answer")
        return True

    def _make_role_and_database(self, cluster: Cluster, user: Account) -> None:
        done = run_tool(
            [
                *(find_psql(), "--no-psqlrc", "--quiet", "--no-align", "--tuples-only"),
                *("--set", "ON_ERROR_STOP=1", "--no-password", "--file", "-"),
                *("--host", cluster.socket, "--port", str(PORT)),
                *("--username", SUPERUSER, "--dbname", "postgres"),
            ],
            user,
            text_input=_BOOTSTRAP.format(createdb="createdb" if self._createdb else "nocreatedb"),
        )
        if done.returncode != 0:
            raise self._failed(
                cluster, f"could not be given its role and database:\n{done.stdout.strip()}"
            )

    def _failed(self, cluster: Cluster, what: str) -> EmbeddedError:
        return EmbeddedError(
            f"the embedded PostgreSQL of {self._home.path} {what}",
            hint=f"its log is in {cluster.log}",
        )

    # -- small things --------------------------------------------------------------------------

    @property
    def _is_supervisor(self) -> bool:
        return self._supervisor_pid == os.getpid()

    @property
    def _opened(self) -> Cluster:
        if self._cluster is None:
            raise EmbeddedError(
                f"the embedded PostgreSQL of {self._home.path} was not started yet",
                hint="call `start()` first, or `find_running()` for one of another process",
            )
        return self._cluster

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._dismiss_watchdog()
        self._process.send_signal(number)

    def _dismiss_watchdog(self) -> None:
        if self._watchdog is not None:
            self._watchdog.dismiss()
            self._watchdog = None

    def _prune_logs(self) -> None:
        now = time.monotonic()
        if now - self._pruned_at > _PRUNE_EVERY_SECONDS:
            self._pruned_at = now
            logs.prune(self._opened.log)
