"""Which cron lines make so many fires a second out of so many schedules, evenly. Pure.

Two lengths of period that cron can say lie around the one that is wanted; some schedules get the
shorter, the rest the longer, and each period's schedules are spread over its seconds. So every one
of them fires, and every second brings the same number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import msgspec

from mainspring.schedule.specs import CronSpec, ScheduleSpec
from mainspring.schedule.timetable import Timetable

_PERIODS_SECONDS = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 120, 180, 240, 300, 600, 1800, 3600)
_SECOND = timedelta(seconds=1)


class Line(msgspec.Struct, frozen=True):
    """A cron line, and how many schedules have it."""

    expression: str
    schedules: int

    @property
    def spec(self) -> bytes:
        return msgspec.json.encode(self._spec)

    @property
    def _spec(self) -> ScheduleSpec:
        return ScheduleSpec((CronSpec(self.expression),))

    def next_fire(self, begin: datetime) -> datetime:
        """The first at `begin` or after."""
        fire = self._timetable.next_fire(begin - _SECOND)
        assert fire is not None
        return fire.at

    def fires(self, begin: datetime, end: datetime) -> int:
        """Of all its schedules, from `begin` up to, not including, `end`."""
        return self.schedules * self._timetable.count_between(_before(begin), _before(end))

    @property
    def _timetable(self) -> Timetable:
        return Timetable(self._spec, "")


def lines_for(schedules: int, rate: int) -> list[Line]:
    """As many schedules as that, which together fire `rate` times a second.

    Or as near as may be: at most once a second each, and at least once an hour.
    """
    shorter, longer = _PERIODS_SECONDS[0], _PERIODS_SECONDS[-1]
    for period in _PERIODS_SECONDS:
        if period * rate <= schedules:
            shorter = period
        else:
            longer = period
            break
    if shorter == longer or shorter * rate >= schedules:
        return list(_spread(shorter, schedules))
    frequent = round((rate - schedules / longer) / (1 / shorter - 1 / longer))
    frequent = max(0, min(schedules, frequent))
    return [*_spread(shorter, frequent), *_spread(longer, schedules - frequent)]


def _spread(period: int, schedules: int) -> Iterator[Line]:
    """Over the seconds of a period."""
    for second in range(period):
        count = schedules // period + (second < schedules % period)
        if count:
            yield Line(_expression(period, second), count)


def _expression(period: int, second: int) -> str:
    """The line that fires every `period` seconds, at the given second of it."""
    if period <= 60:
        return f"{second}/{period} * * * * *" if period < 60 else f"{second} * * * * *"
    minute, second = divmod(second, 60)
    minutes = period // 60
    return f"{second} {minute}/{minutes} * * * *" if minutes < 60 else f"{second} {minute} * * * *"


def _before(moment: datetime) -> datetime:
    """The last whole second that lies before it."""
    whole = moment.replace(microsecond=0)
    return whole if whole < moment else whole - _SECOND


def interleaved(lines: Sequence[Line]) -> Iterator[Line]:
    """A line for each schedule, so that neighbours in a table fire at different seconds."""
    left = {line: line.schedules for line in lines}
    while left:
        for line in list(left):
            yield line
            left[line] -= 1
            if not left[line]:
                del left[line]
