"""The database's clock, as this machine can know it.

Attempts are timed on the machine that runs them; what is stored is the database's time. The
difference is measured at each renewal, from an answer to a question whose sending and arrival
we saw, so it is off by half a round trip at most.
"""

from __future__ import annotations

import time
from datetime import datetime


class DatabaseClock:
    def __init__(self) -> None:
        self._ahead_us = 0

    def learn(self, database_now: datetime, asked_ns: int, answered_ns: int) -> None:
        """`asked_ns` and `answered_ns` are readings of `time.time_ns`."""
        middle_us = (asked_ns + answered_ns) // 2000
        self._ahead_us = round(database_now.timestamp() * 1_000_000) - middle_us

    def database_us(self, local_us: int) -> int:
        return local_us + self._ahead_us

    def now_us(self) -> int:
        return self.database_us(time.time_ns() // 1000)
