"""The next fires of a schedule for a person: local time, and what is odd about each."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from mainspring.schedule.bounds import LAST_INSTANT, moment_of, seconds_of
from mainspring.schedule.timetable import Fire, Timetable
from mainspring.schedule.zoned import ZonedSource

_PASSES = {
    "first": "the clock shows this time twice; this is the first",
    "last": "the clock shows this time twice; this is the second",
}


class PreviewedFire(NamedTuple):
    fire_at: datetime
    """In UTC."""
    local: datetime
    """The same instant in the schedule's zone."""
    note: str | None
    """What the clock or a calendar did to it."""


def preview(
    timetable: Timetable, after: datetime, count: int, until: datetime | None = None
) -> list[PreviewedFire]:
    """At most `count` fires after this instant, up to and including `until`."""
    last = until if until is not None else moment_of(LAST_INSTANT)
    fires, since = [], after
    for fire in timetable.fires_between(after, last, limit=count):
        local = timetable.zone.local(seconds_of(fire.at))
        fires.append(PreviewedFire(fire.at, local, note_of(timetable, fire, since)))
        since = fire.at
    return fires


def note_of(timetable: Timetable, fire: Fire, since: datetime) -> str | None:
    """What is odd about a fire, and about the time after `since` in which there was none."""
    notes = _clock_notes(timetable, seconds_of(since) + 1, seconds_of(fire.at))
    if fire.excluded is not None:
        notes.append(f"excluded by `{fire.excluded}`")
    return "; ".join(notes) or None


def _clock_notes(timetable: Timetable, since: int, instant: int) -> list[str]:
    notes: dict[str, None] = {}
    for source in timetable.sources:
        if not isinstance(source, ZonedSource):
            continue
        for wall in source.skipped_between(since, instant):
            notes[f"{_shown(wall)} was skipped: the clock leaves it out"] = None
        moved_from = source.moved_from(instant)
        if moved_from is not None:
            notes[f"moved out of a gap: the clock leaves out {_shown(moved_from)}"] = None
    if again := timetable.zone.repeated(instant):
        notes[_PASSES[again]] = None
    return list(notes)


def _shown(wall: int) -> str:
    """What the clock would show."""
    moment = moment_of(wall)
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment.second else f"{moment:%Y-%m-%d %H:%M}"
