"""The worker's end of one host child: its process, its socket, its board, its log pipe.

A link knows bytes and processes; what its jobs deserve is decided in `hosts.py`, which it
tells: `host_ready`, `host_answered`, `host_logged`, and last, exactly once, `host_gone`.

The end is found out twice, by the end of the socket and by the kernel's process descriptor:
a forked child of user code can keep the socket open, and user code can close it. What the host
had sent is read to the last byte first; then everything that it started is killed, and only
then its exit collected, so that no signal goes to a number that was given away again.

A link made `paused` stops reading from its host: the host's writes fill the pipe, then block.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import uuid
from typing import TYPE_CHECKING, Protocol, cast

from mainspring.domain.lanes import SlotKind
from mainspring.executors import sessions, verdicts
from mainspring.executors.board import NOT_BEGUN, OVER, Board
from mainspring.executors.environment import environment_for_hosts
from mainspring.executors.frames import (
    BATCH_BYTES,
    LOG_CHUNK_BYTES,
    BrokenFrame,
    Forget,
    FromHost,
    Keep,
    Ready,
    Run,
    Stop,
    ToHost,
    frame_of,
    reader_in_worker,
)

if TYPE_CHECKING:
    from mainspring.executors.guard_link import GuardLink
    from mainspring.executors.pools import Held, Pool

_SOCKET_BYTES = 1 << 20
_LINGER_SECONDS = 0.5
"""How long the rest of the socket is awaited once the process has ended."""
_LEAVE_SECONDS = 2.0
"""How long a host may take to leave, its `atexit` included, after its socket was closed."""
_PARTIAL_LINE_SECONDS = 0.25
STRAY_BYTES = 2000
_PAGE_BYTES = resource.getpagesize()


class Owner(Protocol):
    def host_ready(self, link: HostLink) -> None: ...
    def host_answered(self, link: HostLink, messages: list[FromHost]) -> None: ...
    def host_logged(self, link: HostLink, slot: int, data: bytes) -> None: ...
    def host_gone(self, link: HostLink) -> None: ...


class HostLink(asyncio.Protocol):
    def __init__(
        self,
        owner: Owner,
        guard: GuardLink,
        pool: Pool,
        place: str,
        *,
        slots: int,
        alone: bool,
    ) -> None:
        self._owner = owner
        self._guard = guard
        self.pool = pool
        self._place = place
        self.mark = uuid.uuid4().hex
        self.alone = alone
        self.slots = slots
        self.free = list(range(slots - 1, -1, -1))
        self.held: dict[int, Held] = {}
        self.unwanted = False
        """Ended before it was ready because nobody needs it any more, not because it failed."""
        self.meant_for: Held | None = None
        """The one job of a host of its own, until the host is ready for it."""
        self.ready = False
        self.retiring = False
        """Takes no new jobs; ends when it is empty."""
        self.worn = False
        """To be retired as soon as its successor is ready."""
        self.taken = 0
        self.started_at = time.monotonic()
        self.idle_since = self.started_at
        self.kill_at: float | None = None
        self.killed = False
        self.reason = ""
        """Why it ended, in words; set at the latest when it is gone."""
        self.stray = b""
        """The end of what it printed outside of any job: why it could not start, perhaps."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader = reader_in_worker()
        self._outbox: list[ToHost] = []
        self._keeping: dict[int, int] = {}
        """Runs whose large parameters the host keeps, and for how many jobs."""
        self._turn_taken = False
        self._paused_by: set[int] = set()
        self._deferred: list[FromHost] = []
        self._exited = False
        self._socket_ended = False
        self._gone = False
        self._log_fd = -1
        self._log_rest = b""
        self._log_rest_at = 0.0
        self._spawn()

    # --- start --------------------------------------------------------------------------------

    def _spawn(self) -> None:
        """Start the process; when a step fails, nothing stays of those before it."""
        with contextlib.ExitStack() as kept, contextlib.ExitStack() as given:
            ours, theirs = socket.socketpair()
            kept.callback(ours.close)
            given.callback(theirs.close)
            for end in (ours, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BYTES)
            board_fd = Board.memory_for(self.slots)
            given.callback(os.close, board_fd)
            self.board = Board(board_fd, self.slots)
            kept.callback(self.board.close)
            log_in = -1
            if self.pool.kind is SlotKind.PROCESS:
                self._log_fd, log_in = os.pipe()
                kept.callback(os.close, self._log_fd)
                given.callback(os.close, log_in)
                os.set_blocking(self._log_fd, False)
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "mainspring.executors.host"),
                    *(self._place, str(theirs.fileno()), str(board_fd)),
                    *(str(self.slots), str(os.getpid()), self.pool.snapshot),
                ],
                stdin=subprocess.DEVNULL,
                # Descriptor-level output of a shared host is nobody's: to our own stderr.
                stdout=2 if log_in < 0 else log_in,
                stderr=None if log_in < 0 else log_in,
                pass_fds=(theirs.fileno(), board_fd),
                start_new_session=True,
                env=environment_for_hosts(self.mark),
            )
            kept.callback(self.process.wait)
            kept.callback(self.process.kill)
            self._pidfd = os.pidfd_open(self.pid) if hasattr(os, "pidfd_open") else -1
            kept.pop_all()
        self._guard.add(self.pid, self.mark)
        if self._pidfd >= 0:
            self._loop.add_reader(self._pidfd, self._on_exit)
        if self._log_fd >= 0:
            self._loop.add_reader(self._log_fd, self._read_log)
        self._connecting = self._loop.create_task(self._connect(ours))

    async def _connect(self, ours: socket.socket) -> None:
        await self._loop.create_unix_connection(lambda: self, sock=ours)

    @property
    def pid(self) -> int:
        return self.process.pid

    # --- to the host --------------------------------------------------------------------------

    def give(self, held: Held, at: float) -> None:
        """Put the job into a free slot; `flush` sends it."""
        slot = self.free.pop()
        self.board.clear(slot)
        self.held[slot] = held
        held.link, held.slot, held.sent_at = self, slot, at
        self.taken += 1
        job = held.job
        if job.large_parameters is not None:
            self._keep(job.attempt.run_id, job.large_parameters)
        self._outbox.append(Run(slot, job.entry, job.arguments, job.attempt))

    def stop(self, held: Held, grace_seconds: float) -> None:
        """Ask user code to end, softly."""
        self.board.withdrawn[held.slot] = 1
        if self.pool.kind is SlotKind.PROCESS:
            self.board.ask_stop()
            self.retiring = True
            try:
                os.killpg(self.pid, signal.SIGTERM)
            except (ProcessLookupError, PermissionError):
                pass
        else:
            self._outbox.append(Stop(held.slot, grace_seconds))
            self.flush()

    def flush(self) -> None:
        """Send at once, the first time in a turn of the loop; what follows goes together."""
        if self._outbox and not self._turn_taken:
            self._turn_taken = True
            self._write()
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._turn_taken = False
        if self._outbox:
            self._write()

    def _write(self) -> None:
        outbox, self._outbox = self._outbox, []
        if self._transport is None:
            return
        begin = payload = 0
        for end, message in enumerate(outbox, 1):
            if type(message) is Run:
                payload += len(message.arguments)
            elif type(message) is Keep:
                payload += len(message.parameters)
            if payload > BATCH_BYTES:
                self._transport.write(frame_of(outbox[begin:end]))
                begin, payload = end, 0
        if begin < len(outbox):
            self._transport.write(frame_of(outbox[begin:] if begin else outbox))

    # --- from the host ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self.killed or self._gone:
            self._transport.abort()
        elif self.kill_at is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        try:
            messages = self._reader.feed(data)
        except BrokenFrame as error:
            self.kill(f"the host process broke the protocol: {error}")
            return
        if not messages:
            return
        if type(messages[0]) is Ready:
            del messages[0]
            self.ready = True
            self._owner.host_ready(self)
        if self._log_fd >= 0:
            if self._paused_by and not self._exited:
                self._deferred += messages
                return
            self._drain_log()
        if messages:
            self._owner.host_answered(self, messages)

    def release(self, slot: int) -> Held | None:
        """Take the slot back from the host, which has answered."""
        held = self.held.pop(slot, None)
        if held is not None:
            self.free.append(slot)
            if self._paused_by:
                self.resume_reading(slot)
            if held.job.large_parameters is not None:
                self._let_go(held.job.attempt.run_id)
        return held

    def _keep(self, run_id: int, parameters: bytes) -> None:
        """Many tasks of a run may be here at a time: one copy of its parameters is enough."""
        jobs = self._keeping.get(run_id, 0)
        self._keeping[run_id] = jobs + 1
        if jobs == 0:
            self._outbox.append(Keep(run_id, parameters))

    def _let_go(self, run_id: int) -> None:
        self._keeping[run_id] -= 1
        if self._keeping[run_id] == 0:
            del self._keeping[run_id]
            # It goes along with the next jobs, or at the next tick.
            self._outbox.append(Forget(run_id))

    def pause_reading(self, slot: int) -> None:
        if not self._paused_by and not self._exited:
            if self._log_fd >= 0:
                self._loop.remove_reader(self._log_fd)
            elif self._transport is not None and not self._transport.is_closing():
                self._transport.pause_reading()
        self._paused_by.add(slot)

    def resume_reading(self, slot: int) -> None:
        if slot not in self._paused_by:
            return
        self._paused_by.discard(slot)
        if not self._paused_by and not self._exited:
            self._resume()

    def _resume(self) -> None:
        if self._log_fd >= 0:
            self._loop.add_reader(self._log_fd, self._read_log)
            if self._deferred:
                self._drain_log()
                messages, self._deferred = self._deferred, []
                self._owner.host_answered(self, messages)
        elif self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    # --- the log pipe of a process host -------------------------------------------------------

    def _read_log(self) -> None:
        try:
            data = os.read(self._log_fd, LOG_CHUNK_BYTES - len(self._log_rest))
        except BlockingIOError:
            return
        if not data:
            # User code has closed both descriptors.
            self._loop.remove_reader(self._log_fd)
            return
        self._log(data)

    def _drain_log(self) -> None:
        """Deliver what was in the pipe at this moment: a leftover writer cannot hold us here."""
        left = self._log_bytes()
        while left > 0:
            try:
                data = os.read(self._log_fd, min(left, LOG_CHUNK_BYTES - len(self._log_rest)))
            except BlockingIOError:
                break
            if not data:
                break
            left -= len(data)
            self._log(data)
        self._log_line_is_over()

    def _log_bytes(self) -> int:
        (size,) = struct.unpack("i", fcntl.ioctl(self._log_fd, termios.FIONREAD, b"\0\0\0\0"))
        return int(size)

    def _log(self, data: bytes) -> None:
        data = self._log_rest + data
        cut = data.rfind(b"\n") + 1
        if cut == 0 and len(data) >= LOG_CHUNK_BYTES:
            cut = len(data)
        self._log_rest = data[cut:]
        if self._log_rest:
            self._log_rest_at = time.monotonic()
        if cut:
            self._owner.host_logged(self, 0, data[:cut])

    def _log_line_is_over(self) -> None:
        if self._log_rest:
            data, self._log_rest = self._log_rest, b""
            self._owner.host_logged(self, 0, data)

    # --- time ---------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        if self._log_rest and now - self._log_rest_at > _PARTIAL_LINE_SECONDS:
            self._log_line_is_over()
        if self._outbox and not self.killed and not self._exited:
            self.flush()
        if self.kill_at is not None and now >= self.kill_at:
            self.kill_at = None
            self.kill(self.reason or "the host process did not leave")
        if self._pidfd < 0 and not self._exited and self.process.poll() is not None:
            self._on_exit()

    def progress(self, slot: int) -> verdicts.Progress:
        begun = self.board.begun[slot]
        if begun == OVER:
            return verdicts.Progress.OVER
        if begun != NOT_BEGUN:
            return verdicts.Progress.RUNNING
        importing = self.board.importing()
        if importing is not None and importing[0] == slot:
            return verdicts.Progress.IMPORTING
        return verdicts.Progress.NOT_BEGUN

    def rss_bytes(self) -> int:
        """Resident memory; 0 where the system does not tell."""
        try:
            with open(f"/proc/{self.pid}/statm", "rb") as file:
                return int(file.read().split()[1]) * _PAGE_BYTES
        except (OSError, IndexError):
            return 0

    # --- end ----------------------------------------------------------------------------------

    def leave(self) -> None:
        """Let the empty host end by itself; it is killed if it does not."""
        assert not self.held
        self.retiring = True
        if self.kill_at is None and not self.killed:
            self.kill_at = time.monotonic() + _LEAVE_SECONDS
            if self._transport is not None:
                self._transport.close()

    def kill(self, reason: str) -> None:
        """Kill the host and all that it has started."""
        if self.killed or self._exited:
            return
        self.killed = True
        self.retiring = True
        self.reason = reason
        sessions.kill({self.pid: self.mark})

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._socket_ended = True
        # Its end may be seen later; nothing can be sent there from now on.
        self._transport = None
        self.retiring = True
        if self._exited:
            self._collect()
        elif self.kill_at is None and not self.killed:
            # Give the process a moment to be seen ending, which tells us how; user code
            # that merely closed the socket is killed.
            self.kill_at = time.monotonic() + _LINGER_SECONDS
            self.reason = "the host process closed its connection"

    def _on_exit(self) -> None:
        self._exited = True
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        sessions.kill({self.pid: self.mark})
        if self._socket_ended:
            self._collect()
            return
        # At most what the kernel still holds: no reason to keep it waiting.
        if self._paused_by:
            self._paused_by.clear()
            self._resume()
        self._loop.call_later(_LINGER_SECONDS, self._collect)

    def _collect(self) -> None:
        if self._gone:
            return
        self._gone = True
        self._guard.remove(self.pid)
        status = self.process.wait()
        if not self.killed:
            self.reason = verdicts.host_ended(status)
        if self._transport is not None:
            self._transport.abort()
        self._connecting.cancel()
        if self._log_fd >= 0:
            self._loop.remove_reader(self._log_fd)
            self._drain_log()
            os.close(self._log_fd)
            self._log_fd = -1
        self._owner.host_gone(self)
        self.board.close()
