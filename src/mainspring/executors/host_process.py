"""The process host: one task at a time, in the main thread, with nothing of ours beside it.

User code may do what a program may: signals, threads, forks, its own event loop. Descriptors 1
and 2 are a pipe which the worker reads, so that output is caught whoever writes it, even C code
that holds the interpreter's lock. A task is stopped by SIGTERM to the whole group, which raises
`Stopped` here so that `finally` blocks run; the host leaves afterwards, and one that does not
is killed by the worker when the grace is over.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import os
import signal
import sys
from types import FrameType
from typing import ClassVar

from mainspring.authoring.context import enter
from mainspring.domain.lanes import SlotKind
from mainspring.executors.board import Board
from mainspring.executors.calls import Call, Calls, Stopped
from mainspring.executors.channel import Channel
from mainspring.executors.frames import Forget, FromHost, Keep, Ready, Run
from mainspring.executors.logs import write_logging_to_stderr
from mainspring.executors.meter import Meter


class ProcessHost:
    slot_kind: ClassVar[str] = SlotKind.PROCESS

    def __init__(self, channel: Channel, board: Board, slots: int) -> None:
        self._channel = channel
        self._board = board
        self._calls = Calls(board)
        self._process = os.getpid()
        self._in_task = False
        self._meter = Meter()

    def serve(self) -> None:
        signal.signal(signal.SIGTERM, self._on_sigterm)
        write_logging_to_stderr()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        self._channel.post(Ready())
        self._channel.flush()
        while (messages := self._channel.receive()) is not None:
            for message in messages:
                if type(message) is Run:
                    try:
                        answer = self._attempt(message)
                    except Stopped:
                        return  # It came after user code; the worker knows what it has asked.
                    self._channel.post(answer)
                    self._channel.flush()
                elif type(message) is Keep or type(message) is Forget:
                    self._calls.keep(message)

    def _attempt(self, run: Run) -> FromHost:
        call = Call(run, self._board)
        result = b""
        failure: BaseException | None = Stopped("stopped")
        self._meter.begin()
        try:
            self._in_task = True
            value = self._calls.prepare(call)(**call.arguments)
            if inspect.iscoroutine(value):
                value = asyncio.run(value)
            result = self._calls.encode(value)
            failure = None
            self._in_task = False
        except BaseException as error:
            failure = error
        self._in_task = False
        enter(None)
        _flush_output()
        if (used := self._meter.end(run.slot)) is not None:
            self._channel.post(used)
        return call.succeeded(result) if failure is None else call.raised(failure)

    def _on_sigterm(self, number: int, frame: FrameType | None) -> None:
        # Without a word on the board it is somebody else's, such as a service manager's; between
        # tasks there is nothing to stop. The worker closes the socket in either case.
        if self._in_task and self._board.stop_asked and os.getpid() == self._process:
            self._in_task = False
            raise Stopped("stopped")


def _flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # User code has put something else there.
