"""Real processes for the tests: waiting for them, talking to them, becoming somebody else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from mainspring.embedded import EmbeddedPostgres
from mainspring.embedded.account import Account
from mainspring.embedded.binaries import find_psql

# Small, and quick where durability is not what is tested.
SETTINGS = {"shared_buffers": "16MB", "max_connections": "20", "fsync": "off"}

SUPERVISOR = """
import sys
from pathlib import Path
from mainspring.embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), settings={"shared_buffers": "16MB"})
print(server.start(), server.pid, flush=True)
sys.stdin.read()
"""


def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.005)


def is_alive(pid: int) -> bool:
    """Whether it runs; a zombie that its new parent has not reaped yet does not."""
    if Path("/proc/self/stat").exists():
        try:
            state = Path("/proc", str(pid), "stat").read_text().rpartition(") ")[2][:1]
        except OSError:
            return False
    else:
        command = ["ps", "-o", "stat=", "-p", str(pid)]
        state = subprocess.run(command, check=False, capture_output=True, text=True).stdout[:1]
    return state not in ("", "Z", "X")


def ask(url: str, sql: str) -> str:
    done = subprocess.run(
        [find_psql(), url, "-XAtqc", sql],
        check=True,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.rstrip("\n")


def replace_file(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(text)


def log_since_start(server: EmbeddedPostgres) -> str:
    logs = "".join(log.read_text() for log in sorted(server.log_folder.iterdir()))
    return logs.rpartition("starting PostgreSQL")[2]


def start_python(code: str, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def start_supervisor(home: Path) -> tuple[subprocess.Popen[str], str, int]:
    """A process of its own that supervises a home; its address and the server's pid."""
    supervisor = start_python(SUPERVISOR, home)
    assert supervisor.stdout is not None
    url, pid = supervisor.stdout.readline().split()
    return supervisor, url, int(pid)


def holds_as(account: Account, condition: Callable[[], bool]) -> bool:
    """Evaluate a condition in a forked process that has become another account."""
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            os.setgroups([])
            os.setgid(account.gid)
            os.setuid(account.uid)
            code = 0 if condition() else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 1)
    return code == 0
