"""What can be chosen about a benchmark."""

from __future__ import annotations

import msgspec

RATE_MAX = 1_000_000
SECONDS_MAX = 86_400.0
WORKERS_MAX = 64
SAMPLES_MAX = 1_000_000
RUNS_MAX = 100
SCHEDULES_MAX = 10_000_000
STORED_RUNS_MAX = 100_000_000

_STEADY_SECONDS = 14.0
"""From here on all work is being done: closed runs move to history some 10 s after their end."""
_WARM_UP_SECONDS = 2.0
_BRIEF_SECONDS = 5.0
"""Who measures for less than this wants a quick answer, and gets it without that."""


class Settings(msgspec.Struct, frozen=True):
    seconds: float | None = None
    """How long each phase measures; None: as long as suits it."""
    rate: int = 10_000
    """Offered load, runs a second."""
    workers: int = 1
    samples: int = 1_000
    """How many runs are timed one at a time."""
    schedules: int = 1_000_000
    """How many are stored."""
    stored_runs: int = 5_000_000
    """How many finished runs `api` stores before it asks for lists."""
    runs: int = 1
    """Repetitions, of which the median counts."""
    database_url: str | None = None
    """None: a throw-away embedded PostgreSQL."""
    accept_runs: bool = False
    """Measure in a given database although it holds runs."""

    def length(self, usual_seconds: float) -> float:
        """How long a phase measures that usually takes so long."""
        return usual_seconds if self.seconds is None else self.seconds

    def warm_up(self, loaded_seconds: float) -> float:
        """How long to warm up, given how long there has been load already."""
        wanted = max(_WARM_UP_SECONDS, _STEADY_SECONDS - loaded_seconds)
        return wanted if self.length(_STEADY_SECONDS) >= _BRIEF_SECONDS else self.length(wanted)
