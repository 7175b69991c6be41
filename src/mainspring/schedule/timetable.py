"""The instants of a schedule: the next, the last, those between two, and how many.

Each entry of `when` becomes a source that answers `next`, `previous` and `count` in whole seconds;
a timetable is their union within the window and the years 1970 to 2099. Nothing walks: a question
costs a few microseconds whether the answer lies a second or a leap year away.

Instants that a calendar leaves out are told too, marked, because whoever fires has to be able to
say why nothing ran.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol, assert_never

from mainspring.domain.errors import InputError, InvalidSchedule
from mainspring.domain.names import closest
from mainspring.schedule.bounds import (
    DAY,
    FIRST_INSTANT,
    LAST_INSTANT,
    NEVER,
    NEVER_BEFORE,
    moment_of,
    seconds_of,
)
from mainspring.schedule.calendars import Calendar
from mainspring.schedule.cron import cron_pattern
from mainspring.schedule.months import date_of
from mainspring.schedule.plain import Instants, Interval
from mainspring.schedule.plugged import Plugged
from mainspring.schedule.specs import (
    CronSpec,
    DatesSpec,
    DstFold,
    DstGap,
    IntervalSpec,
    OnceSpec,
    PluginSpec,
    RecurrenceSpec,
    ScheduleSpec,
    When,
)
from mainspring.schedule.zoned import ClockChanges, ZonedSource
from mainspring.schedule.zones import zone_named


class Source(Protocol):
    """Instants in whole seconds, from one entry of `when`."""

    def next(self, instant: int) -> int:
        """The first one at or after `instant`, or `NEVER`."""

    def previous(self, instant: int) -> int:
        """The last one at or before `instant`, or `NEVER_BEFORE`."""

    def count(self, low: int, high: int) -> int:
        """How many from `low` to `high`, both included."""


class Fire(NamedTuple):
    """A nominal instant."""

    at: datetime
    """In UTC, a whole second."""
    excluded: str | None
    """The calendar that leaves it out."""


class Timetable:
    """The fires of a schedule. `name` is the schedule's, for `H` and jitter.

    Thousands of schedules may share a timetable and be asked for one instant in a row, so it keeps
    its last answers.
    """

    def __init__(
        self, spec: ScheduleSpec, name: str, calendars: Mapping[str, Calendar] | None = None
    ) -> None:
        self.spec = spec
        self.name = name
        self.zone = zone_named(spec.timezone)
        self.sources = [source_of(when, spec, name) for when in dict.fromkeys(spec.when)]
        self._only = self.sources[0] if len(self.sources) == 1 else None
        self._calendars = [(each, _calendar(each, calendars or {})) for each in spec.exclude]
        self._first = FIRST_INSTANT
        self._last = LAST_INSTANT
        if spec.start is not None:
            self._first = max(self._first, seconds_of(spec.start))
        if spec.end is not None:
            self._last = min(self._last, seconds_of(spec.end) - 1)
        self._last_next: tuple[datetime, Fire | None] | None = None
        self._last_interval: tuple[datetime, datetime] | None = None

    @property
    def bounds(self) -> tuple[int, int]:
        """The first and the last second in which it may fire at all."""
        return self._first, self._last

    def next_fire(self, after: datetime) -> Fire | None:
        """The first fire after this instant, be it left out or not; None if there is none."""
        if self._last_next is None or self._last_next[0] != after:
            found = self._next(_seconds(after) + 1)
            self._last_next = after, None if found == NEVER else self._fire(found)
        return self._last_next[1]

    def fire_at(self, instant: datetime) -> Fire:
        """This instant as a fire, be it one by these rules or not."""
        return self._fire(_seconds(instant))

    def last_fire(self, before: datetime) -> Fire | None:
        """The last fire at this instant or before; None if there is none."""
        found = self._previous(_seconds(before))
        return None if found == NEVER_BEFORE else self._fire(found)

    def fires_between(
        self, after: datetime, until: datetime, limit: int | None = None
    ) -> list[Fire]:
        """Fires after `after`, up to and including `until`, in order; the first `limit` of them."""
        fires: list[Fire] = []
        if limit is not None and limit <= 0:
            return fires
        for instant in self.instants_between(_seconds(after) + 1, _seconds(until)):
            fires.append(self._fire(instant))
            if len(fires) == limit:
                break
        return fires

    def count_between(self, after: datetime, until: datetime) -> int:
        """How many fires there are after `after`, up to and including `until`."""
        low = max(_seconds(after) + 1, self._first)
        high = min(_seconds(until), self._last)
        if low > high:
            return 0
        if self._only is not None:
            return self._only.count(low, high)
        # The densest is counted; of the others, one by one, what no denser one has.
        densest, *sparser = sorted(self.sources, key=lambda each: -each.count(low, high))
        total, denser = densest.count(low, high), [densest]
        for source in sparser:
            found = source.next(low)
            while found <= high:
                total += all(other.next(found) != found for other in denser)
                found = source.next(found + 1)
            denser.append(source)
        return total

    def instants_between(self, low: int, high: int) -> Iterator[int]:
        """Fires from `low` to `high`, both included, as seconds since 1970."""
        found = self._next(low)
        while found <= high:
            yield found
            found = self._next(found + 1)

    def data_interval(self, fire: datetime) -> tuple[datetime, datetime]:
        """The time whose data the fire is about; it ends with the fire.

        It begins with the previous nominal fire, even one that lies before the window or is left
        out, so that a window changes no intervals. If there is none it is empty.
        """
        seconds = self.spec.interval_seconds
        if seconds is not None:
            return fire - timedelta(seconds=seconds), fire
        if self._last_interval is None or self._last_interval[1] != fire:
            before = max(source.previous(_seconds(fire) - 1) for source in self.sources)
            self._last_interval = moment_of(before) if before >= FIRST_INSTANT else fire, fire
        return self._last_interval

    def start_at(self, fire: datetime) -> datetime:
        """When the run of this fire may start: up to `jitter_seconds` later, always the same."""
        if not self.spec.jitter_seconds:
            return fire
        key = f"jitter\0{self.name}\0{_seconds(fire)}".encode()
        number = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest())
        return fire + timedelta(milliseconds=number % (self.spec.jitter_seconds * 1000 + 1))

    def excluded_by(self, instant: int) -> str | None:
        """The calendar that leaves this instant out, judged by its date in the schedule's zone."""
        if not self._calendars:
            return None
        day = date_of(self.zone.wall(instant) // DAY)
        return next((name for name, calendar in self._calendars if calendar.excludes(day)), None)

    def _fire(self, instant: int) -> Fire:
        return Fire(moment_of(instant), self.excluded_by(instant) if self._calendars else None)

    def _next(self, instant: int) -> int:
        if instant < self._first:
            instant = self._first
        if instant > self._last:
            return NEVER
        if self._only is not None:
            found = self._only.next(instant)
        else:
            found = min(source.next(instant) for source in self.sources)
        return found if found <= self._last else NEVER

    def _previous(self, instant: int) -> int:
        if instant > self._last:
            instant = self._last
        if instant < self._first:
            return NEVER_BEFORE
        if self._only is not None:
            found = self._only.previous(instant)
        else:
            found = max(source.previous(instant) for source in self.sources)
        return found if found >= self._first else NEVER_BEFORE


def source_of(when: When, spec: ScheduleSpec, name: str) -> Source:
    match when:
        case CronSpec(expression=expression):
            pattern = cron_pattern(expression, name)
            changes = None if pattern.line.any_hour else _changes(spec)
            return ZonedSource(pattern, spec.timezone, changes)
        case IntervalSpec(seconds=seconds, phase_seconds=phase):
            return Interval(seconds, phase)
        case OnceSpec(at=at):
            return Instants([seconds_of(at)])
        case DatesSpec(at=several):
            return Instants(seconds_of(at) for at in several)
        case RecurrenceSpec(rule=rule):
            from mainspring.schedule.recurrence import recurrence

            recurring = recurrence(rule, spec.timezone)
            changes = None if recurring.any_hour else _changes(spec)
            return ZonedSource(recurring.pattern, spec.timezone, changes)
        case PluginSpec(name=plugin, address=address):
            return Plugged(plugin, address)
        case _:
            assert_never(when)


def _changes(spec: ScheduleSpec) -> ClockChanges:
    return ClockChanges(
        run_after_gap=spec.dst_gap is DstGap.RUN_AFTER_GAP,
        first=spec.dst_fold is not DstFold.LAST,
        last=spec.dst_fold is not DstFold.FIRST,
    )


def _calendar(name: str, calendars: Mapping[str, Calendar]) -> Calendar:
    if name not in calendars:
        raise InvalidSchedule(
            "exclude", name, "is not a calendar", hint=closest(name, sorted(calendars))
        )
    return calendars[name]


def _seconds(moment: datetime) -> int:
    if moment.tzinfo is None:
        raise InputError(f"`{moment.isoformat()}` has no zone", hint="give an instant in UTC")
    return seconds_of(moment)
