"""A schedule in plain words: `every day at 02:00 (Europe/Berlin)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from mainspring.schedule.bounds import seconds_of
from mainspring.schedule.cron import cron_pattern
from mainspring.schedule.cron_fields import DayRule, TimeRule
from mainspring.schedule.specs import (
    CronSpec,
    DatesSpec,
    IntervalSpec,
    OnceSpec,
    PluginSpec,
    RecurrenceSpec,
    ScheduleSpec,
    When,
)
from mainspring.schedule.zones import zone_named

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS = (
    *("", "January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth")
_ALL_HOURS, _ALL_SIXTY = (1 << 24) - 1, (1 << 60) - 1
_ALL_DAYS, _ALL_MONTHS, _ALL_WEEK = (1 << 32) - 2, (1 << 13) - 2, (1 << 7) - 1
_TIMES_MAX = 8
"""So many times of day are listed; more are described."""


def explain(spec: ScheduleSpec, name: str) -> str:
    """The whole schedule in one line; `name` is the schedule's, for `H`."""
    words = ", and ".join(explain_when(when, spec, name) for when in spec.when)
    if not all(isinstance(when, IntervalSpec) for when in spec.when):
        words += f" ({spec.timezone})"
    zone = zone_named(spec.timezone)
    if spec.exclude:
        words += f", except on days of {_and([f'`{calendar}`' for calendar in spec.exclude])}"
    if spec.start is not None:
        words += f", from {zone.local(seconds_of(spec.start)):%Y-%m-%d %H:%M}"
    if spec.end is not None:
        words += f", until {zone.local(seconds_of(spec.end)):%Y-%m-%d %H:%M}"
    if spec.limit is not None:
        words += ", once" if spec.limit == 1 else f", at most {spec.limit} times"
    if spec.jitter_seconds:
        words += f", up to {_length(spec.jitter_seconds)} later"
    return words


def explain_when(when: When, spec: ScheduleSpec, name: str) -> str:
    zone = zone_named(spec.timezone)
    match when:
        case CronSpec(expression=expression):
            line = cron_pattern(expression, name).line
            return _cron(line.times, line.days)
        case IntervalSpec(seconds=seconds, phase_seconds=phase):
            shifted = f", shifted by {_length(phase)}" if phase else ""
            return f"every {_length(seconds)}{shifted}"
        case OnceSpec(at=at):
            return f"once, at {zone.local(seconds_of(at)):%Y-%m-%d %H:%M:%S}"
        case DatesSpec(at=several):
            first, last = (zone.local(seconds_of(at)) for at in (min(several), max(several)))
            if len(set(several)) == 1:
                return f"once, at {first:%Y-%m-%d %H:%M:%S}"
            return f"{len(set(several))} times from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"
        case RecurrenceSpec(rule=rule):
            return f"by the rule `{' '.join(rule.split())}`"
        case PluginSpec(name=plugin, address=address):
            return f"by `{plugin}:{address}`"
        case _:
            assert_never(when)


# --- cron ---------------------------------------------------------------------------------


def _cron(times: TimeRule, rule: DayRule) -> str:
    listed, days = _times_listed(times), _days(rule)
    if listed:
        return f"{days or 'every day'} at {_and(listed)}"
    return f"{_times_described(times)}, {days}" if days else _times_described(times)


def _times_listed(times: TimeRule) -> list[str]:
    """Times of day one by one, if they are few."""
    many = times.hours.bit_count() * times.minutes.bit_count() * times.seconds.bit_count()
    if many > _TIMES_MAX or times.hours == _ALL_HOURS:
        return []
    return [
        f"{hour:02}:{minute:02}" + (f":{second:02}" if times.seconds != 1 else "")
        for hour in _values(times.hours)
        for minute in _values(times.minutes)
        for second in _values(times.seconds)
    ]


