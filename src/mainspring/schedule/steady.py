"""Recurrence rules by day, hour, minute or second: periods of equal length, counted, not walked.

A rule such as "every 7th second in February" is sparse in a row of periods that is dense, and who
walks through the periods walks for minutes. Here the days come from `cron_days`, and within a day
the periods are bits of one number: which of them the interval hits, and which of them the rule
lets pass. What a period stands for, such as the minutes of an hourly rule, is a list of offsets.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from mainspring.schedule.bounds import DAY, NEVER, NEVER_BEFORE
from mainspring.schedule.cron_days import days_of
from mainspring.schedule.cron_fields import DayRule


class SteadyRule(NamedTuple):
    """What a rule says, with everything written out."""

    start: int
    """The wall-clock time from which on it counts."""
    until: int
    unit: int
    """Seconds of a period: 1, 60, 3600 or a day."""
    interval: int
    """Every how many periods."""
    days: DayRule
    allowed: int
    """Which periods of a day may fire, as bits."""
    offsets: tuple[int, ...]
    """What fires within a period, in seconds from its beginning; sorted."""


class Steady:
    """Wall-clock times as `zoned.Pattern` wants them."""

    def __init__(self, rule: SteadyRule) -> None:
        self._rule = rule
        self._days = days_of(rule.days)
        self._many = DAY // rule.unit
        self._origin = rule.start // rule.unit
        self._first_day, self._last_day = rule.start // DAY, rule.until // DAY
        # Every nth bit; shifted, it is what the interval hits on a day.
        step = min(rule.interval, self._many)
        self._comb = int(("0" * (step - 1) + "1") * -(-self._many // step), 2)

    def next(self, wall: int) -> int:
        wall = max(wall, self._rule.start)
        day = self._days.next(wall // DAY)
        while day <= self._last_day:
            found = self._next_in_day(day, wall)
            if found != NEVER:
                return found if found <= self._rule.until else NEVER
            day = self._days.next(day + self._days_to_pass(day))
        return NEVER

    def previous(self, wall: int) -> int:
        wall = min(wall, self._rule.until)
        day = self._days.previous(wall // DAY)
        while day >= self._first_day:
            found = self._previous_in_day(day, wall)
            if found != NEVER_BEFORE:
                return found if found >= self._rule.start else NEVER_BEFORE
            day = self._days.previous(day - 1)
        return NEVER_BEFORE

    def count(self, low: int, high: int) -> int:
        low, high = max(low, self._rule.start), min(high, self._rule.until)
        total, day = 0, self._days.next(low // DAY)
        while day <= high // DAY:
            periods = self._periods(day)
            if low <= day * DAY and (day + 1) * DAY - 1 <= high:
                total += periods.bit_count() * len(self._rule.offsets)
            else:
                total += sum(low <= time <= high for time in self._times(day, periods))
            day = self._days.next(day + 1)
        return total

    def _next_in_day(self, day: int, wall: int) -> int:
        unit, offsets = self._rule.unit, self._rule.offsets
        passed = max(0, wall - day * DAY) // unit
        bits = self._periods(day) >> passed << passed
        while bits:
            period = (bits & -bits).bit_length() - 1
            begin = day * DAY + period * unit
            i = bisect_left(offsets, wall - begin)
            if i < len(offsets):
                return begin + offsets[i]
            bits &= bits - 1
        return NEVER

    def _previous_in_day(self, day: int, wall: int) -> int:
        unit, offsets = self._rule.unit, self._rule.offsets
        reached = min(DAY - 1, wall - day * DAY) // unit
        bits = self._periods(day) & ((2 << reached) - 1)
        while bits:
            period = bits.bit_length() - 1
            begin = day * DAY + period * unit
            i = bisect_right(offsets, wall - begin)
            if i:
                return begin + offsets[i - 1]
            bits ^= 1 << period
        return NEVER_BEFORE

    def _periods(self, day: int) -> int:
        """The periods of a day that the interval hits and the rule lets pass, as bits."""
        first = (self._origin - day * self._many) % self._rule.interval
        if first >= self._many:
            return 0
        return (self._comb << first) & self._rule.allowed

    def _days_to_pass(self, day: int) -> int:
        """How many days the interval surely leaves out; a long one would be walked day by day."""
        first = (self._origin - (day + 1) * self._many) % self._rule.interval
        return 1 + first // self._many

    def _times(self, day: int, periods: int) -> list[int]:
        unit = self._rule.unit
        return [
            day * DAY + period * unit + offset
            for period in range(periods.bit_length())
            if periods >> period & 1
            for offset in self._rule.offsets
        ]
