"""The worker's end of its guard: starts it, feeds it, and stands in while there is none.

A guard that died, or that does not read (its socket is full), is replaced at the next tick and
told everything anew. When no process can be started the worker itself plays `Watch`; that
covers a database out of reach, though not a stopped worker. Hosts are tied to the worker's
life by the kernel as well (see `host.py`), so a worker that dies unguarded leaves no host.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
import time

from mainspring.executors import guard
from mainspring.executors.environment import environment_for_hosts

_log = logging.getLogger(__name__)

_RESTART_SECONDS = 1.0
_EXIT_SECONDS = 5.0


class GuardLink:
    def __init__(self) -> None:
        self._watch = guard.Watch()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._start_at = 0.0
        self._closed = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def add(self, leader: int, mark: str) -> None:
        self._start()
        self._tell(b"+%d %s\n" % (leader, mark.encode()))

    def remove(self, leader: int) -> None:
        self._tell(b"-%d\n" % leader)

    def lease_until(self, monotonic: float) -> None:
        self._start()
        self._tell(b"=%.6f\n" % (guard.now() + monotonic - time.monotonic()))

    def tick(self) -> None:
        if not self._watch.leaders and self._watch.until is None:
            return
        if self._process is not None:
            if self._process.poll() is None:
                return
            _log.warning("the guard process has ended; starting another")
            self._drop()
        self._start()
        if self._process is None:
            self._watch.step(guard.now())

    async def close(self) -> None:
        """Let it go for good; it kills what is left and exits."""
        self._closed = True
        process = self._process
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._process = None
        if process is not None:
            try:
                await asyncio.to_thread(process.wait, _EXIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                await asyncio.to_thread(process.wait)

    def _start(self) -> None:
        if self._closed or self._process is not None or time.monotonic() < self._start_at:
            return
        self._start_at = time.monotonic() + _RESTART_SECONDS
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            _log.error("cannot start the guard process, guarding from the worker: %s", error)
            return
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", guard.__name__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env=environment_for_hosts(),
            )
        except OSError as error:
            _log.error("cannot start the guard process, guarding from the worker: %s", error)
            ours.close()
            return
        finally:
            theirs.close()
        ours.setblocking(False)
        self._socket = ours
        told = [b"+%d %s\n" % (pid, mark.encode()) for pid, mark in self._watch.leaders.items()]
        if self._watch.until is not None:
            told.append(b"=%.6f\n" % self._watch.until)
        if told:
            self._send(b"".join(told))

    def _tell(self, line: bytes) -> None:
        self._watch.obey(line[:-1])
        self._send(line)

    def _send(self, data: bytes) -> None:
        if self._socket is None:
            return
        try:
            sent = self._socket.send(data)
        except OSError:
            sent = 0
        if sent < len(data):
            # It is dead or stuck; a cut line would be misread. The next tick starts another.
            self._drop()

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
