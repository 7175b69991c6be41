"""A recurrence rule of RFC 5545, read; two files compute its wall-clock times.

Rules by day and by less are `steady.py`, those by week, month and year `calendar_periods.py`. A
rule with `COUNT` is expanded once, and its times are kept.

Times are those of the schedule's zone. `DTSTART` and `UNTIL` without a zone are read there, with
`Z` they are instants; without `DTSTART` a rule begins with 1970. Combinations of parts that the RFC
excludes are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from mainspring.domain.errors import InvalidSchedule
from mainspring.domain.names import shown
from mainspring.schedule.bounds import DAY, FIRST_INSTANT, LAST_INSTANT, moment_of, seconds_of
from mainspring.schedule.cron_fields import DayRule
from mainspring.schedule.plain import Instants
from mainspring.schedule.steady import Steady, SteadyRule
from mainspring.schedule.zoned import Pattern
from mainspring.schedule.zones import Zone, zone_named

RULE_LENGTH_MAX = 2000
COUNT_MAX = 10_000

_UNITS = {"SECONDLY": 1, "MINUTELY": 60, "HOURLY": 3600, "DAILY": DAY}
_FREQUENCIES = (*_UNITS, "WEEKLY", "MONTHLY", "YEARLY")
_RANGES = {
    "BYSECOND": (0, 59),
    "BYMINUTE": (0, 59),
    "BYHOUR": (0, 23),
    "BYMONTH": (1, 12),
    "BYMONTHDAY": (-31, 31),
    "BYYEARDAY": (-366, 366),
    "BYWEEKNO": (-53, 53),
    "BYSETPOS": (-366, 366),
}
_DAYS_OF_WEEK = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
_PARTS = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", *_RANGES)
_ONLY_WITH = {
    "BYYEARDAY": ("YEARLY",),
    "BYWEEKNO": ("YEARLY",),
    "BYSETPOS": ("WEEKLY", "MONTHLY", "YEARLY"),
    "BYMONTHDAY": tuple(each for each in _FREQUENCIES if each != "WEEKLY"),
}
_LAST_WALL = LAST_INSTANT + 2 * DAY


class Recurrence(NamedTuple):
    pattern: Pattern
    any_hour: bool
    """Whether the hour is a wildcard, so that the rule follows elapsed time."""


@lru_cache(maxsize=4096)
def recurrence(text: str, zone: str) -> Recurrence:
    """The rule in this zone; an error if it is none, or names no time at all."""
    if len(text) > RULE_LENGTH_MAX:
        raise InvalidSchedule("rrule", text, f"is longer than {RULE_LENGTH_MAX} characters")
    rule, start_line = _lines(text)
    parts = _parts(text, rule)
    at = zone_named(zone)
    start = _start_in(at, text, start_line) if start_line else 0
    until = _until_in(at, text, parts["UNTIL"]) if "UNTIL" in parts else _LAST_WALL
    if until < start:
        raise InvalidSchedule("rrule", text, "ends before it starts: `UNTIL` is before `DTSTART`")
    try:
        pattern = _pattern(parts, start, min(until, _LAST_WALL))
        first = pattern.next(max(start, at.wall(FIRST_INSTANT)))
    except (ValueError, OverflowError, TypeError) as error:
        raise InvalidSchedule("rrule", text, f"is no rule: {error}") from None
    if first > at.wall(LAST_INSTANT):
        raise InvalidSchedule("rrule", text, "never fires: no time from 1970 to 2099 matches")
    if "COUNT" in parts:
        pattern = _expanded(pattern, pattern.next(start), int(parts["COUNT"]))
    any_hour = _UNITS.get(parts["FREQ"], DAY) < DAY and "BYHOUR" not in parts
    return Recurrence(pattern, any_hour)


def _pattern(parts: Mapping[str, str], start: int, until: int) -> Pattern:
    if parts["FREQ"] in _UNITS:
        return Steady(_steady(parts, start, until))
    from mainspring.schedule.calendar_periods import CalendarPeriods

    # `COUNT` and `UNTIL` exclude each other, but every rule has to end with the years we know.
    ending = {key: value for key, value in parts.items() if key != "COUNT"}
    ending["UNTIL"] = f"{moment_of(until):%Y%m%dT%H%M%SZ}"
    return CalendarPeriods(ending, start)


def _expanded(pattern: Pattern, first: int, count: int) -> Instants:
    walls = [first]
    while len(walls) < count and (found := pattern.next(walls[-1] + 1)) <= _LAST_WALL:
        walls.append(found)
    return Instants(walls)


def _steady(parts: Mapping[str, str], start: int, until: int) -> SteadyRule:
    unit = _UNITS[parts["FREQ"]]
    begun = moment_of(start)

    def values(key: str, default: list[int]) -> list[int]:
        given = parts.get(key)
        return sorted({int(value) for value in given.split(",")}) if given else default

    # What is finer than the period is taken from the start, what is coarser is not restricted.
    hours = values("BYHOUR", [begun.hour] if unit > 3600 else list(range(24)))
    minutes = values("BYMINUTE", [begun.minute] if unit > 60 else list(range(60)))
    seconds = values("BYSECOND", [begun.second] if unit > 1 else list(range(60)))
    times = {3600 * h + 60 * m + s for h in hours for m in minutes for s in seconds}
    days = values("BYMONTHDAY", list(range(1, 32)))
    weekdays = parts["BYDAY"].split(",") if "BYDAY" in parts else _DAYS_OF_WEEK
    return SteadyRule(
        start=start,
        until=until,
        unit=unit,
        interval=int(parts.get("INTERVAL", "1")),
        days=DayRule(
            days=sum(1 << day for day in days if day > 0),
            before_last=tuple(sorted(-1 - day for day in days if day < 0)),
            nearest=(),
            last_working=False,
            months=sum(1 << month for month in values("BYMONTH", list(range(1, 13)))),
            weekdays=sum(1 << _DAYS_OF_WEEK.index(day) for day in set(weekdays)),
            nth=(),
            last_weekdays=(),
            either=False,
        ),
        allowed=_bits({time // unit for time in times}, DAY // unit),
        offsets=tuple(sorted({time % unit for time in times})),
    )


def _bits(values: set[int], size: int) -> int:
    return int("".join("1" if value in values else "0" for value in range(size - 1, -1, -1)), 2)


def _lines(text: str) -> tuple[str, str]:
    rule, start = "", ""
    for line in text.upper().split():
        if line.startswith("DTSTART"):
            if start:
                raise InvalidSchedule("rrule", text, "has `DTSTART` twice")
            start = line
        elif line.startswith(("RDATE", "EXDATE", "EXRULE")):
            raise InvalidSchedule(
                "rrule",
                text,
                f"has {shown(line.split(':')[0])}, which a schedule says otherwise",
                hint="list dates as dates, and leave out days by a calendar (`exclude`)",
            )
        elif rule:
            raise InvalidSchedule(
                "rrule", text, "has more than one rule", hint="give a schedule a list of rules"
            )
        else:
            rule = line.removeprefix("RRULE:")
    if not rule:
        raise InvalidSchedule("rrule", text, "has no rule", hint="write `RRULE:FREQ=DAILY;…`")
    return rule, start


def _parts(text: str, rule: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for part in rule.strip(";").split(";"):
        key, equals, value = part.partition("=")
        if not equals or not value:
            raise InvalidSchedule("rrule", text, f"has {shown(part)}, which is not `NAME=VALUE`")
        if key not in _PARTS:
            raise InvalidSchedule("rrule", text, f"has {shown(key)}; known are {', '.join(_PARTS)}")
        if key in parts:
            raise InvalidSchedule("rrule", text, f"has {shown(key)} twice")
        parts[key] = value
    if parts.get("FREQ") not in _FREQUENCIES:
        raise InvalidSchedule("rrule", text, f"needs `FREQ=` one of {', '.join(_FREQUENCIES)}")
    for key, most in (("INTERVAL", 1_000_000), ("COUNT", COUNT_MAX)):
        value = parts.get(key, "1")
        if not re.fullmatch(r"\d{1,9}", value, re.ASCII) or not 1 <= int(value) <= most:
            raise InvalidSchedule("rrule", text, f"has `{key}={value}`, not 1 to {most:,}")
    if "COUNT" in parts and "UNTIL" in parts:
        raise InvalidSchedule("rrule", text, "has both `COUNT` and `UNTIL`; give one of them")
    for key, value in parts.items():
        _check_part(text, parts["FREQ"], key, value)
    return parts


def _check_part(text: str, frequency: str, key: str, value: str) -> None:
    if frequency not in _ONLY_WITH.get(key, _FREQUENCIES):
        raise InvalidSchedule(
            "rrule", text, f"has `{key}`, which means nothing with `FREQ={frequency}`"
        )
    items = value.split(",")
    if key in _RANGES:
        low, high = _RANGES[key]
        for item in items:
            number = int(item) if re.fullmatch(r"[+-]?\d{1,3}", item, re.ASCII) else low - 1
            if not low <= number <= high or (low < 0 and number == 0):
                raise InvalidSchedule(
                    "rrule", text, f"has {shown(item)} in `{key}`, not {low} to {high}"
                )
    if key == "BYDAY":
        ordinal = r"([+-]?\d{1,2})?" if frequency in ("MONTHLY", "YEARLY") else ""
        for item in items:
            if not re.fullmatch(f"{ordinal}({'|'.join(_DAYS_OF_WEEK)})", item, re.ASCII):
                raise InvalidSchedule(
                    "rrule", text, f"has {shown(item)} in `BYDAY` with `FREQ={frequency}`"
                )
    if key == "WKST" and value not in _DAYS_OF_WEEK:
        raise InvalidSchedule("rrule", text, f"has `WKST={value}`, not {', '.join(_DAYS_OF_WEEK)}")


def _start_in(zone: Zone, text: str, line: str) -> int:
    head, _, value = line.partition(":")
    for option in head.split(";")[1:]:
        key, _, given = option.partition("=")
        if key == "TZID" and given != zone.name.upper():
            raise InvalidSchedule(
                "rrule",
                text,
                f"starts in {shown(given)}, the schedule's zone is {shown(zone.name)}",
                hint="leave `TZID` out; the schedule's `timezone` counts",
            )
        if key not in ("TZID", "VALUE"):
            raise InvalidSchedule("rrule", text, f"has {shown(option)} beside `DTSTART`")
    return _wall_in(zone, text, "DTSTART", value, 0)


def _until_in(zone: Zone, text: str, value: str) -> int:
    # A date includes its whole day.
    return _wall_in(zone, text, "UNTIL", value, DAY - 1)


def _wall_in(zone: Zone, text: str, what: str, value: str, second_of_date: int) -> int:
    found = re.fullmatch(r"(\d{8})(?:T(\d{6})(Z?))?", value, re.ASCII)
    try:
        if found is None:
            raise ValueError
        digits = found[1] + (found[2] or "000000")
        moment = datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidSchedule(
            "rrule",
            text,
            f"has {what} {shown(value)}, which is no time",
            hint="write it like `20261115T083000`, in the schedule's zone, or with `Z` in UTC",
        ) from None
    if not 1970 <= moment.year <= 2099:
        raise InvalidSchedule("rrule", text, f"has {what} in {moment.year}, not in 1970 to 2099")
    wall = seconds_of(moment)
    if not found[2]:
        return wall + second_of_date
    return zone.wall(wall) if found[3] else wall
