"""Times, lengths, numbers and texts as people read them, wherever sentences are made."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

_UNITS = ((86400, "d", 2 * 86400), (3600, "h", 3600), (60, "min", 60), (1, "s", 1))
"""Seconds in a unit, its name, and from how many seconds on it is used."""

VISIBLE = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
VISIBLE |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
# Marks that turn the direction of writing can make a line look like another one.
VISIBLE |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)


class Halt(Protocol):
    """Since when something is paused, by whom, and why."""

    @property
    def at(self) -> datetime: ...

    @property
    def by(self) -> str | None: ...

    @property
    def note(self) -> str | None: ...


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


def counted(number: int, thing: str, *, at_most: int | None = None) -> str:
    """`1 task`, `1,200 tasks`; `100,000+ tasks` when counting stopped there."""
    more = "+" if at_most is not None and number >= at_most else ""
    return f"{number:,}{more} {thing}{'' if number == 1 and not more else 's'}"


def safe(text: str) -> str:
    """One line of text that cannot steer a terminal."""
    return text.translate(VISIBLE)


def shortened(text: str, length: int) -> str:
    """One safe line of at most `length` characters."""
    # What is cut off need not be looked at.
    line = safe(" ".join(text[: 4 * length].split()))
    return line if len(line) <= length else line[: length - 1] + "…"


def error_words(kind: str, message: str, length: int = 200) -> str:
    """`ConnectionError: refused`."""
    return shortened(f"{kind}: {message}" if message else kind, length)


def pause_words(pause: Halt, now: datetime) -> str:
    """`5 min ago by ada: the disk is full`."""
    by = f" by {safe(pause.by)}" if pause.by else ""
    note = f": {shortened(pause.note, 200)}" if pause.note else ""
    return f"{ago(pause.at, now)}{by}{note}"
