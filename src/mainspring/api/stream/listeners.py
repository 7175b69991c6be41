"""One who listens: a queue with a bound, and what happens when it is full.

Who reads too slowly does not make memory grow and does not hold up anybody: its queue is emptied,
and when it reads again it is told to begin anew with all of its topics.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

QUEUE_EVENTS_MAX = 256
QUEUE_BYTES_MAX = 1024 * 1024


class Listener:
    def __init__(self, caller_id: int) -> None:
        self.caller_id = caller_id
        self.woken = asyncio.Event()
        """Set while there is something to take."""
        self.over = asyncio.Event()
        """Set when it has been told the last thing."""
        self.behind = False
        """Whether events were left out; `anew` then makes what is told instead."""
        self.anew: Callable[[], Sequence[bytes]] = list
        self._queue: deque[bytes] = deque()
        self._bytes = 0

    @property
    def ended(self) -> bool:
        return self.over.is_set()

    def offer(self, event: bytes) -> bool:
        """False if it was left out, since the listener is too slow."""
        if self.behind or self.ended:
            return not self.behind
        full = len(self._queue) >= QUEUE_EVENTS_MAX or self._bytes + len(event) > QUEUE_BYTES_MAX
        if self._queue and full:
            self._queue.clear()
            self._bytes = 0
            self.behind = True
        else:
            self._put(event)
        self.woken.set()
        return not self.behind

    def greet(self, events: Sequence[bytes]) -> None:
        """What it is told first, however much that is."""
        for event in events:
            self._put(event)
        self.woken.set()

    def end(self, event: bytes) -> None:
        """The last thing that it is told."""
        if not self.ended:
            self._put(event)
            self.over.set()
            self.woken.set()

    def take(self) -> bytes:
        """All that is there to be sent; nothing, if nothing is."""
        self.woken.clear()
        if self.behind:
            self.behind = False
            self._queue.extendleft(reversed(self.anew()))
        taken = b"".join(self._queue)
        self._queue.clear()
        self._bytes = 0
        return taken

    def _put(self, event: bytes) -> None:
        self._queue.append(event)
        self._bytes += len(event)
