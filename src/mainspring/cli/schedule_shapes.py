"""What `--json` prints of schedules, and the words in which people read the same."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from mainspring.schedule.bounds import seconds_of
from mainspring.schedule.explaining import explain
from mainspring.schedule.firing import Reason
from mainspring.schedule.specs import ScheduleSpec
from mainspring.schedule.zones import zone_named
from mainspring.store.schedule_reading import FireLine, ScheduleLine, ScheduleVersion

Shape = dict[str, Any]

if TYPE_CHECKING:
    from mainspring.schedule.previewing import PreviewedFire
    from mainspring.schedule.timetable import Timetable

REASONS = {
    Reason.OVERLAP: "an earlier run was still open",
    Reason.EXCLUSION: "a calendar excludes the day",
    Reason.PAUSE: "the schedule or its dag was paused",
    Reason.MISFIRE: "nobody was there in time",
    Reason.LIMIT: "it had fired as often as it may",
    Reason.REFUSED: "its run could not be made",
}


def schedule_line(line: ScheduleLine) -> Shape:
    return {
        "name": line.name,
        "dag": line.dag,
        "state": line.state,
        "words": explain(line.spec, line.name),
        "version": line.version,
        "spec": spec_shape(line.spec),
        "parameters": msgspec.Raw(line.parameters or b"{}"),
        "note": line.note,
        "in_code": line.in_code,
        "pause": line.paused_at
        and {"at": line.paused_at, "by": line.paused_by, "note": line.pause_note},
        "dag_paused": line.dag_paused,
        "next_fire_at": line.next_fire_at,
        "last_fire_at": line.last_fire_at,
        "last_run_id": line.last_run_id,
        "fired": line.fired,
        "failures": line.failures,
        "buffered": line.buffered,
        "created_at": line.created_at,
        "changed_at": line.changed_at,
    }


def spec_shape(spec: ScheduleSpec) -> Shape:
    """All of it, also what has its default."""
    return {
        name: msgspec.to_builtins(getattr(spec, name)) for name in ScheduleSpec.__struct_fields__
    }


def version_line(version: ScheduleVersion, name: str) -> Shape:
    return {
        "version": version.number,
        "words": explain(version.spec, name),
        "spec": spec_shape(version.spec),
        "parameters": msgspec.Raw(version.parameters or b"{}"),
        "changed_by": version.changed_by,
        "in_force_from": version.in_force_from,
        "in_force_until": version.in_force_until,
    }


def ledger_line(fire: FireLine) -> Shape:
    return {
        "fire_at": fire.fire_at,
        "until_at": fire.until_at,
        "count": fire.count,
        "outcome": fire.outcome,
        "reason": fire.reason,
        "run_id": fire.run_id,
        "version": fire.version,
        "decided_at": fire.decided_at,
    }


def next_line(fire: PreviewedFire, timetable: Timetable) -> Shape:
    return {
        "fire_at": fire.fire_at,
        "local": fire.local,
        "start_at": timetable.start_at(fire.fire_at),
        "note": fire.note,
    }


def local_words(moment: datetime, spec: ScheduleSpec) -> str:
    """An instant as the clock of the schedule's zone shows it."""
    local = zone_named(spec.timezone).local(seconds_of(moment))
    return f"{local:%a %Y-%m-%d %H:%M:%S %Z}"
