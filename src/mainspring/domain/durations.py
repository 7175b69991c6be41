"""Lengths of time: read as people write them, and written as people read them.

`parse_duration` accepts `"10m"`, `"1h30m"`, `"1.5s"`, `"250ms"`, `"2d"`, a number of seconds, or a
`timedelta`, and gives seconds. `format_duration` writes seconds for a person; what it writes can
be parsed again.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from typing import TypeAlias

from mainspring.domain.errors import InputError

Duration: TypeAlias = str | float | timedelta
"""What a person may write where a length of time is wanted (an `int` is a `float` here)."""

DURATION_SECONDS_MAX = 100 * 366 * 86400.0
"""A hundred years: long enough for everybody, and safely inside what a timestamp can hold."""

_UNIT_SECONDS = {
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
}
_PART = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s|min|m|h|d|w)(?![a-z]) ?", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_TEXT_LENGTH_MAX = 100

_HINT = 'write it like "10m", "1h30m", "1.5s", "250ms" or "2d", or as a number of seconds'


def parse_duration(value: Duration, *, what: str = "duration") -> float:
    """Seconds, from what a person wrote; `what` names the thing in errors."""
    given: object = value  # an author's code need not be typed
    match given:
        case timedelta():
            seconds = given.total_seconds()
        case bool():
            raise InputError(f"{what}: `{given}` is not a length of time", hint=_HINT)
        case int() | float():
            # Compared before converted: an int may be too large for a float.
            seconds = float(given) if abs(given) <= DURATION_SECONDS_MAX else math.inf
        case str():
            seconds = _seconds_in(given, what)
        case _:
            kind = type(given).__name__
            raise InputError(f"{what}: expected a length of time, got `{kind}`", hint=_HINT)
    if seconds < 0:
        raise InputError(f"{what}: a length of time cannot be negative, got `{value}`")
    if not seconds <= DURATION_SECONDS_MAX:
        raise InputError(f"{what}: {_quoted(str(value))} is longer than a hundred years")
    return seconds


def format_duration(seconds: float) -> str:
    """The two largest units that matter: `250 ms`, `1.2 s`, `3 min 4 s`, `1 h 5 min`, `2 d 3 h`."""
    if math.isnan(seconds):
        return "?"
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    if math.isinf(seconds):
        return "forever"
    # Each step compares what would be written, so that 59.96 s becomes 1 min and not 60.0 s.
    if seconds == 0:
        return "0 s"
    if round(seconds * 1000, 1) < 10:
        return f"{_short(round(seconds * 1000, 1))} ms"
    if round(seconds * 1000) < 1000:
        return f"{round(seconds * 1000)} ms"
    if round(seconds, 1) < 60:
        return f"{_short(round(seconds, 1))} s"
    if round(seconds) < 3600:
        return _two(round(seconds), 60, "min", "s")
    if round(seconds / 60) < 24 * 60:
        return _two(round(seconds / 60), 60, "h", "min")
    return _two(round(seconds / 3600), 24, "d", "h")


def lasted_seconds(
    started_at: datetime | None, finished_at: datetime | None, now: datetime | None = None
) -> float | None:
    """How long something took, or takes already; None for what has not begun."""
    end = finished_at or now
    if started_at is None or end is None:
        return None
    # The clocks of two machines may disagree by a little.
    return max((end - started_at).total_seconds(), 0.0)


def _seconds_in(text: str, what: str) -> float:
    cleaned = text.strip().lower()
    if len(cleaned) <= _TEXT_LENGTH_MAX:
        if _NUMBER.fullmatch(cleaned):
            return float(cleaned)
        parts = _PART.findall(cleaned)
        units = {_UNIT_SECONDS[unit] for _, unit in parts}
        # A unit written twice, as in "1h5h", is a slip of the pen.
        if parts and len(units) == len(parts) and not _PART.sub("", cleaned):
            return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)
    raise InputError(f"{what}: {_quoted(text)} is not a length of time", hint=_HINT)


def _quoted(text: str) -> str:
    return f"`{text}`" if len(text) <= 40 else f"`{text[:40]}…`"


def _short(number: float) -> str:
    return f"{number:g}"


def _two(amount: int, many: int, large: str, small: str) -> str:
    high, low = divmod(amount, many)
    return f"{high} {large} {low} {small}" if low else f"{high} {large}"
