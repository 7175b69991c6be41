"""What fires in the hours to come, of all schedules: counts by the hour, and the first few."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from mainspring.domain.errors import MainspringError
from mainspring.schedule.timetable import Timetable
from mainspring.store.connection import Connection
from mainspring.store.reading import read_clock
from mainspring.store.schedule_documents import stored_calendars, timetable_of
from mainspring.store.schedule_reading import ScheduleLine, list_schedules

FIRES_TOLD = 24
_HOUR = timedelta(hours=1)


class ComingFires(msgspec.Struct, frozen=True):
    """What a schedule does in the hours to come, if nothing changes."""

    schedule: str
    dag: str
    since: datetime
    """The first hour begins here."""
    by_hour: list[int]
    """How many fires each hour has, calendars and limits not counted."""
    fires: list[datetime]
    """The first of them."""


async def list_coming_fires(
    connection: Connection, *, hours: int, after: str, limit: int
) -> tuple[list[ComingFires], str | None]:
    """Of schedules that fire, by name; and the name to go on after, if there are more."""
    lines = await list_schedules(connection, after=after, limit=limit)
    now = await read_clock(connection)
    since = now.replace(minute=0, second=0, microsecond=0)
    firing = [line for line in lines if line.paused_at is None and line.next_fire_at is not None]
    calendars = await stored_calendars(connection, *(line.spec for line in firing))
    timetables: list[tuple[ScheduleLine, Timetable]] = []
    for line in firing:
        # Of one that cannot be computed here, `doctor` tells.
        try:
            timetables.append((line, timetable_of(line.spec, line.name, calendars)))
        except MainspringError:
            continue
    # Beside the loop: that may be thousands of hours to look at.
    found = await asyncio.to_thread(_tell, timetables, now, since, hours)
    return found, lines[-1].name if len(lines) == limit else None


def _tell(
    timetables: Sequence[tuple[ScheduleLine, Timetable]], now: datetime, since: datetime, hours: int
) -> list[ComingFires]:
    return [
        ComingFires(
            line.name,
            line.dag,
            since,
            [
                timetable.count_between(max(now, _before(since, at)), _before(since, at + 1))
                for at in range(hours)
            ],
            [
                fire.at
                for fire in timetable.fires_between(now, _before(since, hours), limit=FIRES_TOLD)
                if fire.excluded is None
            ],
        )
        for line, timetable in timetables
    ]


def _before(since: datetime, hours: int) -> datetime:
    """The last second before this hour begins: a fire on the hour belongs to the hour."""
    return since + hours * _HOUR - timedelta(seconds=1)
