"""The wall-clock times that a cron line names: days from `cron_days`, times from `cron_times`.

Why not cronsim underneath: it walks field by field with `datetime`s, forward only, and knows
neither `W` nor `H` nor our options for clock changes. See `docs/decisions/0019-our-own-cron.md`.
"""

from __future__ import annotations

from functools import lru_cache

from mainspring.domain.errors import InvalidSchedule
from mainspring.schedule.bounds import DAY, NEVER, NEVER_BEFORE
from mainspring.schedule.cron_days import days_of
from mainspring.schedule.cron_fields import MONTH_NAMES, CronLine, read_line, spreads
from mainspring.schedule.cron_times import day_times


class CronPattern:
    """Wall-clock times as `zoned.Pattern` wants them."""

    __slots__ = ("_days", "_times", "line")

    def __init__(self, line: CronLine) -> None:
        self.line = line
        self._days = days_of(line.days)
        self._times = day_times(line.times)

    def next(self, wall: int) -> int:
        day, second = divmod(wall, DAY)
        found = self._days.next(day)
        if found == day:
            time = self._times.next(second)
            if time >= 0:
                return day * DAY + time
            found = self._days.next(day + 1)
        return NEVER if found == NEVER else found * DAY + self._times.first

    def previous(self, wall: int) -> int:
        day, second = divmod(wall, DAY)
        found = self._days.previous(day)
        if found == day:
            time = self._times.previous(second)
            if time >= 0:
                return day * DAY + time
            found = self._days.previous(day - 1)
        return NEVER_BEFORE if found == NEVER_BEFORE else found * DAY + self._times.last

    def names_day(self, day: int) -> bool:
        """Whether it has times on this day, counted from 1970."""
        return self._days.next(day) == day

    def count(self, low: int, high: int) -> int:
        first, first_second = divmod(low, DAY)
        last, last_second = divmod(high + 1, DAY)
        total = self._days.below(last, first) * self._times.count
        if self._days.next(first) == first:
            total -= self._times.below(first_second)
        if self._days.next(last) == last:
            total += self._times.below(last_second)
        return total


def cron_pattern(expression: str, name: str) -> CronPattern:
    """The pattern of a line in the schedule of this name; an error if it is none, or impossible."""
    return _pattern(expression, name if spreads(expression) else "")


@lru_cache(maxsize=16_384)
def _pattern(expression: str, name: str) -> CronPattern:
    line = read_line(expression, name)
    if not days_of(line.days).possible():
        raise _impossible(expression, line)
    return CronPattern(line)


def _impossible(expression: str, line: CronLine) -> InvalidSchedule:
    _, _, _, day, month, weekday = line.text.split()
    longest = max(
        29 if number == 2 else 30 if number in (4, 6, 9, 11) else 31
        for number in range(1, 13)
        if line.days.months >> number & 1
    )
    months = [name.title() for i, name in enumerate(MONTH_NAMES, 1) if line.days.months >> i & 1]
    if weekday.startswith("*") and day != "*":
        which = months[0] if len(months) == 1 else f"the longest month of `{month}`"
        reason = f"never fires: {which} has {longest} days, day of month is `{day}`"
    else:
        reason = f"never fires: no day matches `{day} {month} {weekday}`"
    return InvalidSchedule("cron", expression, reason)
