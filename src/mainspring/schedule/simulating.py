"""A whole installation on a virtual clock: every fire of many schedules, and what they weigh.

`simulate` merges timetables in order and holds one fire of each. `measure` counts starts per minute
without walking through them: most days of a schedule look alike, so the minutes of a day are found
once per *kind of day* (its offset from UTC, which of its local dates match, which are left out) and
added as one number for each day of that kind. A year of a thousand schedules takes seconds.

The clock knows nothing of runs. That a fire is skipped or waits because an earlier run is still
open cannot be told, and every engine is taken to be there in time. Ranges are half open: a fire at
the end belongs to the next range.
"""

from __future__ import annotations

import heapq
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from mainspring.domain.errors import InputError
from mainspring.schedule.bounds import DAY, FIRST_INSTANT, LAST_INSTANT, moment_of, seconds_of
from mainspring.schedule.cron import CronPattern
from mainspring.schedule.plain import Interval
from mainspring.schedule.specs import Overlap
from mainspring.schedule.timetable import Source, Timetable
from mainspring.schedule.zoned import ZonedSource

RANGE_DAYS_MAX = 3_660
"""Ten years."""
_MINUTE = 60
_MINUTES_OF_DAY = DAY // _MINUTE
_MARGIN = 2 * DAY
"""A change of clocks says nothing about days that are further away."""


class Range(NamedTuple):
    """Seconds since 1970, from `low` up to, not including, `high`."""

    low: int
    high: int


class SimulatedSchedule(NamedTuple):
    name: str
    dag: str
    timetable: Timetable
    fired: int = 0
    """How many of its `limit` are used up, at `since`."""
    since: datetime | None = None
    """None: when the clock starts."""

    @property
    def overlap(self) -> Overlap:
        return self.timetable.spec.overlap


class SimulatedFire(NamedTuple):
    fire_at: datetime
    start_at: datetime
    """Later than nominal by the jitter."""
    schedule: SimulatedSchedule
    excluded: str | None
    """The calendar that leaves it out."""


class Tally(NamedTuple):
    """What a schedule does in a range."""

    fires: int
    """Those that start a run."""
    excluded: int


class Load(NamedTuple):
    """Starts per minute, of all schedules together."""

    first_minute: int
    """Since 1970."""
    minutes: array[int]
    tallies: Sequence[Tally]
    """One for each schedule, in their order."""
    late: int
    """Fires in the range whose jitter moves their start beyond it."""

    @property
    def starts(self) -> int:
        return sum(self.minutes)

    def busiest(self, count: int) -> list[tuple[datetime, int]]:
        """The minutes with most starts, the first of equals first; none without a start."""
        found = heapq.nsmallest(count, enumerate(self.minutes), key=lambda item: (-item[1], item))
        return [
            (moment_of((self.first_minute + i) * _MINUTE), starts) for i, starts in found if starts
        ]


def range_of(since: datetime, until: datetime) -> Range:
    """The range, or an error that says what is wrong with it."""
    if until <= since:
        raise InputError(
            f"the range ends at {until.isoformat()}, which is not after {since.isoformat()}"
        )
    if until - since > timedelta(days=RANGE_DAYS_MAX):
        raise InputError(f"the range is longer than {RANGE_DAYS_MAX:,} days")
    found = Range(_rounded_up(since), _rounded_up(until))
    if found.low < FIRST_INSTANT or found.high > LAST_INSTANT:
        raise InputError("the range is not within the years 1970 to 2099")
    return found


def _rounded_up(moment: datetime) -> int:
    return seconds_of(moment) + bool(moment.microsecond)


def simulate(schedules: Sequence[SimulatedSchedule], within: Range) -> Iterator[SimulatedFire]:
    """Every fire in the range in order of nominal instants, then of schedules as given."""
    streams = (_stream(i, each, within) for i, each in enumerate(schedules))
    for instant, i in heapq.merge(*streams):
        schedule = schedules[i]
        timetable, fire_at = schedule.timetable, moment_of(instant)
        excluded = timetable.excluded_by(instant)
        start_at = fire_at if excluded is not None else timetable.start_at(fire_at)
        yield SimulatedFire(fire_at, start_at, schedule, excluded)


def measure(
    schedules: Sequence[SimulatedSchedule],
    within: Range,
    done: Callable[[], object] = lambda: None,
) -> Load:
    """Starts per minute in the range; `done` is called after each schedule."""
    days = _Days(within)
    tallies = []
    for schedule in schedules:
        tallies.append(days.add(schedule))
        done()
    first = within.low // _MINUTE
    return Load(first, days.minutes(), tallies, days.late)


def starting_in(
    schedules: Sequence[SimulatedSchedule], minute: datetime, within: Range
) -> list[SimulatedSchedule]:
    """Those that start a run in this minute, by fires of the range."""
    low = seconds_of(minute)
    return [each for each in schedules if _starts_in(each, low, low + _MINUTE, within)]


def _stream(i: int, schedule: SimulatedSchedule, within: Range) -> Iterator[tuple[int, int]]:
    last = _last(schedule, within)
    return ((instant, i) for instant in schedule.timetable.instants_between(within.low, last))


def _starts_in(schedule: SimulatedSchedule, low: int, high: int, within: Range) -> bool:
    timetable = schedule.timetable
    earliest = max(within.low, low - timetable.spec.jitter_seconds)
    for instant in timetable.instants_between(earliest, min(high - 1, _last(schedule, within))):
        if timetable.excluded_by(instant) is None:
            start = seconds_of(timetable.start_at(moment_of(instant)))
            if low <= start < high:
                return True
    return False


