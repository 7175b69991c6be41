"""The words in which people read schedules."""

from __future__ import annotations

from datetime import datetime

from mainspring.schedule.bounds import seconds_of
from mainspring.schedule.firing import Reason
from mainspring.schedule.specs import ScheduleSpec
from mainspring.schedule.zones import zone_named

REASONS = {
    Reason.OVERLAP: "an earlier run was still open",
    Reason.EXCLUSION: "a calendar excludes the day",
    Reason.PAUSE: "the schedule or its dag was paused",
    Reason.MISFIRE: "nobody was there in time",
    Reason.LIMIT: "it had fired as often as it may",
    Reason.REFUSED: "its run could not be made",
}


def local_words(moment: datetime, spec: ScheduleSpec) -> str:
    """An instant as the clock of the schedule's zone shows it."""
    local = zone_named(spec.timezone).local(seconds_of(moment))
    return f"{local:%a %Y-%m-%d %H:%M:%S %Z}"
