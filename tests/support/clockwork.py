"""The slow truth about schedules: lines with their meaning beside them, walked instant by instant.

Nothing here uses the package under test. A line is drawn together with a predicate for dates and
sets of numbers for times, so that its text is never read; clocks are asked of `zoneinfo` at every
step of the walk.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

ODD_DAYS = {
    "America/New_York": ("2026-03-08", "2026-11-01", "2007-03-11", "1974-01-06", "1975-02-23"),
    "Europe/Berlin": ("2026-03-29", "2026-10-25", "1980-04-06", "2099-10-25"),
    "Europe/Zurich": ("1981-03-29", "1981-09-27", "2026-03-29"),
    "Australia/Lord_Howe": ("2026-04-05", "2026-10-04", "1981-03-01", "1985-10-27"),
    "America/Sao_Paulo": ("2018-11-04", "2018-02-18", "2000-10-08", "1985-11-02"),
    "Africa/Cairo": ("2023-04-28", "2023-10-27", "2010-08-11", "2010-09-10", "2014-05-15"),
    "Asia/Kolkata": ("2026-01-01", "1970-01-02"),
    "Asia/Kathmandu": ("1986-01-01", "2024-02-29"),
    "Pacific/Apia": ("2011-12-30", "2010-09-26", "2012-04-01"),
    "Antarctica/Troll": ("2026-03-29", "2026-10-25", "2005-02-12"),
    "UTC": ("2024-02-29", "1999-12-31", "2099-12-30"),
}
"""Days on which clocks changed in some odd way, or that are odd themselves."""

_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


class Line(NamedTuple):
    text: str
    on_day: Callable[[date], bool]
    seconds: set[int]
    minutes: set[int]
    hours: set[int]
    any_hour: bool

    def matches(self, shown: datetime) -> bool:
        return (
            shown.hour in self.hours
            and shown.minute in self.minutes
            and shown.second in self.seconds
            and self.on_day(shown.date())
        )


class _Part(NamedTuple):
    text: str
    values: set[int]


@st.composite
def _numbers(
    draw: st.DrawFn, low: int, high: int, names: list[str] | None = None, *, ours: bool = True
) -> _Part:
    """A list of items with the numbers that they mean."""

    def word(value: int) -> str:
        if names and draw(st.booleans()):
            return draw(st.sampled_from([str.upper, str.lower, str.title]))(names[value - low])
        return str(value)

    texts: list[str] = []
    values: set[int] = set()
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["*", "*/", "a", "a", "a", "a-b", "a-b/", "a/"]))
        a = draw(st.integers(low, high))
        b = draw(st.integers(a, high))
        step = draw(st.integers(1, high - low + 1))
        if a == b and kind == "a-b/" and not ours:
            kind = "a"  # cronsim takes `5-5/1` for `5/1`
        match kind:
            case "*":
                texts.append("*")
                values |= set(range(low, high + 1))
            case "*/":
                texts.append(f"*/{step}")
                values |= set(range(low, high + 1, step))
            case "a":
                texts.append(word(a))
                values.add(a)
            case "a-b":
                texts.append(f"{word(a)}-{word(b)}")
                values |= set(range(a, b + 1))
            case "a-b/":
                texts.append(f"{word(a)}-{word(b)}/{step}")
                values |= set(range(a, b + 1, step))
            case _:
                texts.append(f"{word(a)}/{step}")
                values |= set(range(a, high + 1, step))
    return _Part(",".join(texts), values)


DateTest = Callable[[date], bool]


@st.composite
def _dates(draw: st.DrawFn, *, ours: bool) -> tuple[str, DateTest]:
    plain = draw(_numbers(1, 31, ours=ours))
    kind = draw(st.sampled_from(["plain", "*", "*", "L", "LW", *(["L-", "W"] if ours else [])]))
    n = draw(st.integers(1, 31))
    match kind:
        case "*":
            return "*", lambda d: True
        case "L":
            return f"L,{n}", lambda d: d.day in (n, _length(d))
        case "LW":
            return "LW", lambda d: d == _last_working(d)
        case "L-":
            back = min(n, 30)
            return f"L-{back}", lambda d: d.day == _length(d) - back
        case "W":
            return f"{n}W", lambda d: n <= _length(d) and d == _nearest_working(d.replace(day=n))
        case _:
            return plain.text, lambda d: d.day in plain.values


@st.composite
def _weekdays(draw: st.DrawFn, *, ours: bool) -> tuple[str, DateTest]:
    plain = draw(_numbers(0, 6, _DAYS, ours=ours))
    kind = draw(st.sampled_from(["plain", "*", "*", "#", "last", "7"]))
    which, n = draw(st.integers(0, 6)), draw(st.integers(1, 5))
    match kind:
        case "*":
            return "*", lambda d: True
        case "#":
            name = draw(st.sampled_from([str(which), _DAYS[which]]))
            return f"{name}#{n}", lambda d: _weekday(d) == which and (d.day - 1) // 7 == n - 1
        case "last":
            return f"{which}L", lambda d: _weekday(d) == which and d.day + 7 > _length(d)
        case "7":
            return "5-7", lambda d: _weekday(d) in (5, 6, 0)
        case _:
            # `a/n` goes up to 7 in this field, and 7 is Sunday, too.
            reach = {v for text in plain.text.split(",") for v in _reaching_seven(text)}
            return plain.text, lambda d: _weekday(d) in plain.values | reach


def _reaching_seven(item: str) -> set[int]:
    base, slash, step = item.partition("/")
    if not slash or base == "*" or "-" in base:
        return set()
    first = _DAYS.index(base.upper()) if base.upper() in _DAYS else int(base)
    return {value % 7 for value in range(first, 8, int(step))}


@st.composite
def lines(
    draw: st.DrawFn, *, seconds: bool = True, ours: bool = True, wild: bool | None = None
) -> Line:
    """Cron lines; `ours` with what other dialects lack, `wild` with or without wildcard hours."""
    second = draw(_numbers(0, 59, ours=ours)) if seconds and draw(st.booleans()) else None
    minute = draw(_numbers(0, 59, ours=ours))
    hour = draw(_numbers(0, 23, ours=ours))
    if wild is not None:
        hour = _Part("*", set(range(24))) if wild else _Part("1,2,3", {1, 2, 3})
        if not wild:
            chosen = draw(st.sets(st.integers(0, 23), min_size=1, max_size=8))
            hour = _Part(",".join(map(str, chosen)), chosen)
    date_text, on_date = draw(_dates(ours=ours))
    weekday_text, on_weekday = draw(_weekdays(ours=ours))
    month = draw(
        st.one_of(st.just(_Part("*", set(range(1, 13)))), _numbers(1, 12, _MONTHS, ours=ours))
    )
    both = date_text.startswith("*") or weekday_text.startswith("*")

    def on_day(d: date) -> bool:
        if d.month not in month.values:
            return False
        return on_date(d) and on_weekday(d) if both else on_date(d) or on_weekday(d)

    fields = [minute.text, hour.text, date_text, month.text, weekday_text]
    return Line(
        " ".join([second.text, *fields] if second else fields),
        on_day,
        second.values if second else {0},
        minute.values,
        hour.values,
        any(item.startswith("*") for item in hour.text.split(",")),
    )


def walked(
    matches: Callable[[datetime], bool],
    zone: str,
    low: datetime,
    high: datetime,
    *,
    step: timedelta,
    gap: str,
    fold: str,
) -> list[datetime]:
    """Every instant from `low` to `high` at which it fires, found by looking at each."""
    info = ZoneInfo(zone)
    # Beyond the ends, to see what repeats there; no clock goes back by more than this.
    margin = timedelta(hours=3)
    instant, end = low - margin, high + margin
    before = instant.astimezone(info)
    passes: dict[datetime, list[datetime]] = {}
    fires: set[datetime] = set()
    while instant <= end:
        shown = instant.astimezone(info)
        if matches(shown):
            passes.setdefault(_wall(shown), []).append(instant)
        if gap == "run_after_gap" and shown.utcoffset() != before.utcoffset():
            wall = _wall(before) + step
            while wall < _wall(shown):
                if matches(wall):
                    fires.add(instant)
                wall += step
        before = shown
        instant += step
    for seen in passes.values():
        fires.update({"first": seen[:1], "last": seen[-1:], "both": seen}[fold])
    return sorted(instant for instant in fires if low <= instant <= high)


def _wall(shown: datetime) -> datetime:
    """What the clock shows, whichever time it does so."""
    return shown.replace(tzinfo=None, fold=0)


def odd_moment(zone: str, day: str, minutes: int) -> datetime:
    """So many minutes after noon of the day before, in UTC."""
    return datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(minutes=minutes - 720)


def _weekday(d: date) -> int:
    return d.isoweekday() % 7


def _length(d: date) -> int:
    return monthrange(d.year, d.month)[1]


def _last_working(d: date) -> date:
    found = d.replace(day=_length(d))
    while _weekday(found) in (0, 6):
        found -= timedelta(days=1)
    return found


def _nearest_working(d: date) -> date:
    """The nearest day from Monday to Friday in the same month; there is never a tie."""
    days = [d.replace(day=n) for n in range(1, _length(d) + 1)]
    return min((day for day in days if _weekday(day) not in (0, 6)), key=lambda day: abs(day - d))
