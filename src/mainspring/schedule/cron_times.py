"""Times of day that a cron line names: the next, the previous, and how many, by table lookup."""

from __future__ import annotations

from functools import lru_cache

from mainspring.schedule.cron_fields import TimeRule


class DayTimes:
    """Seconds of the day; -1 stands for none."""

    __slots__ = (
        "_hours_back",
        "_hours_below",
        "_hours_on",
        "_minutes_back",
        "_minutes_below",
        "_minutes_on",
        "_seconds_back",
        "_seconds_below",
        "_seconds_on",
        "count",
        "first",
        "last",
    )

    def __init__(self, rule: TimeRule) -> None:
        self._hours_on, self._hours_back, self._hours_below = _tables(rule.hours, 24)
        self._minutes_on, self._minutes_back, self._minutes_below = _tables(rule.minutes, 60)
        self._seconds_on, self._seconds_back, self._seconds_below = _tables(rule.seconds, 60)
        self.count = self._hours_below[24] * self._minutes_below[60] * self._seconds_below[60]
        self.first = self._hours_on[0] * 3600 + self._minutes_on[0] * 60 + self._seconds_on[0]
        self.last = self._hours_back[23] * 3600 + self._minutes_back[59] * 60
        self.last += self._seconds_back[59]

    def next(self, second: int) -> int:
        """The first one at or after this second of the day, or -1."""
        hour, rest = divmod(second, 3600)
        if self._hours_on[hour] == hour:
            minute, rest = divmod(rest, 60)
            if self._minutes_on[minute] == minute and (found := self._seconds_on[rest]) >= 0:
                return hour * 3600 + minute * 60 + found
            if (found := self._minutes_on[minute + 1]) >= 0:
                return hour * 3600 + found * 60 + self._seconds_on[0]
        if (found := self._hours_on[hour + 1]) >= 0:
            return found * 3600 + self._minutes_on[0] * 60 + self._seconds_on[0]
        return -1

    def previous(self, second: int) -> int:
        """The last one at or before this second of the day, or -1."""
        hour, rest = divmod(second, 3600)
        if self._hours_back[hour] == hour:
            minute, rest = divmod(rest, 60)
            if self._minutes_back[minute] == minute and (found := self._seconds_back[rest]) >= 0:
                return hour * 3600 + minute * 60 + found
            if (found := self._minutes_back[minute - 1]) >= 0:
                return hour * 3600 + found * 60 + self._seconds_back[59]
        if (found := self._hours_back[hour - 1]) >= 0:
            return found * 3600 + self._minutes_back[59] * 60 + self._seconds_back[59]
        return -1

    def below(self, second: int) -> int:
        """How many there are before this second of the day."""
        hour, rest = divmod(second, 3600)
        minute, rest = divmod(rest, 60)
        seconds = self._seconds_below[60]
        total = self._hours_below[hour] * self._minutes_below[60] * seconds
        if self._hours_on[hour] == hour:
            total += self._minutes_below[minute] * seconds
            if self._minutes_on[minute] == minute:
                total += self._seconds_below[rest]
        return total


@lru_cache(maxsize=4096)
def day_times(rule: TimeRule) -> DayTimes:
    return DayTimes(rule)


def _tables(bits: int, size: int) -> tuple[list[int], list[int], list[int]]:
    """For each value: the first one on at or after it, the last at or before it, how many below.

    The first table ends with -1 for the value beyond the last; the second too, which is where
    Python finds the index -1, the value before the first.
    """
    on, back, below = [-1] * (size + 1), [-1] * (size + 1), [0] * (size + 1)
    for value in range(size - 1, -1, -1):
        on[value] = value if bits >> value & 1 else on[value + 1]
    for value in range(size):
        back[value] = value if bits >> value & 1 else back[value - 1]
        below[value + 1] = below[value] + (bits >> value & 1)
    return on, back, below
