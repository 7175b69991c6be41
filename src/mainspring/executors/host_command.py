"""The command host: user code names an argument vector, and a program is run with it.

There is no shell. Each command leads a process group of its own inside the host's session, and
the group ends with the command: nothing that it has left behind runs on. Both outputs go to the
log as they come; the last line of stdout is the result, the end of stderr explains a failure.

A command is stopped by SIGTERM to its group and then killed by the host, early enough for the
worker not to lose patience with the host itself. The host stays responsive as long as the
function that makes the vector does not block.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import IO, Any, ClassVar

import msgspec

from mainspring.authoring.calling import command_of
from mainspring.authoring.context import context
from mainspring.domain.lanes import SlotKind
from mainspring.executors.board import Board
from mainspring.executors.calls import Call
from mainspring.executors.channel import Channel
from mainspring.executors.environment import environment_for_commands
from mainspring.executors.frames import LOG_CHUNK_BYTES, Stop
from mainspring.executors.host_async import AsyncHost
from mainspring.executors.logs import CURRENT, AttemptLog
from mainspring.executors.meter import used_by_child
from mainspring.executors.verdicts import ending_of

RESULT_BYTES_MAX = 64 * 1024
STDERR_TAIL_BYTES = 2 * 1024
_KILL_SHARE = 0.7
"""Of the grace: then a command that ignores SIGTERM is killed."""
_DRAIN_SECONDS = 1.0
"""How long output is awaited which a process that left the group may still write."""


class CommandFailed(Exception):
    """The program could not be started, or ended with anything but status 0."""


class CommandHost(AsyncHost):
    slot_kind: ClassVar[str] = SlotKind.COMMAND

    def __init__(self, channel: Channel, board: Board, slots: int) -> None:
        super().__init__(channel, board, slots)
        self._commands: dict[int, _Command] = {}
        self._folder = sys.path[0]
        """Of the snapshot; user code may change the path later."""

    def stop(self, message: Stop) -> None:
        command = self._commands.get(message.slot)
        if command is None:
            super().stop(message)
            return
        command.signal_group(signal.SIGTERM)
        self.loop.call_later(
            message.grace_seconds * _KILL_SHARE, command.signal_group, signal.SIGKILL
        )

    async def perform(self, call: Call) -> bytes:
        value: Any = self.calls.prepare(call)(**call.arguments)
        if asyncio.iscoroutine(value):
            value = await value
        assert call.task is not None
        wanted = command_of(call.task, value)
        log = CURRENT.get()
        assert log is not None
        slot = call.run.slot
        command = self._commands[slot] = _Command(
            self.loop,
            list(wanted.arguments),
            environment_for_commands(context(), wanted.env),
            None if wanted.cwd is None else os.path.join(self._folder, wanted.cwd),
            log,
        )
        try:
            await command.run()
        finally:
            del self._commands[slot]
            if command.usage is not None:
                lasted = time.monotonic() - command.begun_at
                if (used := used_by_child(slot, lasted, command.usage)) is not None:
                    self.channel.post(used)
        return command.result()


class _Command:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        vector: list[str],
        environment: dict[str, str],
        folder: str | None,
        log: AttemptLog,
    ) -> None:
        self._loop = loop
        self._vector = vector
        try:
            self._process = subprocess.Popen(
                vector,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0,
                bufsize=0,
                env=environment,
                cwd=folder,
            )
        except (OSError, ValueError) as error:
            raise CommandFailed(f"cannot start `{vector[0]}`: {error}") from None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._collected = False
        self.begun_at = time.monotonic()
        self.usage: resource.struct_rusage | None = None
        """Known once it was collected."""
        self._stdout = _Output(loop, self._process.stdout, log, RESULT_BYTES_MAX)
        self._stderr = _Output(loop, self._process.stderr, log, STDERR_TAIL_BYTES)

    async def run(self) -> None:
        try:
            with self._stdout.reading(), self._stderr.reading():
                await self._exited()
                # The leader's number is still reserved, so its group is still ours to signal.
                self.signal_group(signal.SIGKILL)
                self._collect()
                outputs = (self._stdout.ended, self._stderr.ended)
                await asyncio.wait(outputs, timeout=_DRAIN_SECONDS)
        finally:
            # Left early by a cancellation only when the host itself is ending.
            if not self._collected:
                self.signal_group(signal.SIGKILL)
                self._collect()
            self._stdout.close()
            self._stderr.close()

    def signal_group(self, number: signal.Signals) -> None:
        if not self._collected:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def result(self) -> bytes:
        status = self._process.returncode
        if status != 0:
            raise CommandFailed(_failure(self._vector[0], status, bytes(self._stderr.tail)))
        lines = bytes(self._stdout.tail).split(b"\n")
        last = next((line for line in reversed(lines) if line.strip()), None)
        if last is None:
            return b"null"
        return msgspec.json.encode(last.rstrip(b"\r").decode("utf-8", "replace"))

    def _collect(self) -> None:
        try:
            _, status, self.usage = os.wait4(self._process.pid, 0)
        except ChildProcessError:
            # User code in this host has collected it before us: its status is lost.
            self._process.wait()
        else:
            self._process.returncode = os.waitstatus_to_exitcode(status)
        self._collected = True

    async def _exited(self) -> None:
        """Wait for the exit without collecting it."""
        exited = self._loop.create_future()
        pid = self._process.pid
        if hasattr(os, "pidfd_open"):
            fd = os.pidfd_open(pid)
            self._loop.add_reader(fd, _settle, exited)
            try:
                await exited
            finally:
                self._loop.remove_reader(fd)
                os.close(fd)
        else:

            def wait() -> None:
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
                self._loop.call_soon_threadsafe(_settle, exited)

            threading.Thread(target=wait, daemon=True).start()
            await exited


class _Output:
    """One of a command's two pipes: into the log, with its end kept."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, pipe: IO[bytes], log: AttemptLog, tail_bytes: int
    ) -> None:
        self.tail = bytearray()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._pipe = pipe
        self._log = log
        self._tail_bytes = tail_bytes

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        self._loop.add_reader(self._pipe.fileno(), self._read)
        try:
            yield
        finally:
            self._loop.remove_reader(self._pipe.fileno())

    def close(self) -> None:
        self._pipe.close()

    def _read(self) -> None:
        data = os.read(self._pipe.fileno(), LOG_CHUNK_BYTES)
        if not data:
            self._loop.remove_reader(self._pipe.fileno())
            _settle(self.ended)
            return
        self._log.write(data)
        self.tail += data
        del self.tail[: -self._tail_bytes]


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _failure(program: str, status: int, stderr: bytes) -> str:
    end = stderr.decode("utf-8", "replace").strip()
    return f"`{program}` {ending_of(status)}" + (f": {end}" if end else "")
