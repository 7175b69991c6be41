"""The thread host: a pool of threads, for blocking calls that need no process of their own.

The main thread reads and hands out; the pool's threads run user code and answer. A task is
stopped by raising `Stopped` in its thread, which happens at the next line of Python; code that
is stuck in a C call costs the whole host, which the worker kills when the grace is over.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import inspect
import queue
import threading
from typing import ClassVar

from mainspring.domain.lanes import SlotKind
from mainspring.executors.board import Board
from mainspring.executors.calls import Call, Calls, Stopped
from mainspring.executors.channel import Channel
from mainspring.executors.frames import Forget, FromHost, Keep, Ready, Run, Stop
from mainspring.executors.logs import (
    CURRENT,
    AttemptLog,
    LogBook,
    replace_streams,
    write_logging_to_stderr,
)

_raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in_thread.argtypes = (ctypes.c_ulong, ctypes.c_void_p)
_raise_in_thread.restype = ctypes.c_int


class _Seat:
    """Which thread runs a job, for as long as it may be interrupted."""

    __slots__ = ("lock", "over", "stopped", "thread_id")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread_id: int | None = None
        self.stopped = False
        self.over = False

    def take(self) -> None:
        with self.lock:
            self.thread_id = threading.get_ident()
            if self.stopped:
                raise Stopped("stopped before it began")

    def stop(self) -> None:
        """Raises in the thread at most once, so whoever caught it need not fear a second."""
        with self.lock:
            first, self.stopped = not self.stopped, True
            if first and self.thread_id is not None and not self.over:
                _raise_in_thread(self.thread_id, id(Stopped))

    def leave(self) -> None:
        """After this no `Stopped` can reach the thread any more."""
        with self.lock:
            self.over = True
            if self.stopped:
                # Raised but perhaps not yet delivered: take it back.
                _raise_in_thread(threading.get_ident(), None)


class ThreadHost:
    slot_kind: ClassVar[str] = SlotKind.THREAD

    def __init__(self, channel: Channel, board: Board, slots: int) -> None:
        self._channel = channel
        self._board = board
        self._slots = slots
        self._calls = Calls(board)
        self._book = LogBook(channel)
        self._jobs: queue.SimpleQueue[tuple[Run, _Seat]] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._threads = 0
        self._seats: dict[int, _Seat] = {}

    def serve(self) -> None:
        write_logging_to_stderr()
        replace_streams()
        self._channel.post(Ready())
        self._channel.flush()
        while (messages := self._channel.receive()) is not None:
            for message in messages:
                if type(message) is Run:
                    self._take(message)
                elif type(message) is Stop and (seat := self._seats.get(message.slot)):
                    seat.stop()
                elif type(message) is Keep or type(message) is Forget:
                    self._calls.keep(message)

    def _take(self, run: Run) -> None:
        seat = self._seats[run.slot] = _Seat()
        if not self._idle.acquire(blocking=False) and self._threads < self._slots:
            self._threads += 1
            threading.Thread(target=self._work, name=f"slot {self._threads}", daemon=True).start()
        self._jobs.put((run, seat))

    def _work(self) -> None:
        while True:
            run, seat = self._jobs.get()
            answer = contextvars.Context().run(self._attempt, run, seat)
            self._channel.post(answer)
            self._idle.release()
            self._channel.flush_or_leave()

    def _attempt(self, run: Run, seat: _Seat) -> FromHost:
        call = Call(run, self._board)
        log = AttemptLog(self._book, run.slot)
        CURRENT.set(log)
        result = b""
        failure: BaseException | None = Stopped("stopped")
        try:
            try:
                seat.take()
                value = self._calls.prepare(call)(**call.arguments)
                if inspect.iscoroutine(value):
                    value = asyncio.run(value)
                result = self._calls.encode(value)
                failure = None
            except BaseException as error:
                failure = error
            seat.leave()
        except Stopped:
            # It came after user code, while we were leaving.
            seat.leave()
        log.close()
        self._seats.pop(run.slot, None)
        return call.succeeded(result) if failure is None else call.raised(failure)
