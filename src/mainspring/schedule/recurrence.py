"""The wall-clock times of an RFC 5545 recurrence rule; `dateutil` does the counting.

`dateutil` walks a rule from its beginning, which would be 1970 for most. A rule is a row of periods
(seconds to years, `INTERVAL` of them at a time), so we let it begin a few periods before the time
that is asked about, after writing into the rule what it would have taken from its `DTSTART`. Only
a rule with `COUNT` has to be walked from its start; it is, once, and its times are kept.

Times are those of the schedule's zone: `DTSTART` without a zone is read there, and one in UTC or
with another `TZID` is refused or converted, see `_start_in`. Without `DTSTART` a rule begins with
1970.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice, takewhile

from dateutil.rrule import rrule, rrulestr

from mainspring.domain.errors import InvalidSchedule
from mainspring.domain.names import shown
from mainspring.schedule.bounds import DAY, LAST_INSTANT, NEVER, NEVER_BEFORE, moment_of, seconds_of
from mainspring.schedule.zones import Zone, zone_named

RULE_LENGTH_MAX = 2000
COUNT_MAX = 10_000

_PERIOD_SECONDS = {
    "SECONDLY": 1,
    "MINUTELY": 60,
    "HOURLY": 3600,
    "DAILY": DAY,
    "WEEKLY": 7 * DAY,
}
_FREQUENCIES = (*_PERIOD_SECONDS, "MONTHLY", "YEARLY")
_BY = (
    *("BYSECOND", "BYMINUTE", "BYHOUR", "BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO"),
    *("BYMONTH", "BYSETPOS"),
)
_PARTS = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", *_BY)
_DAYS_OF_WEEK = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_LAST_WALL = LAST_INSTANT + 2 * DAY
_CHUNK = 64


class Recurrence:
    """Wall-clock times as `zoned.Pattern` wants them."""

    def __init__(self, parts: dict[str, str], start: int) -> None:
        self.parts = parts
        self._start = start
        self._interval = int(parts.get("INTERVAL", "1"))
        self._filled = ";".join(f"{k}={v}" for k, v in _filled(parts, moment_of(start)).items())
        self._all: list[int] | None = None
        self._chunk: tuple[int, list[int]] = (0, [])
        if "COUNT" in parts:
            rule = self._rule(start, f";COUNT={parts['COUNT']}")
            self._all = [seconds_of(t) for t in takewhile(_in_bounds, rule)]

    @property
    def any_hour(self) -> bool:
        """Whether the hour is a wildcard, so that the rule follows elapsed time."""
        return self.parts["FREQ"] in ("SECONDLY", "MINUTELY", "HOURLY") and (
            "BYHOUR" not in self.parts
        )

    def next(self, wall: int) -> int:
        if self._all is not None:
            i = bisect_left(self._all, wall)
            return self._all[i] if i < len(self._all) else NEVER
        since, chunk = self._chunk
        if not (chunk and since <= wall <= chunk[-1]):
            chunk = list(islice(self._walk(wall), _CHUNK))
            self._chunk = wall, chunk
        i = bisect_left(chunk, wall)
        return chunk[i] if i < len(chunk) else NEVER

    def previous(self, wall: int) -> int:
        if self._all is not None:
            i = bisect_right(self._all, wall)
            return self._all[i - 1] if i else NEVER_BEFORE
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
        if self._all is not None:
            return max(0, bisect_right(self._all, high) - bisect_left(self._all, low))
        return sum(1 for _ in takewhile(lambda found: found <= high, self._walk(low)))

    def _first(self, wall: int) -> int:
        return next(self._walk(wall), NEVER)

    def _walk(self, wall: int) -> Iterator[int]:
        """Times at or after `wall`, in order."""
        for moment in self._rule(self._anchor(wall)):
            found = seconds_of(moment)
            if found >= max(wall, self._start):
                yield found

    def _rule(self, start: int, more: str = "") -> rrule:
        made = rrulestr(f"RRULE:{self._filled}{more}", dtstart=moment_of(start))
        assert isinstance(made, rrule)
        return made

    def _anchor(self, wall: int) -> int:
        """The start of a period of this rule, two or more before `wall` if there are so many."""
        if seconds := _PERIOD_SECONDS.get(self.parts["FREQ"]):
            seconds *= self._interval
            return self._start + max(0, (wall - self._start) // seconds - 2) * seconds
        first, asked = moment_of(self._start), moment_of(wall)
        months = self._interval * (1 if self.parts["FREQ"] == "MONTHLY" else 12)
        apart = (asked.year - first.year) * 12 + asked.month - first.month
        if apart // months <= 2:
            return self._start
        # A yearly period begins in January, whatever the month of the start.
        since = first.year * 12 + (first.month - 1 if self.parts["FREQ"] == "MONTHLY" else 0)
        year, month = divmod(since + (apart // months - 2) * months, 12)
        return seconds_of(datetime(year, month + 1, 1, tzinfo=UTC))


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
    # `COUNT` and `UNTIL` exclude each other, but every rule has to end with the years we know.
    parts["UNTIL"] = f"{moment_of(min(until, _LAST_WALL)):%Y%m%dT%H%M%SZ}"
    try:
        made = Recurrence(parts, start)
        first = made.next(start)
    except (ValueError, OverflowError, TypeError) as error:
        raise InvalidSchedule("rrule", text, f"is no rule: {error}") from None
    if first > LAST_INSTANT + DAY:  # in no zone is the clock further ahead
        raise InvalidSchedule("rrule", text, "never fires: no time from 1970 to 2099 matches")
    return made


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
    _check_days(text, parts)
    return parts


def _check_days(text: str, parts: dict[str, str]) -> None:
    """Say at once what is commonly impossible; the walk through all years takes seconds."""
    months = re.findall(r"\d+", parts.get("BYMONTH", "")) or ["1"]
    days = re.findall(r"\d+", parts.get("BYMONTHDAY", "")) or ["1"]
    longest = max({"2": 29, "4": 30, "6": 30, "9": 30, "11": 30}.get(m, 31) for m in months)
    if all(int(day) > longest for day in days):
        raise InvalidSchedule(
            "rrule", text, f"never fires: no month in `BYMONTH` has more than {longest} days"
        )


def _filled(parts: dict[str, str], start: datetime) -> dict[str, str]:
    """The rule with everything written out that it takes from its start."""
    filled = {key: value for key, value in parts.items() if key != "COUNT"}
    if "COUNT" in parts:
        filled.pop("UNTIL", None)
    frequency = _FREQUENCIES.index(parts["FREQ"])
    if not any(key in parts for key in ("BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO")):
        if parts["FREQ"] == "WEEKLY":
            filled["BYDAY"] = _DAYS_OF_WEEK[start.weekday()]
        elif parts["FREQ"] in ("MONTHLY", "YEARLY"):
            filled["BYMONTHDAY"] = str(start.day)
            if parts["FREQ"] == "YEARLY":
                filled.setdefault("BYMONTH", str(start.month))
    times = (("BYSECOND", start.second), ("BYMINUTE", start.minute), ("BYHOUR", start.hour))
    for finer, (key, value) in enumerate(times):
        if frequency > finer:
            filled.setdefault(key, str(value))
    return filled


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


def _in_bounds(moment: datetime) -> bool:
    return seconds_of(moment) <= _LAST_WALL
