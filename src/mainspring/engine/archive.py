"""Archive: closed runs leave the hot tables some seconds after their end.

So the hot tables hold open work and little else, however much history is kept. Walks the runs
in slices of ids, over and over; most of what it meets is closed, and gone afterwards. It works at
most a third of the time: a burst is not slowed for the sake of tidiness, and what is left is caught
up with afterwards.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from mainspring.store.connection import Connection
from mainspring.store.history import archive_runs
from mainspring.store.reading import read_clock

_ROUND_REST_SECONDS = 1.0


class Archive:
    name = "archive"
    limit = 2000

    def __init__(self, *, linger_seconds: float = 10.0, rounds_between_rescans: int = 60) -> None:
        self._linger = timedelta(seconds=linger_seconds)
        self._rounds_between_rescans = rounds_between_rescans
        self.rest_seconds = _ROUND_REST_SECONDS
        self._round = 0
        self._above = 0
        self._first_left: int | None = None

    async def step(self, tx: Connection, now: datetime | None, limit: int) -> int:
        began = time.monotonic()
        closed_before = (now or await read_clock(tx)) - self._linger
        archived = await archive_runs(tx, self._above, limit, closed_before)
        if self._first_left is None:
            self._first_left = archived.first_left
        if archived.last is None or archived.seen < limit or archived.recent:
            self._begin_round()
            self.rest_seconds = _ROUND_REST_SECONDS
        else:
            self._above = archived.last
            self.rest_seconds = 2 * (time.monotonic() - began)
        # It always rests, if only for a moment.
        return min(archived.moved, limit - 1)

    def settle(self) -> None:
        """Nobody waits for history."""

    def _begin_round(self) -> None:
        """From the first run that is still there; what lies before is dead rows, mostly.

        A run that committed late, or was reopened, may lie before it: now and then a round
        begins at the beginning.
        """
        self._round += 1
        rescan = self._round % self._rounds_between_rescans == 0
        self._above = 0 if rescan else (self._first_left or self._above + 1) - 1
        self._first_left = None
