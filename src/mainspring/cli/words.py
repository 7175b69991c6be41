"""Times, lengths, numbers and texts as people read them on a terminal.

What sentences of the server need as well is in `domain.words`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from mainspring.domain.durations import format_duration, lasted_seconds
from mainspring.domain.words import (
    VISIBLE,
    ago,
    clock,
    counted,
    error_words,
    pause_words,
    roughly,
    safe,
    shortened,
)

__all__ = [
    "ago",
    "clock",
    "counted",
    "error_words",
    "lasted",
    "moment_words",
    "number",
    "parse_moment",
    "pause_words",
    "rate",
    "roughly",
    "safe",
    "safe_lines",
    "shortened",
    "size",
    "time_of_day",
    "value_words",
]

_VISIBLE_LINES = {code: to for code, to in VISIBLE.items() if chr(code) not in "\n\t"}


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


def took(seconds: float | None) -> str:
    """How long something took, or takes already; empty for what has not begun."""
    return "" if seconds is None else format_duration(seconds)


def number(value: int, *, at_most: int | None = None) -> str:
    return f"{value:,}{'+' if at_most is not None and value >= at_most else ''}"


def rate(per_second: float) -> str:
    """`12/s`, `2.5/s`, `6/min`: few digits, and none that would not be true."""
    if per_second >= 1:
        return f"{per_second:,.0f}/s" if per_second >= 10 else f"{per_second:.1f}/s"
    return f"{per_second * 60:.0f}/min" if per_second >= 1 / 60 else "<1/min"


def size(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    return f"{count / 1024:.0f} KiB" if count < 1024 * 1024 else f"{count / 1024 / 1024:.1f} MiB"


def safe_lines(text: str) -> str:
    """Text that cannot steer a terminal, with its lines and tabs."""
    return text.translate(_VISIBLE_LINES)


def value_words(value: Any, length: int = 80) -> str:
    """A JSON value on one short line."""
    return shortened(msgspec.json.encode(value).decode(), length)


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
