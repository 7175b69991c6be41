"""Days that a cron line names: the next, the previous, and how many.

Which days of a month match depends only on the month's shape (which month, how long, which weekday
it begins with), of which there are 91. So each rule keeps a set of days for each shape that it has
met, and a search looks at one number per month.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from mainspring.schedule.bounds import NEVER, NEVER_BEFORE
from mainspring.schedule.cron_fields import DayRule
from mainspring.schedule.months import SHAPE_OF, SHAPES, STARTS


class Days:
    """Numbers of days, from 1970-01-01 as 0."""

    __slots__ = ("_bits_of_shape", "_rule")

    def __init__(self, rule: DayRule) -> None:
        self._rule = rule
        self._bits_of_shape = [-1] * len(SHAPES)

    def next(self, day: int) -> int:
        """The first one at or after this day, or `NEVER`."""
        month = bisect_right(STARTS, day) - 1
        if month < 0:
            month, day = 0, STARTS[0]
        bits = self._bits(month) >> (day - STARTS[month])
        if bits:
            return day + (bits & -bits).bit_length() - 1
        for later in range(month + 1, len(STARTS)):
            bits = self._bits(later)
            if bits:
                return STARTS[later] + (bits & -bits).bit_length() - 1
        return NEVER

    def previous(self, day: int) -> int:
        """The last one at or before this day, or `NEVER_BEFORE`."""
        month = bisect_right(STARTS, day) - 1
        if month < 0:
            return NEVER_BEFORE
        bits = self._bits(month) & ((2 << (day - STARTS[month])) - 1)
        while not bits and month:
            month -= 1
            bits = self._bits(month)
        return STARTS[month] + bits.bit_length() - 1 if bits else NEVER_BEFORE

    def below(self, day: int, since: int) -> int:
        """How many from the day `since` up to, not including, `day`."""
        first, last = bisect_right(STARTS, since) - 1, bisect_right(STARTS, day) - 1
        total = sum(self._bits(month).bit_count() for month in range(first, last))
        total -= (self._bits(first) & ((1 << (since - STARTS[first])) - 1)).bit_count()
        return total + (self._bits(last) & ((1 << (day - STARTS[last])) - 1)).bit_count()

    def possible(self) -> bool:
        """Whether there is such a day at all. Every shape occurs between 1970 and 2099."""
        return any(self._bits_of(number) for number in range(len(SHAPES)))

    def _bits(self, month: int) -> int:
        number = SHAPE_OF[month]
        bits = self._bits_of_shape[number]
        return bits if bits >= 0 else self._bits_of(number)

    def _bits_of(self, number: int) -> int:
        bits = self._bits_of_shape[number] = matching_days(self._rule, *SHAPES[number])
        return bits


@lru_cache(maxsize=4096)
def days_of(rule: DayRule) -> Days:
    return Days(rule)


def matching_days(rule: DayRule, month: int, length: int, first_weekday: int) -> int:
    """The days of a month of this shape, as bits; bit 0 is the first day."""
    if not rule.months >> month & 1:
        return 0
    by_date = _by_date(rule, length, first_weekday)
    by_weekday = _by_weekday(rule, length, first_weekday)
    return by_date | by_weekday if rule.either else by_date & by_weekday


def _by_date(rule: DayRule, length: int, first_weekday: int) -> int:
    bits = (rule.days >> 1) & ((1 << length) - 1)
    for before in rule.before_last:
        if before < length:
            bits |= 1 << (length - 1 - before)
    for day in rule.nearest:
        if day <= length:
            bits |= 1 << (_working_day(day, length, first_weekday) - 1)
    if rule.last_working:
        weekday = (first_weekday + length - 1) % 7
        bits |= 1 << (length - 1 - {0: 2, 6: 1}.get(weekday, 0))
    return bits


def _working_day(day: int, length: int, first_weekday: int) -> int:
    """The day from Monday to Friday that is nearest, without leaving the month."""
    weekday = (first_weekday + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


def _by_weekday(rule: DayRule, length: int, first_weekday: int) -> int:
    bits = 0
    for weekday in range(7):
        first = (weekday - first_weekday) % 7
        every = sum(1 << day for day in range(first, length, 7))
        if rule.weekdays >> weekday & 1:
            bits |= every
        if weekday in rule.last_weekdays:
            bits |= 1 << (every.bit_length() - 1)
        for which, n in rule.nth:
            if which == weekday and first + 7 * (n - 1) < length:
                bits |= 1 << (first + 7 * (n - 1))
    return bits