def _times_described(times: TimeRule) -> str:
    hours = "" if times.hours == _ALL_HOURS else _hours(times)
    seconds_step, minutes_step = _step(times.seconds, 60), _step(times.minutes, 60)
    if times.minutes == _ALL_SIXTY and seconds_step and times.seconds != 1:
        return f"every {_many(seconds_step, 'second')}{hours}"
    second = "" if times.seconds == 1 else f" at {_named('second', times.seconds)}"
    if minutes_step and minutes_step < 60:
        return f"every {_many(minutes_step, 'minute')}{second}{hours}"
    minute = "" if times.minutes == 1 else f" at {_named('minute', times.minutes)}"
    if second and minute:
        second = f" and {second.removeprefix(' at ')}"
    hours_step = _step(times.hours, 24)
    if hours_step and hours_step < 24:
        return f"every {_many(hours_step, 'hour')}{minute}{second}"
    return f"every hour{minute}{second}{hours}"


def _hours(times: TimeRule) -> str:
    values, minutes = _values(times.hours), _values(times.minutes)
    if values == list(range(values[0], values[-1] + 1)):
        return f" from {values[0]:02}:{minutes[0]:02} to {values[-1]:02}:{minutes[-1]:02}"
    return f" in the {_named('hour', times.hours)}"


def _step(bits: int, size: int) -> int:
    """n if the values are every nth from 0 and n divides the whole, else 0."""
    values = _values(bits)
    step = values[1] if len(values) > 1 else size
    return step if size % step == 0 and values == list(range(0, size, step)) else 0


def _days(rule: DayRule) -> str:
    by_date, by_weekday = _dates(rule), _weekdays(rule)
    if by_date and by_weekday and rule.either:
        words = f"{by_date} or {by_weekday}"
    elif by_date and by_weekday:
        words = f"{by_weekday} if it is {by_date.removeprefix('on ')}"
    else:
        words = by_date or by_weekday
    if rule.months != _ALL_MONTHS:
        months = _ranged([_MONTHS[month] for month in _values(rule.months)], _values(rule.months))
        words = f"{words or 'every day'} in {months}".replace(" of the month in ", " of ")
    return words


def _dates(rule: DayRule) -> str:
    """Days of the month, or nothing if they are all meant."""
    if rule.days == _ALL_DAYS:
        return ""
    parts: list[str] = []
    if rule.days:
        parts.append(f"{_named('day', rule.days)} of the month")
    for before in rule.before_last:
        back = f"the day {_many(before, 'day', one='1 ')} before " if before else ""
        parts.append(f"{back}the last day of the month")
    parts += [f"the working day nearest to day {day}" for day in rule.nearest]
    if rule.last_working:
        parts.append("the last working day of the month")
    return f"on {_and(parts)}"


def _weekdays(rule: DayRule) -> str:
    """Days of the week, or nothing if they are all meant."""
    if rule.weekdays == _ALL_WEEK:
        return ""
    # A week is read from Monday.
    values = sorted(_values(rule.weekdays), key=lambda day: (day - 1) % 7)
    parts: list[str] = []
    if values:
        parts.append(_ranged([_WEEKDAYS[day] for day in values], [(v - 1) % 7 for v in values]))
    parts += [f"the {_ORDINALS[n]} {_WEEKDAYS[day]} of the month" for day, n in rule.nth]
    parts += [f"the last {_WEEKDAYS[day]} of the month" for day in rule.last_weekdays]
    return f"on {_and(parts)}"


# --- words --------------------------------------------------------------------------------


def _values(bits: int) -> list[int]:
    return [value for value in range(bits.bit_length()) if bits >> value & 1]


def _ranged(names: Sequence[str], numbers: Sequence[int]) -> str:
    """`a to c` for three or more in a row, else all of them."""
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{names[0]} to {names[-1]}"
    return _and(names)


def _named(word: str, bits: int) -> str:
    values = _values(bits)
    text = _ranged([str(value) for value in values], values)
    return f"{word}{'s' if len(values) > 1 else ''} {text}"


def _many(number: int, word: str, *, one: str = "") -> str:
    return f"{one}{word}" if number == 1 else f"{number} {word}s"


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _length(seconds: int) -> str:
    """All of it, unlike `format_duration`, which rounds."""
    parts = []
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        amount, seconds = divmod(seconds, size)
        if amount:
            parts.append(f"{amount} {unit}")
    return " ".join(parts)
