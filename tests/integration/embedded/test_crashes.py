"""Whatever dies, and whatever it leaves, the next start works and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mainspring.embedded import EmbeddedError, EmbeddedPostgres, destroy
from mainspring.embedded.account import owner_of
from mainspring.embedded.binaries import find_binaries, find_psql
from mainspring.embedded.child import spawn_server
from tests.integration.embedded.processes import (
    SETTINGS,
    SUPERVISOR,
    ask,
    is_alive,
    log_since_start,
    start_python,
    start_supervisor,
    wait_until,
)

pytestmark = pytest.mark.fault

WATCHED = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); print(1); signal.pause()"
WATCHER = f"""
import subprocess, sys
from mainspring.embedded.account import current_account
from mainspring.embedded.child import Watchdog
watched = subprocess.Popen([sys.executable, "-uc", {WATCHED!r}], stdout=subprocess.PIPE)
watched.stdout.readline()
watchdog = Watchdog(watched.pid, current_account())
if sys.argv[1] == "dismiss":
    watchdog.dismiss()
print(watched.pid, watchdog._shell.pid, flush=True)
sys.stdin.read()
"""


def pid_file(home: Path) -> Path:
    return home / "cluster" / "data" / "postmaster.pid"


def test_the_server_stops_cleanly_when_its_supervisor_is_killed(home: Path) -> None:
    supervisor, url, pid = start_supervisor(home)
    with supervisor:
        ask(url, "drop table if exists kept; create table kept as select 42 as answer")
        supervisor.kill()
    wait_until(lambda: not is_alive(pid))
    assert not pid_file(home).exists()
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert ask(server.url, "select answer from kept") == "42"
        assert "not properly shut down" not in log_since_start(server)


def test_a_home_can_be_started_at_once_after_its_supervisor_was_killed(home: Path) -> None:
    supervisor, _, _ = start_supervisor(home)
    with supervisor:
        supervisor.kill()
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert ask(server.url, "select 1") == "1"


def test_a_supervisor_killed_during_initdb_leaves_nothing_in_the_way(folder: Path) -> None:
    home = folder / "home"
    for _ in range(3):
        supervisor = start_python(SUPERVISOR, home)
        with supervisor:
            # So that PostgreSQL, a child of `initdb`, is at work when `initdb` is killed.
            wait_until(lambda: any(home.glob("cluster/data.initializing-*/base/1/pg_filenode.map")))
            supervisor.kill()
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert ask(server.url, "select 1") == "1"
    assert not any(home.glob("cluster/data.initializing-*"))


def test_supervisor_and_server_killed_together(home: Path) -> None:
    supervisor, url, pid = start_supervisor(home)
    with supervisor:
        ask(url, "drop table if exists kept; create table kept as select 42 as answer")
        os.kill(supervisor.pid, signal.SIGSTOP)  # So that the server stays a zombie for a while.
        os.kill(pid, signal.SIGKILL)
        supervisor.kill()
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert ask(server.url, "select answer from kept") == "42"


def test_the_zombie_of_a_killed_server_is_no_server(home: Path) -> None:
    """As in a container whose first process never reaps."""
    server = EmbeddedPostgres(home, settings=SETTINGS)
    url = server.start()
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid))
    # Not reaped: no one has called `poll`. A second object stands for a second process.
    server._lock.release()
    with EmbeddedPostgres(home, settings=SETTINGS) as second:
        os.kill(pid, 0)
        assert ask(url, "select 1") == "1"
        assert second.pid != pid
    server.stop()


def test_a_pid_file_of_a_dead_process_does_not_matter(server: EmbeddedPostgres, home: Path) -> None:
    server.start()
    server.kill()
    assert pid_file(home).exists()
    server.start()
    assert ask(server.url, "select 1") == "1"


def test_a_pid_that_now_belongs_to_another_process_does_not_matter(
    server: EmbeddedPostgres, home: Path
) -> None:
    server.start()
    # Of the server's own account: only then does PostgreSQL itself see a living process.
    owner = (home / "cluster" / "data").stat()
    user = owner.st_uid if os.geteuid() == 0 else None
    with subprocess.Popen(["sleep", "1000"], user=user) as unrelated:
        server.kill()
        _, *rest = pid_file(home).read_text().split("\n")
        for lock in (pid_file(home), home / "cluster" / "socket" / ".s.PGSQL.5432.lock"):
            lock.write_text("\n".join([str(unrelated.pid), *rest]))
        server.start()
        assert ask(server.url, "select 1") == "1"
        assert unrelated.poll() is None
        unrelated.kill()


@pytest.mark.parametrize("content", ["", "nonsense\n"])
def test_a_pid_file_that_was_cut_short_does_not_matter(
    server: EmbeddedPostgres, home: Path, content: str
) -> None:
    pid_file(home).write_text(content)
    server.start()
    assert ask(server.url, "select 1") == "1"


def test_a_busy_backend_that_outlived_its_server_is_ended(server: EmbeddedPostgres) -> None:
    """PostgreSQL rightly refuses to start beside it, and it would compute for years."""
    url = server.start()
    command = [str(find_psql()), url, "-Xqc", "do $$ begin loop null; end loop; end $$"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as client:
        wait_until(lambda: ask(url, _BUSY) == "1")
        backend = int(ask(url, _BUSY.replace("count(*)", "pid")))
        server.kill()
        assert is_alive(backend)
        server.start()
        assert not is_alive(backend)
        client.wait()
    assert ask(url, "select 1") == "1"


_BUSY = "select count(*) from pg_stat_activity where state = 'active' and query like 'do %'"


def test_a_second_supervisor_is_told_about_the_first(home: Path) -> None:
    supervisor, url, _ = start_supervisor(home)
    with supervisor:
        with pytest.raises(EmbeddedError, match=f"supervised by process {supervisor.pid}") as told:
            EmbeddedPostgres(home).start()
        assert "MAINSPRING_HOME" in told.value.hint
        assert ask(url, "select 1") == "1"
        supervisor.kill()
    with EmbeddedPostgres(home, settings=SETTINGS) as server:
        assert ask(server.url, "select 1") == "1"


def test_a_server_that_somebody_started_by_hand_is_left_alone(
    server: EmbeddedPostgres, home: Path
) -> None:
    url = server.start()
    server.stop()
    other, data = home / "cluster" / "by-hand.conf", home / "cluster" / "data"
    os.link(home / "cluster" / "postgresql.conf", other)
    account = owner_of(data)
    postgres = find_binaries(account).postgres
    by_hand = spawn_server(
        [postgres, "-D", data, "-c", f"config_file={other}"], account, output=sys.stderr.fileno()
    )
    with by_hand:
        wait_until(lambda: pid_file(home).exists() and "ready" in pid_file(home).read_text())
        for refused in (server.start, lambda: destroy(home)):
            with pytest.raises(EmbeddedError, match=f"process {by_hand.pid} is a PostgreSQL"):
                refused()
        assert ask(url, "select 1") == "1"
        by_hand.send_signal(signal.SIGINT)
    other.unlink()
    assert server.start() == url


@pytest.mark.parametrize(("order", "ends"), [("watch", True), ("dismiss", False)])
def test_the_watchdog_of_other_systems_signals_when_the_supervisor_is_killed(
    order: str, ends: bool
) -> None:
    watcher = start_python(WATCHER, order)
    assert watcher.stdout is not None
    watched, shell = map(int, watcher.stdout.readline().split())
    with watcher:
        watcher.kill()
    wait_until(lambda: not is_alive(shell))
    if ends:
        wait_until(lambda: not is_alive(watched))
    else:
        assert is_alive(watched)
        os.kill(watched, signal.SIGKILL)
