"""What a change of a schedule adds, takes away and moves, before it is made.

Two timetables are compared fire by fire over a stretch of time. A fire that a calendar excludes
starts nothing, so it counts as none. On a day on which as many fires come as go, they are the same
fires at other times: moved, in their order. On other days they come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from mainspring.domain.durations import format_duration
from mainspring.schedule.bounds import seconds_of
from mainspring.schedule.specs import ScheduleSpec
from mainspring.schedule.timetable import Fire, Timetable
from mainspring.schedule.zones import Zone

_Odd: TypeAlias = tuple[datetime, str | None]
"""A fire that only one of two timetables has, and the calendar for which the other has it not."""


class Difference(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"


class FireDifference(msgspec.Struct, frozen=True):
    difference: Difference
    before: datetime | None
    """When it would have fired; in UTC."""
    after: datetime | None
    """When it will."""
    note: str | None = None

    @property
    def at(self) -> datetime:
        at = self.before or self.after
        assert at is not None
        return at


class OptionDifference(msgspec.Struct, frozen=True):
    option: str
    before: Any
    after: Any


class ScheduleDifference(msgspec.Struct, frozen=True):
    since: datetime
    until: datetime
    """How far it was looked."""
    complete: bool
    """False: there were so many fires that it was looked less far than asked."""
    unchanged: int
    """Fires that stay what they are."""
    fires: list[FireDifference]
    """In order of time."""


def option_differences(before: ScheduleSpec, after: ScheduleSpec) -> list[OptionDifference]:
    """Parts of the spec that change, beside the times that it names."""
    return [
        OptionDifference(name, getattr(before, name), getattr(after, name))
        for name in ScheduleSpec.__struct_fields__
        if getattr(before, name) != getattr(after, name)
    ]


def fire_differences(
    before: Timetable | None,
    after: Timetable,
    since: datetime,
    until: datetime,
    *,
    left: int | None = None,
    limit: int = 10_000,
) -> ScheduleDifference:
    """From `since`, which is left out, to `until`; `before` is None if there was no schedule.

    `left` is how many fires the schedule's limit leaves to it as it is. At most `limit` fires of
    each are looked at.
    """
    old = before.fires_between(since, until, limit) if before is not None else []
    new = after.fires_between(since, until, limit)
    cut = [fires[-1].at for fires in (old, new) if len(fires) == limit]
    looked_until = min(cut, default=until)
    old_at, excluded_before = _instants(old, left, looked_until)
    new_at, excluded_after = _instants(new, after.spec.limit, looked_until)
    stay = old_at & new_at
    removed = [(at, excluded_after.get(at)) for at in sorted(old_at - stay)]
    added = [(at, excluded_before.get(at)) for at in sorted(new_at - stay)]
    return ScheduleDifference(
        since, looked_until, not cut, len(stay), _paired(removed, added, after.zone)
    )


def _instants(
    fires: Sequence[Fire], left: int | None, until: datetime
) -> tuple[set[datetime], dict[datetime, str]]:
    """Those that start something, and which calendar excludes the others."""
    within = [fire for fire in fires if fire.at <= until]
    starting = [fire.at for fire in within if fire.excluded is None]
    excluded = {fire.at: fire.excluded for fire in within if fire.excluded is not None}
    return set(starting if left is None else starting[: max(left, 0)]), excluded


def _paired(removed: Sequence[_Odd], added: Sequence[_Odd], zone: Zone) -> list[FireDifference]:
    days: dict[date, tuple[list[_Odd], list[_Odd]]] = {}
    for side, fires in enumerate((removed, added)):
        for at, excluded in fires:
            day = zone.local(seconds_of(at)).date()
            days.setdefault(day, ([], []))[side].append((at, excluded))
    found: list[FireDifference] = []
    for gone, come in days.values():
        if len(gone) == len(come):
            found += [
                FireDifference(Difference.MOVED, before, after, _shift(after - before))
                for (before, _), (after, _) in zip(gone, come, strict=True)
            ]
            continue
        for at, excluded in gone:
            note = f"excluded by `{excluded}`" if excluded is not None else None
            found.append(FireDifference(Difference.REMOVED, at, None, note))
        for at, excluded in come:
            note = f"`{excluded}` excluded it" if excluded is not None else None
            found.append(FireDifference(Difference.ADDED, None, at, note))
    return sorted(found, key=lambda each: (each.at, each.difference))


def _shift(length: timedelta) -> str:
    seconds = length.total_seconds()
    return f"{format_duration(abs(seconds))} {'later' if seconds > 0 else 'earlier'}"
