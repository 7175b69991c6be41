"""What programs are told of schedules, by `--json` and by the server; `shapes.py` has the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from mainspring.domain.states import RunState
from mainspring.schedule.differing import FireDifference, OptionDifference, ScheduleDifference
from mainspring.schedule.explaining import explain
from mainspring.schedule.firing import REASONS
from mainspring.schedule.previewing import PreviewedFire
from mainspring.schedule.specs import ScheduleSpec
from mainspring.schedule.timetable import Timetable
from mainspring.store.pauses import Pause
from mainspring.store.schedule_reading import (
    FireLine,
    ScheduleLine,
    ScheduleState,
    ScheduleVersion,
    SkippedLine,
)
from mainspring.store.shapes import Shape


class WholeSpec(ScheduleSpec, frozen=True, omit_defaults=False):
    """When, and how: all of it, also what has its default."""


class Schedule(Shape, frozen=True, kw_only=True):
    """A schedule, and when it fires next."""

    name: str
    dag: str
    state: ScheduleState
    words: str
    version: int
    spec: WholeSpec
    parameters: msgspec.Raw
    note: str
    in_code: bool
    pause: Pause | None
    dag_paused: bool
    next_fire_at: datetime | None
    cursor_at: datetime
    """Fires up to here are decided, and counted in `fired`."""
    last_fire_at: datetime | None
    last_run_id: int | None
    last_run_state: RunState | None
    """In a list; null where nobody looked, or history has let go of the run."""
    fired: int
    failures: int
    buffered: int
    created_at: datetime
    changed_at: datetime


class ScheduleChange(Schedule, frozen=True, kw_only=True):
    """A schedule after what was asked; `changed` tells whether it was otherwise before."""

    changed: bool


class ScheduleRemoved(Shape, frozen=True, kw_only=True):
    """A schedule that is no more."""

    name: str
    removed: bool


class NextFire(Shape, frozen=True, kw_only=True):
    """A fire that is to come."""

    fire_at: datetime
    local: datetime
    start_at: datetime
    note: str | None


class PreviewFire(Shape, frozen=True, kw_only=True):
    """A fire as a spec would have it; the note tells what a clock or a calendar did to it."""

    fire_at: datetime
    local: datetime
    note: str | None


class LedgerEntry(Shape, frozen=True, kw_only=True):
    """What became of a fire, or of a range of fires that were skipped."""

    fire_at: datetime
    until_at: datetime
    count: int
    outcome: str
    reason: str | None
    run_id: int | None
    version: int
    decided_at: datetime


class SkippedFires(Shape, frozen=True, kw_only=True):
    """Fires of a schedule that made no run, from `fire_at` to `until_at`, all for one reason."""

    schedule: str
    dag: str
    gone: bool
    fire_at: datetime
    until_at: datetime
    count: int
    reason: str
    text: str
    decided_at: datetime


class VersionOfSchedule(Shape, frozen=True, kw_only=True):
    """A schedule as it was, or is, and in force from when until when."""

    version: int
    words: str
    spec: WholeSpec
    parameters: msgspec.Raw
    changed_by: str
    in_force_from: datetime
    in_force_until: datetime | None


class ScheduleDocument(Schedule, frozen=True, kw_only=True):
    """A schedule with its next fires, its ledger and its versions."""

    problems: list[str]
    next_fires: list[NextFire]
    fires: list[LedgerEntry]
    open_runs: list[int]
    versions: list[VersionOfSchedule]


class DagBeforeAfter(Shape, frozen=True, kw_only=True):
    before: str | None
    after: str


class ParametersBeforeAfter(Shape, frozen=True, kw_only=True):
    before: dict[str, Any] | None
    after: dict[str, Any]


class ScheduleDiff(Shape, frozen=True, kw_only=True):
    """What a change would add, remove and move; version 0 and null before: there is none yet."""

    name: str
    version: int
    before: str | None
    after: str
    options: list[OptionDifference]
    dag: DagBeforeAfter
    parameters: ParametersBeforeAfter
    since: datetime
    until: datetime
    complete: bool
    unchanged: int
    fires: list[FireDifference]


def schedule_line(line: ScheduleLine, states: Mapping[int, RunState] | None = None) -> Schedule:
    """`states` are those of runs that history still has."""
    last = None if line.last_run_id is None else (states or {}).get(line.last_run_id)
    return Schedule(**_fields(line) | {"last_run_state": last})


def schedule_change(line: ScheduleLine, *, changed: bool) -> ScheduleChange:
    return ScheduleChange(**_fields(line), changed=changed)


def schedule_removed(name: str) -> ScheduleRemoved:
    return ScheduleRemoved(name=name, removed=True)


def schedule_document(
    line: ScheduleLine,
    problems: Sequence[str],
    coming: Sequence[NextFire],
    fires: Sequence[FireLine],
    open_runs: Sequence[int],
    versions: Sequence[ScheduleVersion],
) -> ScheduleDocument:
    return ScheduleDocument(
        **_fields(line),
        problems=list(problems),
        next_fires=list(coming),
        fires=[ledger_entry(fire) for fire in fires],
        open_runs=list(open_runs),
        versions=[version_line(version, line.name) for version in versions],
    )


def _fields(line: ScheduleLine) -> dict[str, Any]:
    pause = None
    if line.paused_at is not None:
        pause = Pause(line.paused_at, line.paused_by, line.pause_note)
    return {
        "name": line.name,
        "dag": line.dag,
        "state": line.state,
        "words": explain(line.spec, line.name),
        "version": line.version,
        "spec": whole_spec(line.spec),
        "parameters": msgspec.Raw(line.parameters or b"{}"),
        "note": line.note,
        "in_code": line.in_code,
        "pause": pause,
        "dag_paused": line.dag_paused,
        "next_fire_at": line.next_fire_at,
        "cursor_at": line.cursor_at,
        "last_fire_at": line.last_fire_at,
        "last_run_id": line.last_run_id,
        "last_run_state": None,
        "fired": line.fired,
        "failures": line.failures,
        "buffered": line.buffered,
        "created_at": line.created_at,
        "changed_at": line.changed_at,
    }


def whole_spec(spec: ScheduleSpec) -> WholeSpec:
    return WholeSpec(**msgspec.structs.asdict(spec))


def version_line(version: ScheduleVersion, name: str) -> VersionOfSchedule:
    return VersionOfSchedule(
        version=version.number,
        words=explain(version.spec, name),
        spec=whole_spec(version.spec),
        parameters=msgspec.Raw(version.parameters or b"{}"),
        changed_by=version.changed_by,
        in_force_from=version.in_force_from,
        in_force_until=version.in_force_until,
    )


def ledger_entry(fire: FireLine) -> LedgerEntry:
    return LedgerEntry(
        fire_at=fire.fire_at,
        until_at=fire.until_at,
        count=fire.count,
        outcome=fire.outcome,
        reason=fire.reason,
        run_id=fire.run_id,
        version=fire.version,
        decided_at=fire.decided_at,
    )


def skipped_fires(line: SkippedLine) -> SkippedFires:
    return SkippedFires(
        schedule=line.schedule,
        dag=line.dag,
        gone=line.gone,
        fire_at=line.fire_at,
        until_at=line.until_at,
        count=line.count,
        reason=line.reason,
        text=REASONS[line.reason],
        decided_at=line.decided_at,
    )


def next_fire(fire: PreviewedFire, timetable: Timetable) -> NextFire:
    return NextFire(
        fire_at=fire.fire_at,
        local=fire.local,
        start_at=timetable.start_at(fire.fire_at),
        note=fire.note,
    )


def preview_fire(fire: PreviewedFire) -> PreviewFire:
    return PreviewFire(fire_at=fire.fire_at, local=fire.local, note=fire.note)


def schedule_diff(
    name: str,
    line: ScheduleLine | None,
    spec: ScheduleSpec,
    dag: str,
    parameters: Mapping[str, Any],
    options: Sequence[OptionDifference],
    found: ScheduleDifference,
) -> ScheduleDiff:
    return ScheduleDiff(
        name=name,
        version=0 if line is None else line.version,
        before=None if line is None else explain(line.spec, name),
        after=explain(spec, name),
        options=list(options),
        dag=DagBeforeAfter(before=None if line is None else line.dag, after=dag),
        parameters=ParametersBeforeAfter(before=parameters_of(line), after=dict(parameters)),
        since=found.since,
        until=found.until,
        complete=found.complete,
        unchanged=found.unchanged,
        fires=found.fires,
    )


def parameters_of(line: ScheduleLine | None) -> dict[str, Any] | None:
    if line is None:
        return None
    given: dict[str, Any] = msgspec.json.decode(line.parameters or b"{}")
    return given
