"""The database's clock, as this machine can know it.

Attempts are timed on the machine that runs them; what is stored is the database's time. The
difference is measured with each renewal, from an answer to a question whose sending and arrival
we saw, so it is off by half a round trip at most. A slow answer says less than a quick one: it
counts only when nothing better was heard for a while, so that a busy moment does not shift the
times of all attempts until the next beat.
"""

from __future__ import annotations

import time
from datetime import datetime

_PATIENCE = 1.1
"""By how much a slower answer is believed more with each beat: clocks drift apart slowly."""


class DatabaseClock:
    def __init__(self) -> None:
        self._ahead_us = 0
        self._trip_ns = float("inf")
        """The round trip of the answer that is believed, a little longer with each beat."""

    def learn(self, database_now: datetime, asked_ns: int, answered_ns: int) -> None:
        """`asked_ns` and `answered_ns` are readings of `time.time_ns`."""
        trip_ns = answered_ns - asked_ns
        self._trip_ns *= _PATIENCE
        if trip_ns <= self._trip_ns:
            self._trip_ns = max(trip_ns, 1)
            middle_us = (asked_ns + answered_ns) // 2000
            self._ahead_us = round(database_now.timestamp() * 1_000_000) - middle_us

    def database_us(self, local_us: int) -> int:
        return local_us + self._ahead_us

    def now_us(self) -> int:
        return self.database_us(time.time_ns() // 1000)
