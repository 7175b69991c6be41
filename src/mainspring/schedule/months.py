"""Every month that a schedule can meet, laid out once, so that a search for days is a lookup.

Days are numbered from 1970-01-01 as 0, weekdays from Sunday as 0. The table reaches a year beyond
the bounds on both sides, because wall clocks run up to a day ahead of UTC or behind it.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import date
from typing import Final

_FIRST_YEAR, _LAST_YEAR = 1969, 2100
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()


def weekday_of(day: int) -> int:
    """Sunday is 0."""
    return (day + 4) % 7


def date_of(day: int) -> date:
    return date.fromordinal(_EPOCH_ORDINAL + day)


def day_of(when: date) -> int:
    return when.toordinal() - _EPOCH_ORDINAL


_ALL = [(year, month) for year in range(_FIRST_YEAR, _LAST_YEAR + 1) for month in range(1, 13)]

STARTS: Final = [day_of(date(year, month, 1)) for year, month in _ALL]
"""The number of each month's first day."""

SHAPES: Final[list[tuple[int, int, int]]] = [
    (month, monthrange(2000, month)[1], weekday) for month in range(1, 13) for weekday in range(7)
] + [(2, 28, weekday) for weekday in range(7)]
"""Month of the year, number of days, weekday of the first: two months of one shape look alike."""

_NUMBER_OF_SHAPE = {shape: number for number, shape in enumerate(SHAPES)}

SHAPE_OF: Final = [
    _NUMBER_OF_SHAPE[month, monthrange(year, month)[1], weekday_of(start)]
    for (year, month), start in zip(_ALL, STARTS, strict=True)
]
"""The number of each month's shape."""
