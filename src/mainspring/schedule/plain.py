"""Instants that need no zone: an interval of elapsed time, and a list."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from mainspring.schedule.bounds import NEVER, NEVER_BEFORE


class Interval:
    """`phase + k * seconds` since 1970 began in UTC, for every whole k."""

    __slots__ = ("_phase", "seconds")

    def __init__(self, seconds: int, phase: int) -> None:
        self.seconds = seconds
        self._phase = phase

    def next(self, instant: int) -> int:
        return instant + (self._phase - instant) % self.seconds

    def previous(self, instant: int) -> int:
        return instant - (instant - self._phase) % self.seconds

    def count(self, low: int, high: int) -> int:
        if low > high:
            return 0
        return (high - self._phase) // self.seconds - (low - 1 - self._phase) // self.seconds


class Instants:
    """Those given, and no others."""

    __slots__ = ("_instants",)

    def __init__(self, instants: Iterable[int]) -> None:
        self._instants = sorted(set(instants))

    def next(self, instant: int) -> int:
        i = bisect_left(self._instants, instant)
        return self._instants[i] if i < len(self._instants) else NEVER

    def previous(self, instant: int) -> int:
        i = bisect_right(self._instants, instant)
        return self._instants[i - 1] if i else NEVER_BEFORE

    def count(self, low: int, high: int) -> int:
        return max(0, bisect_right(self._instants, high) - bisect_left(self._instants, low))
