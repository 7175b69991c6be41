"""The newest events of a topic, for those who come back after a while."""

from __future__ import annotations

from collections import deque

EVENTS_MAX = 256
BYTES_MAX = 256 * 1024


class Ring:
    """Events by their numbers. Of all that came after number `after`, the newest are there."""

    def __init__(self, after: int) -> None:
        self._forgotten_to = after
        self._events: deque[tuple[int, bytes]] = deque()
        self._bytes = 0

    def put(self, number: int, event: bytes) -> None:
        self._events.append((number, event))
        self._bytes += len(event)
        while len(self._events) > EVENTS_MAX or self._bytes > BYTES_MAX:
            self._forgotten_to, gone = self._events.popleft()
            self._bytes -= len(gone)

    def since(self, number: int) -> list[tuple[int, bytes]] | None:
        """All events after this number; None if one of them is forgotten."""
        if number < self._forgotten_to:
            return None
        return [event for event in self._events if event[0] > number]
