"""Times, lengths, numbers and texts as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from mainspring.domain.durations import format_duration, lasted_seconds

if TYPE_CHECKING:
    from mainspring.store.pauses import Pause

_UNITS = ((86400, "d", 2 * 86400), (3600, "h", 3600), (60, "min", 60), (1, "s", 1))
"""Seconds in a unit, its name, and from how many seconds on it is used."""

_VISIBLE = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
_VISIBLE |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
# Marks that turn the direction of writing can make a line look like another one.
_VISIBLE |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)
_VISIBLE_LINES = {code: to for code, to in _VISIBLE.items() if chr(code) not in "\n\t"}


def ago(then: datetime, now: datetime) -> str:
    """`3 min ago`, `just now`, `in 5 h`."""
    seconds = (now - then).total_seconds()
    if abs(seconds) < 0.5:
        return "just now"
    return f"{roughly(seconds)} ago" if seconds > 0 else f"in {roughly(-seconds)}"


def roughly(seconds: float) -> str:
    """A length of time in one unit: `38 s`, `3 min`, `5 h`, `12 d`."""
    whole = round(seconds)
    for unit_seconds, name, from_seconds in _UNITS:
        if whole >= from_seconds:
            return f"{whole // unit_seconds:,} {name}"
    return "less than a second"


def clock(moment: datetime) -> str:
    """An instant in the zone of whoever reads it."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def time_of_day(moment: datetime) -> str:
    return moment.astimezone().strftime("%H:%M:%S")


def moment_words(then: datetime, now: datetime) -> str:
    """`3 min ago (2026-11-15 08:22:31 CET)`."""
    return f"{ago(then, now)} ({clock(then)})"


def lasted(
    started_at: datetime | None, finished_at: datetime | None, now: datetime | None = None
) -> str:
    """How long something took, or takes already; empty for what has not begun."""
    seconds = lasted_seconds(started_at, finished_at, now)
    return "" if seconds is None else format_duration(seconds)


def counted(number: int, thing: str, *, at_most: int | None = None) -> str:
    """`1 task`, `1,200 tasks`; `100,000+ tasks` when counting stopped there."""
    more = "+" if at_most is not None and number >= at_most else ""
    return f"{number:,}{more} {thing}{'' if number == 1 and not more else 's'}"


def number(value: int, *, at_most: int | None = None) -> str:
    return f"{value:,}{'+' if at_most is not None and value >= at_most else ''}"


def size(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    return f"{count / 1024:.0f} KiB" if count < 1024 * 1024 else f"{count / 1024 / 1024:.1f} MiB"


def safe(text: str) -> str:
    """One line of text that cannot steer a terminal."""
    return text.translate(_VISIBLE)


def safe_lines(text: str) -> str:
    """Text that cannot steer a terminal, with its lines and tabs."""
    return text.translate(_VISIBLE_LINES)


def shortened(text: str, length: int) -> str:
    """One safe line of at most `length` characters."""
    # What is cut off need not be looked at.
    line = safe(" ".join(text[: 4 * length].split()))
    return line if len(line) <= length else line[: length - 1] + "…"


def value_words(value: Any, length: int = 80) -> str:
    """A JSON value on one short line."""
    return shortened(msgspec.json.encode(value).decode(), length)


def error_words(kind: str, message: str, length: int = 200) -> str:
    """`ConnectionError: refused`."""
    return shortened(f"{kind}: {message}" if message else kind, length)


def pause_words(pause: Pause, now: datetime) -> str:
    """`5 min ago by ada: the disk is full`."""
    by = f" by {safe(pause.by)}" if pause.by else ""
    note = f": {shortened(pause.note, 200)}" if pause.note else ""
    return f"{ago(pause.at, now)}{by}{note}"


def parse_moment(text: str) -> datetime | None:
    """An instant as people write it; without a zone it is local time. None if it is none."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    try:
        return moment.astimezone(UTC)
    except (OverflowError, OSError, ValueError):
        return None
