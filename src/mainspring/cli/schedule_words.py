"""The words in which people read schedules."""

from __future__ import annotations

from datetime import datetime

from mainspring.schedule.bounds import seconds_of
from mainspring.schedule.specs import ScheduleSpec
from mainspring.schedule.zones import zone_named


def local_words(moment: datetime, spec: ScheduleSpec) -> str:
    """An instant as the clock of the schedule's zone shows it."""
    local = zone_named(spec.timezone).local(seconds_of(moment))
    return f"{local:%a %Y-%m-%d %H:%M:%S %Z}"
