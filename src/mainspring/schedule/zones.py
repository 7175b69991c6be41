"""When the clocks of a zone change, as a table that is made once per zone and process.

The table comes from `zoneinfo`, which says what a clock shows at an instant but not when it
changes. So the offset is asked every three days, and between two that differ the change is found by
bisection. No zone has changed its offset twice within three days since 1970, nor is due to; a test
compares with the zone files themselves.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from mainspring.domain.errors import InvalidSchedule
from mainspring.domain.names import closest
from mainspring.schedule.bounds import (
    DAY,
    FIRST_INSTANT,
    LAST_INSTANT,
    NEVER_BEFORE,
    moment_of,
)

_PROBE_SECONDS = 3 * DAY
_NAME_LENGTH_MAX = 100


class Zone:
    """Segments of equal offset: segment `i` lasts from `starts[i]` to `starts[i + 1]`."""

    def __init__(self, name: str, starts: list[int], offsets: list[int]) -> None:
        self.name = name
        self.starts = starts
        self.offsets = offsets
        self._info = ZoneInfo(name)

    def offset_at(self, instant: int) -> int:
        return self.offsets[bisect_right(self.starts, instant) - 1]

    def wall(self, instant: int) -> int:
        """What the clock shows, as seconds since 1970 began on it."""
        return instant + self.offset_at(instant)

    def local(self, instant: int) -> datetime:
        return moment_of(instant).astimezone(self._info)

    def repeated(self, instant: int) -> str:
        """`first` or `last` if the clock shows this time twice, else nothing."""
        i = bisect_right(self.starts, instant) - 1
        wall = instant + self.offsets[i]
        if i and wall < self.starts[i] + self.offsets[i - 1]:
            return "last"
        if i + 1 < len(self.starts) and wall >= self.starts[i + 1] + self.offsets[i + 1]:
            return "first"
        return ""


@lru_cache(maxsize=1024)
def zone_named(name: str) -> Zone:
    """The zone of this IANA name, or an error that knows the nearest one."""
    try:
        if not 0 < len(name) <= _NAME_LENGTH_MAX:
            raise ValueError
        info = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidSchedule(
            "timezone",
            name,
            "is not a time zone",
            hint=_nearest(name) or "use a name like `Europe/Berlin` or `UTC`",
        ) from None
    return Zone(name, *_segments(info))


def _segments(info: ZoneInfo) -> tuple[list[int], list[int]]:
    # Two days more on both sides, because what was before an instant decides whether it repeats.
    here, end = FIRST_INSTANT - 2 * DAY, LAST_INSTANT + 2 * DAY
    offset = _offset(info, here)
    starts, offsets = [NEVER_BEFORE], [offset]
    while here < end:
        ahead = here + _PROBE_SECONDS
        found = _offset(info, ahead)
        if found != offset:
            before, after = here, ahead
            while after - before > 1:
                middle = (before + after) // 2
                if _offset(info, middle) == offset:
                    before = middle
                else:
                    after = middle
            starts.append(after)
            offsets.append(found)
            offset = found
        here = ahead
    return starts, offsets


def _offset(info: ZoneInfo, instant: int) -> int:
    offset = moment_of(instant).astimezone(info).utcoffset()
    assert offset is not None
    return offset.days * DAY + offset.seconds


def _nearest(name: str) -> str:
    near = closest(name, sorted(available_timezones()))
    return near if near.startswith("did you mean") else ""
