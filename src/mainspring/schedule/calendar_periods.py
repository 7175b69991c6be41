"""Recurrence rules by week, month or year: `dateutil` does the counting.

`dateutil` walks a rule from its beginning, which would be 1970 for most. A rule is a row of
periods, `INTERVAL` of them at a time, so we let it begin a few periods before the time that is
asked about, after writing into the rule what it would have taken from its start.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice, takewhile

from dateutil.rrule import rrule, rrulestr

from mainspring.schedule.bounds import DAY, NEVER, NEVER_BEFORE, moment_of, seconds_of

_DAYS_OF_WEEK = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_CHUNK = 64


class CalendarPeriods:
    """Wall-clock times as `zoned.Pattern` wants them."""

    def __init__(self, parts: Mapping[str, str], start: int) -> None:
        self._parts = parts
        self._start = start
        self._interval = int(parts.get("INTERVAL", "1"))
        self._filled = ";".join(f"{k}={v}" for k, v in _filled(parts, moment_of(start)).items())
        self._chunk: tuple[int, list[int]] = (0, [])

    def next(self, wall: int) -> int:
        since, chunk = self._chunk
        if not (chunk and since <= wall <= chunk[-1]):
            chunk = list(islice(self._walk(wall), _CHUNK))
            self._chunk = wall, chunk
        i = bisect_left(chunk, wall)
        return chunk[i] if i < len(chunk) else NEVER

    def previous(self, wall: int) -> int:
        _, chunk = self._chunk
        if chunk and chunk[0] <= wall <= chunk[-1]:
            return chunk[bisect_right(chunk, wall) - 1]
        found = self._search_back(wall)
        if found != NEVER_BEFORE:
            # Who asks for this one will ask for those that follow.
            self._chunk = found, list(islice(self._walk(found), _CHUNK))
        return found

    def _search_back(self, wall: int) -> int:
        """Rules walk forward only: look back further and further, then halve what is left."""
        span, low = 64, wall
        while self._first(low) > wall:
            if low <= self._start:
                return NEVER_BEFORE
            span *= 8
            low = wall - span
        found, high = self._first(low), wall + 1
        while high - found > 1:
            middle = (found + 1 + high) // 2
            later = self._first(middle)
            if later <= wall:
                found = later
            else:
                high = middle
        return found

    def count(self, low: int, high: int) -> int:
        return sum(1 for _ in takewhile(lambda found: found <= high, self._walk(low)))

    def _first(self, wall: int) -> int:
        return next(self._walk(wall), NEVER)

    def _walk(self, wall: int) -> Iterator[int]:
        """Times at or after `wall`, in order."""
        for moment in self._rule(self._anchor(wall)):
            found = seconds_of(moment)
            if found >= max(wall, self._start):
                yield found

    def _rule(self, start: int) -> rrule:
        made = rrulestr(f"RRULE:{self._filled}", dtstart=moment_of(start))
        assert isinstance(made, rrule)
        return made

    def _anchor(self, wall: int) -> int:
        """The start of a period of this rule, two or more before `wall` if there are so many."""
        if self._parts["FREQ"] == "WEEKLY":
            seconds = 7 * DAY * self._interval
            return self._start + max(0, (wall - self._start) // seconds - 2) * seconds
        first, asked = moment_of(self._start), moment_of(wall)
        months = self._interval * (1 if self._parts["FREQ"] == "MONTHLY" else 12)
        apart = (asked.year - first.year) * 12 + asked.month - first.month
        if apart // months <= 2:
            return self._start
        # A yearly period begins in January, whatever the month of the start.
        since = first.year * 12 + (first.month - 1 if self._parts["FREQ"] == "MONTHLY" else 0)
        year, month = divmod(since + (apart // months - 2) * months, 12)
        return seconds_of(datetime(year, month + 1, 1, tzinfo=UTC))


def _filled(parts: Mapping[str, str], start: datetime) -> dict[str, str]:
    """The rule with everything written out that it takes from its start."""
    filled = dict(parts)
    if not any(key in parts for key in ("BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO")):
        if parts["FREQ"] == "WEEKLY":
            filled["BYDAY"] = _DAYS_OF_WEEK[start.weekday()]
        else:
            filled["BYMONTHDAY"] = str(start.day)
            if parts["FREQ"] == "YEARLY":
                filled.setdefault("BYMONTH", str(start.month))
    for key, value in (
        ("BYHOUR", start.hour),
        ("BYMINUTE", start.minute),
        ("BYSECOND", start.second),
    ):
        filled.setdefault(key, str(value))
    return filled
