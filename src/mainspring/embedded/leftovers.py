"""What an earlier server left behind: its pid file, its socket, processes of its own.

Called only under the home's lock, so whatever runs on our data has lost its supervisor. PostgreSQL
judges a pid file by `kill(pid, 0)` alone and would refuse to start for ever if the number now
belongs to another process or to a zombie that nobody reaps. We look closer: is that process a
PostgreSQL in our data folder? If not, the file is not deleted but disclaimed: the supervisor's own
number goes in, which the server, our child, takes for stale by its own rules (it skips its parent),
and it still checks the shared memory noted in the same file. So a backend which outlived a killed
postmaster keeps a second server out until it is gone.

A server of ours is asked to stop. One that somebody started by hand on our data is left alone, and
named in the error.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from mainspring.embedded.account import Account
from mainspring.embedded.errors import EmbeddedError
from mainspring.embedded.probe import socket_path

_FAST_SHUTDOWN_SECONDS = 60
_IMMEDIATE_SHUTDOWN_SECONDS = 10
_HAS_PROC = os.path.exists("/proc/self/cwd")  # Linux
_NO_FOLLOW = os.O_NOFOLLOW | os.O_CLOEXEC


def make_way(data: Path, socket_folder: Path, configuration: Path, account: Account) -> None:
    """End or disclaim an earlier server, so that only PostgreSQL's own checks are left to pass."""
    end_server(data, configuration)
    path = data / "postmaster.pid"
    if read_pid(data) is not None:
        _disclaim(path, account)
    else:
        # Cut short while being written; PostgreSQL refuses an empty or bogus file.
        path.unlink(missing_ok=True)
    for left in (socket_path(socket_folder), Path(f"{socket_path(socket_folder)}.lock")):
        left.unlink(missing_ok=True)


def end_server(data: Path, configuration: Path) -> None:
    pid = read_pid(data)
    if pid is not None and _is_server(pid, data):
        _stop_orphan(pid, data, configuration)


def end_backends(data: Path, number: signal.Signals) -> None:
    """Signal processes that a killed postmaster left; those at work notice its death late."""
    for pid in _server_processes(data):
        _kill(pid, number)


def read_pid(data: Path) -> int | None:
    lines = read_pid_file(data)
    try:
        return abs(int(lines[0]))  # Negative for a single-user server.
    except (IndexError, ValueError):
        return None


def read_pid_file(data: Path) -> list[str]:
    try:
        descriptor = os.open(data / "postmaster.pid", os.O_RDONLY | _NO_FOLLOW)
    except OSError:
        return []
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as file:
        return file.read(65536).split("\n")


def _disclaim(path: Path, account: Account) -> None:
    try:
        descriptor = os.open(path, os.O_RDWR | _NO_FOLLOW)
    except FileNotFoundError:
        return
    with os.fdopen(descriptor, "r+", encoding="utf-8", errors="surrogateescape") as file:
        # The folder is the account's; as root, write to nothing that it does not own itself.
        if os.fstat(descriptor).st_uid != account.uid:
            raise EmbeddedError(
                f"{path} does not belong to `{account.name}`", hint=f"look at it, then `rm {path}`"
            )
        _, *rest = file.read().split("\n")
        file.seek(0)
        file.write("\n".join([str(os.getpid()), *rest]))
        file.truncate()


def _stop_orphan(pid: int, data: Path, configuration: Path) -> None:
    if str(configuration) not in _command_line(pid):
        raise EmbeddedError(
            f"process {pid} is a PostgreSQL server in {data} that Mainspring did not start",
            hint=f"stop it first: `kill -INT {pid}`",
        )
    for number, seconds in (
        (signal.SIGINT, _FAST_SHUTDOWN_SECONDS),
        (signal.SIGQUIT, _IMMEDIATE_SHUTDOWN_SECONDS),
    ):
        _kill(pid, number)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not _is_server(pid, data):
                return
            time.sleep(0.05)
    raise EmbeddedError(
        f"process {pid}, an earlier server in {data}, does not stop", hint=f"`kill -KILL {pid}`"
    )


def _is_server(pid: int, data: Path) -> bool:
    if _HAS_PROC:
        return _is_postgres_in(Path("/proc") / str(pid), data)
    command = _command_line(pid)
    return "postgres" in command and str(data) in command


def _server_processes(data: Path) -> Iterator[int]:
    if _HAS_PROC:
        for process in Path("/proc").iterdir():
            if process.name.isdecimal() and _is_postgres_in(process, data):
                yield int(process.name)


def _is_postgres_in(process: Path, data: Path) -> bool:
    """Every process of a server works in its data folder; a zombie works nowhere."""
    try:
        return (process / "comm").read_text().strip() == "postgres" and os.path.samefile(
            process / "cwd", data
        )
    except OSError:
        return False


def _command_line(pid: int) -> str:
    if _HAS_PROC:
        try:
            return os.fsdecode((Path("/proc") / str(pid) / "cmdline").read_bytes())
        except OSError:
            return ""
    command = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout


def _kill(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
