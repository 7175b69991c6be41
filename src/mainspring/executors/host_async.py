"""The async host: many coroutines on one event loop.

A frame of jobs becomes as many asyncio tasks in one turn of the loop, and their answers leave
together in a later turn: that is all the batching there is. A coroutine is stopped by cancelling
it; one that blocks the loop or swallows the cancellation costs the whole host, which the worker
kills when the grace is over.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, ClassVar

import uvloop

from mainspring.domain.lanes import SlotKind
from mainspring.executors.board import NOT_BEGUN, Board
from mainspring.executors.calls import Call, Calls
from mainspring.executors.channel import Channel
from mainspring.executors.frames import Forget, FromHost, Keep, Ready, Run, Stop
from mainspring.executors.logs import (
    CURRENT,
    AttemptLog,
    LogBook,
    replace_streams,
    write_logging_to_stderr,
)

_ANSWERS_MAX = 256
"""Answers are sent after so many: what is still unsent when the host dies is lost work."""


class AsyncHost:
    slot_kind: ClassVar[str] = SlotKind.ASYNC

    def __init__(self, channel: Channel, board: Board, slots: int) -> None:
        self.channel = channel
        self.board = board
        self.calls = Calls(board)
        self.book = LogBook(channel)
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self.closing = False
        self._running: dict[int, asyncio.Task[None]] = {}
        self._unsent = 0

    def serve(self) -> None:
        write_logging_to_stderr()
        replace_streams()
        asyncio.set_event_loop(self.loop)
        self.loop.add_reader(self.channel.fileno(), self._receive)
        self.channel.post(Ready())
        self.channel.flush()
        while not self.closing:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                # A stray task of user code; asyncio lets these through. Nobody waits for it.
                self.loop.call_exception_handler(
                    {"message": "user code tried to end the host", "exception": error}
                )

    def _receive(self) -> None:
        messages = self.channel.receive(wait=False)
        if messages is None:
            self.closing = True
            self.loop.stop()
            return
        create_task, running = self.loop.create_task, self._running
        for message in messages:
            if type(message) is Run:
                running[message.slot] = create_task(self._run(message))
            elif type(message) is Stop:
                self.stop(message)
            elif type(message) is Keep or type(message) is Forget:
                self.calls.keep(message)

    def stop(self, message: Stop) -> None:
        task = self._running.get(message.slot)
        # A job that has not begun sees on the board that it is withdrawn, and answers; cancelled
        # before its first step it would not even do that.
        if task is not None and self.board.begun[message.slot] != NOT_BEGUN:
            task.cancel()

    async def _run(self, run: Run) -> None:
        call = Call(run, self.board)
        log = AttemptLog(self.book, run.slot)
        CURRENT.set(log)
        try:
            answer = call.succeeded(await self.perform(call))
        except BaseException as error:
            answer = call.raised(error)
        log.close()
        del self._running[run.slot]
        self._answer(answer)

    async def perform(self, call: Call) -> bytes:
        """Run the job to its result."""
        value: Any = self.calls.prepare(call)(**call.arguments)
        if inspect.isawaitable(value):
            value = await value
        return self.calls.encode(value)

    def _answer(self, answer: FromHost) -> None:
        self.channel.post(answer)
        self._unsent += 1
        if self._unsent == 1:
            self.loop.call_soon(self._flush)
        elif self._unsent % _ANSWERS_MAX == 0:
            self.channel.flush()

    def _flush(self) -> None:
        self._unsent = 0
        self.channel.flush()
