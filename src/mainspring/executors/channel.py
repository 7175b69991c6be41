"""The host's end of the socket to its worker.

Sending blocks, on purpose. The worker always reads, except when it holds back a host whose
log floods it; then whoever writes has to wait, and memory stays bounded on both sides. The
worker's own sends never block, so the two cannot wait for each other.

Messages leave in the order of `post`, from any thread. `flush` is for whoever must know that
they are gone; `flush_or_leave` lets a thread go on when another is sending already, which then
takes the new messages along: a batch grows exactly when there is a reason to wait.

A copy of the host that user code forks loses its end of the socket: it must neither answer nor
read for the host, and two writers would cut each other's frames.
"""

from __future__ import annotations

import os
import select
import socket
import threading

from mainspring.executors.frames import BATCH_BYTES, Done, FromHost, Log, ToHost, frame_of
from mainspring.executors.frames import reader_in_host as _reader

_READ_BYTES = 256 * 1024


class Channel:
    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._writable = select.poll()
        self._writable.register(connection, select.POLLOUT)
        self._reader = _reader()
        self._outbox: list[FromHost] = []
        self._sending = threading.Lock()
        self.severed = False
        """In a forked copy: what is posted here goes nowhere."""
        os.register_at_fork(after_in_child=self._sever)

    def fileno(self) -> int:
        return self._socket.fileno()

    # --- receiving, one thread only ---

    def receive(self, *, wait: bool = True) -> list[ToHost] | None:
        """The next messages, perhaps none; None when the worker has closed."""
        try:
            data = self._socket.recv(_READ_BYTES, 0 if wait else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        except OSError:
            # Reset by a worker that died, or closed: by user code, or because this is a copy.
            return None
        return self._reader.feed(data) if data else None

    # --- sending, any thread ---

    def post(self, message: FromHost) -> None:
        if not self.severed:
            self._outbox.append(message)

    def flush(self) -> None:
        with self._sending:
            self._send_outbox()
        self.flush_or_leave()

    def flush_or_leave(self) -> None:
        # Whoever has held the lock looks again once it is free: another thread may have posted
        # and left meanwhile, after the last look, so that nobody else would send for it.
        while self._outbox and self._sending.acquire(blocking=False):
            try:
                self._send_outbox()
            finally:
                self._sending.release()

    def _send_outbox(self) -> None:
        outbox = self._outbox
        while outbox:
            count = _batch(outbox)
            # Slices, not a swap of lists: another thread may hold the list to append to it.
            frame = frame_of(outbox[:count])
            del outbox[:count]
            try:
                self._send(frame)
            except ConnectionError:
                # The worker is gone; the reading side ends the host.
                outbox.clear()
            except OSError:
                # User code has closed the socket: nobody would ever hear of this host again.
                os._exit(1)

    def _send(self, frame: bytearray) -> None:
        # Not `sendall`: an event loop that watches the socket makes it non-blocking.
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                self._writable.poll()

    def _sever(self) -> None:
        self.severed = True
        # Another thread may have held it, and there are no other threads here.
        self._sending = threading.Lock()
        self._outbox = []
        self._socket.close()


def _batch(messages: list[FromHost]) -> int:
    """How many of the messages fit into a frame, at least one."""
    if len(messages) == 1:
        return 1
    payload = 0
    for count, message in enumerate(messages, 1):
        if type(message) is Done:
            payload += len(message.result)
        elif type(message) is Log:
            payload += len(message.data)
        if payload > BATCH_BYTES:
            return count
    return len(messages)