def _last(schedule: SimulatedSchedule, within: Range) -> int:
    """The last second in which it may fire, by the range and by its limit."""
    limit, last = schedule.timetable.spec.limit, within.high - 1
    if limit is None:
        return last
    left = max(0, limit - schedule.fired)
    since = within.low
    if schedule.since is not None:
        if schedule.since <= moment_of(within.low):
            since = seconds_of(schedule.since) + 1
        else:
            left = limit  # The clock starts in the past, before anything was used up.
    timetable = schedule.timetable
    wanted = (
        instant
        for instant in timetable.instants_between(since, last)
        if timetable.excluded_by(instant) is None
    )
    if left == 0:
        return within.low - 1
    return next(islice(wanted, left - 1, None), last)


class _Profile(NamedTuple):
    """What a schedule does on a day."""

    minutes: int
    """Starts per minute: 1,440 numbers of 32 bits in one, so that adding days is one addition."""
    fires: int
    excluded: int


_NOTHING = _Profile(0, 0, 0)


class _Days:
    """The days of a range, in UTC, and what starts in their minutes."""

    def __init__(self, within: Range) -> None:
        self.late = 0
        self._within = within
        self._first = within.low // DAY
        self._sums = [0] * ((within.high - 1) // DAY - self._first + 1)
        self._moved: dict[int, int] = {}
        """Starts that jitter has moved, by minute."""
        self._profiles: dict[Hashable, _Profile] = {}

    def add(self, schedule: SimulatedSchedule) -> Tally:
        low, high = self._within.low, _last(schedule, self._within) + 1
        first, last = schedule.timetable.bounds
        low, high = max(low, first), min(high, last + 1)
        if schedule.timetable.spec.jitter_seconds:
            return self._add_moved(schedule.timetable, low, high)
        fires = excluded = 0
        for day in range(low // DAY, (high - 1) // DAY + 1):
            profile = self._profile(
                schedule.timetable, max(low, day * DAY), min(high, (day + 1) * DAY)
            )
            self._sums[day - self._first] += profile.minutes
            fires += profile.fires
            excluded += profile.excluded
        return Tally(fires, excluded)

    def minutes(self) -> array[int]:
        """The range's own minutes, from its first to its last."""
        counts = array("I")
        for total in self._sums:
            counts.frombytes(total.to_bytes(4 * _MINUTES_OF_DAY, sys.byteorder))
        first = self._within.low // _MINUTE
        start = first - self._first * _MINUTES_OF_DAY
        length = (self._within.high - 1) // _MINUTE - first + 1
        own = counts[start : start + length]
        for minute, starts in self._moved.items():
            own[minute - first] += starts
        return own

    def _add_moved(self, timetable: Timetable, low: int, high: int) -> Tally:
        """Jitter gives each fire a start of its own: these have to be walked through."""
        fires = excluded = 0
        for instant in timetable.instants_between(low, high - 1):
            if timetable.excluded_by(instant) is not None:
                excluded += 1
                continue
            fires += 1
            start = seconds_of(timetable.start_at(moment_of(instant)))
            if start < self._within.high:
                self._moved[start // _MINUTE] = self._moved.get(start // _MINUTE, 0) + 1
            else:
                self.late += 1
        return Tally(fires, excluded)

    def _profile(self, timetable: Timetable, low: int, high: int) -> _Profile:
        kind = _kind_of_day(timetable, low) if high - low == DAY else None
        if kind is None:
            return _walked(timetable, low, high)
        found = self._profiles.get(kind)
        if found is None:
            found = self._profiles[kind] = _walked(timetable, low, high)
        return found


def _walked(timetable: Timetable, low: int, high: int) -> _Profile:
    counts = array("I", bytes(4 * _MINUTES_OF_DAY))
    fires = excluded = 0
    for instant in timetable.instants_between(low, high - 1):
        if timetable.excluded_by(instant) is None:
            counts[instant % DAY // _MINUTE] += 1
            fires += 1
        else:
            excluded += 1
    if not fires and not excluded:
        return _NOTHING
    return _Profile(int.from_bytes(counts.tobytes(), sys.byteorder), fires, excluded)


def _kind_of_day(timetable: Timetable, low: int) -> Hashable | None:
    """What the fires of the day that begins here depend on; None: on more than can be said.

    Timetables that agree in it have the same fires on days that agree in it.
    """
    zone = timetable.zone
    segment = bisect_right(zone.starts, low - _MARGIN)
    if segment != bisect_right(zone.starts, low + DAY + _MARGIN):
        return None
    offset = zone.offsets[segment - 1]
    first, last = (low + offset) // DAY, (low + DAY - 1 + offset) // DAY
    kinds: list[Hashable] = [offset]
    for source in timetable.sources:
        kind = _kind_of_source(source, low, first, last)
        if kind is None:
            return None
        kinds.append(kind)
    if timetable.spec.exclude:
        kinds += (timetable.excluded_by(low) is None, timetable.excluded_by(low + DAY - 1) is None)
    return tuple(kinds)


def _kind_of_source(source: Source, low: int, first: int, last: int) -> Hashable | None:
    if isinstance(source, Interval):
        return (source.seconds, source.next(low) - low)
    if isinstance(source, ZonedSource) and isinstance(source.pattern, CronPattern):
        # Patterns of equal lines are one object, so schedules share what is found for them.
        pattern = source.pattern
        return (pattern, pattern.names_day(first), pattern.names_day(last))
    return None
