"""The guard: a small process that stops the hosts when their worker cannot.

A worker's right to run its tasks ends with its lease. A worker that is stopped (SIGSTOP, a
paused virtual machine) or starved cannot act on that itself, and one that was killed acts on
nothing; so the guard does, and never runs user code.

It reads lines from its worker, on a socket:

    +PID MARK    a host, leader of a session, has been started
    -PID         it is gone
    =SECONDS     the lease holds until then, on the clock of `now()`

- The lease passes: everything that the hosts have started is frozen (SIGSTOP).
- A later `=` comes: it goes on (SIGCONT). The worker asks the database first, then renews.
- The socket ends: the worker is dead; everything is killed (SIGKILL), the guard exits.
- No `=` was ever sent: nothing is frozen. Tests and `dag test` need no lease.

The clock runs on while the machine sleeps, as the database's does, and the guard looks at it
twice a second, since the waits of the operating system do not.

If the guard dies the worker starts another, and meanwhile plays `Watch` itself.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time

from mainspring.executors import sessions

_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_LOOK_SECONDS = 0.5


def now() -> float:
    return time.clock_gettime(_CLOCK)


class Watch:
    """Which sessions are guarded, until when, and whether they are frozen."""

    def __init__(self) -> None:
        self.leaders: dict[int, str] = {}
        self.until: float | None = None
        self.frozen = False

    def obey(self, line: bytes) -> None:
        mark, value = line[:1], line[1:]
        if mark == b"+":
            leader, _, host_mark = value.partition(b" ")
            self.leaders[int(leader)] = host_mark.decode()
        elif mark == b"-":
            self.leaders.pop(int(value), None)
        elif mark == b"=":
            if self.until is None:
                # A guard before this one may have frozen them.
                self.frozen = True
            self.until = float(value)

    def step(self, at: float) -> None:
        if self.until is None:
            return
        if at >= self.until:
            # Again at each look: hosts may have been started since.
            sessions.freeze(self.leaders)
            self.frozen = True
        elif self.frozen:
            sessions.thaw(self.leaders)
            self.frozen = False

    def wait_seconds(self, at: float) -> float:
        if self.until is None or at >= self.until:
            return _LOOK_SECONDS
        return min(_LOOK_SECONDS, self.until - at)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.set_inheritable(False)
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    watch = Watch()
    rest = b""
    while True:
        if poll.poll(watch.wait_seconds(now()) * 1000):
            try:
                data = connection.recv(65536)
            except OSError:
                data = b""
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                watch.obey(line)
        watch.step(now())
    sessions.kill(watch.leaders)
    os._exit(0)


if __name__ == "__main__":
    main()
