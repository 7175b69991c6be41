"""Who printed what, in a host that runs many tasks at a time.

`sys.stdout` and `sys.stderr` are replaced by streams which look up the attempt in a context
variable, so that coroutines, `asyncio.to_thread` and our own threads are told apart. What
belongs to no attempt (bare threads, output at the level of file descriptors, anything after
the end) goes to the host's own stderr. Process hosts need none of this: their descriptors 1
and 2 are a pipe that the worker reads.

An attempt's output is sent in chunks: when 64 kB have piled up, the writer waits until they
are gone; else a thread of ours sends it within `FLUSH_SECONDS`, complete lines first, even
while user code blocks the event loop. `AttemptLog.close` posts the rest before the answer.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TextIO

from mainspring.executors.channel import Channel
from mainspring.executors.frames import LOG_CHUNK_BYTES, Log

FLUSH_SECONDS = 0.2


class AttemptLog:
    """The output of one attempt that was not sent yet."""

    __slots__ = ("_book", "_buffer", "_closed", "_lock", "slot")

    def __init__(self, book: LogBook, slot: int) -> None:
        self.slot = slot
        self._book = book
        self._buffer = bytearray()
        self._closed = False
        self._lock = book.lock

    def write(self, data: bytes) -> bool:
        """False when the output is nobody's: the attempt is over, or a forked copy speaks."""
        if self._book.channel.severed:
            return False
        if len(self._buffer) + len(data) < LOG_CHUNK_BYTES:
            with self._lock:
                if self._closed:
                    return False
                self._buffer += data
            self._book.note(self)
            return True
        for start in range(0, len(data), LOG_CHUNK_BYTES):
            with self._lock:
                if self._closed:
                    return False
                self._buffer += data[start : start + LOG_CHUNK_BYTES]
                self._post_chunks()
            self._book.channel.flush()
        self._book.note(self)
        return True

    def send_lines(self) -> bool:
        """Post complete lines, or a piece of a line left from last time; True if some is left."""
        with self._lock:
            if self._closed:
                return False
            cut = self._buffer.rfind(b"\n") + 1 or len(self._buffer)
            self._post(cut)
            return len(self._buffer) > 0

    def close(self) -> None:
        """Post the rest. Nothing is accepted afterwards."""
        if self._book.channel.severed:
            return
        with self._lock:
            self._closed = True
            if self._buffer:
                self._post(len(self._buffer))

    def _post_chunks(self) -> None:
        while len(self._buffer) >= LOG_CHUNK_BYTES:
            self._post(self._buffer.rfind(b"\n", 0, LOG_CHUNK_BYTES) + 1 or LOG_CHUNK_BYTES)

    def _post(self, size: int) -> None:
        if size:
            self._book.channel.post(Log(self.slot, bytes(self._buffer[:size])))
            del self._buffer[:size]


class LogBook:
    """The logs with something to send, and the thread that sends it."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.lock = threading.Lock()
        self._noted: dict[AttemptLog, None] = {}
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, log: AttemptLog) -> None:
        self._noted[log] = None
        if self._thread is None:
            with self.lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._send, name="logs", daemon=True)
                    self._thread.start()
        self._wake.set()

    def _send(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            time.sleep(FLUSH_SECONDS)
            for log in list(self._noted):
                self._noted.pop(log, None)
                if log.send_lines():
                    self.note(log)
            self.channel.flush()


CURRENT: ContextVar[AttemptLog | None] = ContextVar("mainspring_attempt_log", default=None)


class _Bytes(io.RawIOBase):
    """`sys.stdout.buffer`."""

    def __init__(self, fallback: TextIO) -> None:
        self._fallback = fallback

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fallback.fileno()

    def write(self, data: Any, /) -> int:
        piece = bytes(data)
        log = CURRENT.get()
        if log is None or not log.write(piece):
            self._fallback.buffer.write(piece)
            self._fallback.flush()
        return len(piece)


class _Text(io.TextIOBase):
    """`sys.stdout` and `sys.stderr`."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, fallback: TextIO) -> None:
        self._fallback = fallback
        self.buffer = _Bytes(fallback)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        """The host's own stderr: programs started with it write there, unattributed."""
        return self._fallback.fileno()

    def write(self, text: str, /) -> int:
        log = CURRENT.get()
        if log is None or not log.write(text.encode("utf-8", "backslashreplace")):
            self._fallback.write(text)
        return len(text)


class _ToStderr(logging.StreamHandler[TextIO]):
    """Writes to what `sys.stderr` is now, not to what it was when the handler was made."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, stream: TextIO) -> None:
        raise AttributeError("this handler follows sys.stderr")


def write_logging_to_stderr() -> None:
    """Let `logging` speak from INFO on, a line each, in UTC."""
    form = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s")
    form.datefmt = "%Y-%m-%dT%H:%M:%S"
    utc: Callable[[float | None], time.struct_time] = time.gmtime
    form.converter = utc
    handler = _ToStderr()
    handler.setFormatter(form)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)


def replace_streams() -> None:
    fallback = sys.stderr
    sys.stdout = _Text(fallback)
    sys.stderr = _Text(fallback)
