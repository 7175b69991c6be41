"""When a schedule should fire, by trying every second. Intervals and plain cron lines, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

_SECOND = timedelta(seconds=1)
_RANGES = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
"""Second, minute, hour, day, month, weekday from Sunday on."""


class Every(msgspec.Struct, frozen=True, tag="every"):
    seconds: int
    phase_seconds: int = 0

    def matches(self, at: datetime) -> bool:
        return (int(at.timestamp()) - self.phase_seconds) % self.seconds == 0


class Cron(msgspec.Struct, frozen=True, tag="cron"):
    expression: str

    def matches(self, at: datetime) -> bool:
        fields = self.expression.split()
        seconds = fields if len(fields) == 6 else ["0", *fields]
        values = (at.second, at.minute, at.hour, at.day, at.month, at.isoweekday() % 7)
        return all(
            value in _allowed(field, *bounds)
            for field, value, bounds in zip(seconds, values, _RANGES, strict=True)
        )


class Rule(msgspec.Struct, frozen=True):
    """What was asked for, as far as promises are about it."""

    when: list[Every | Cron]
    timezone: Literal["UTC"] = "UTC"
    overlap: str = "allow_all"
    misfire: str = "last"
    grace_seconds: int = 60
    max_age_seconds: int | None = None
    max_count: int | None = None
    limit: int | None = None
    exclude: list[str] = []


def rule_of(spec: str) -> Rule:
    return msgspec.json.decode(spec, type=Rule)


def instants(rule: Rule, after: datetime, until: datetime) -> list[datetime]:
    """All nominal instants after the one and up to the other."""
    found = []
    at = after.astimezone(UTC).replace(microsecond=0) + _SECOND
    while at <= until:
        if any(when.matches(at) for when in rule.when):
            found.append(at)
        at += _SECOND
    return found


def _allowed(field: str, least: int, most: int) -> set[int]:
    """`*`, `*/n`, numbers, ranges and lists of them; anything else is an error."""
    allowed: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            first, last = least, most
        else:
            begin, _, end = span.partition("-")
            first, last = int(begin), int(end or begin)
        allowed |= set(range(first, last + 1, int(step or 1)))
    return allowed
