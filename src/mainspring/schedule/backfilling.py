"""The instants of a range of the past, by whichever spec was in force at each of them.

A plan is made once, when a backfill is, and never changes: what somebody does to the schedule or
its calendars later does not concern it. Walking it is stateless: whoever knows the last instant
that was dealt with can go on from there, in either direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, assert_never

import msgspec

from mainspring.domain.states import RunState
from mainspring.schedule.bounds import FIRST_INSTANT, LAST_INSTANT, moment_of, seconds_of
from mainspring.schedule.calendars import Calendar, CalendarSpec
from mainspring.schedule.specs import ScheduleSpec
from mainspring.schedule.timetable import Timetable

INSTANTS_MAX = 1_000_000
"""Of one backfill."""

_SECOND = timedelta(seconds=1)


class Reprocess(StrEnum):
    """Which instants run again that have a run already. One that is open never does."""

    NONE = "none"
    FAILED = "failed"
    """Those whose latest run failed or was cancelled."""
    ALL = "all"


class Outcome(StrEnum):
    """What becomes of an instant."""

    MADE = "made"
    EXISTS = "exists"
    """It has a run, which is enough."""
    EXCLUDED = "excluded"


class ExistingRun(NamedTuple):
    """The latest run of an instant."""

    run_id: int | None
    """None for a fire that waits in the buffer of its schedule."""
    state: str | None
    """None for a run that retention has taken."""


class InForce(NamedTuple):
    """A version of a schedule: after `since`, up to and including `until`."""

    number: int
    spec: ScheduleSpec
    parameters: Mapping[str, Any]
    since: datetime
    until: datetime | None


class Stretch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of the range with one spec; both ends belong to it, in whole seconds."""

    first_at: datetime
    last_at: datetime
    spec: ScheduleSpec
    parameters: dict[str, Any] = {}
    version: int | None = None
    """Of the schedule."""
    before_the_first: bool = False
    """No version was in force yet; the first one stands in."""


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a backfill is to go through."""

    name: str
    """Which `H` is spread by."""
    stretches: tuple[Stretch, ...]
    """In the order of time."""
    calendars: dict[str, CalendarSpec] = {}
    """As they were when it was made."""
    newest_first: bool = False


class PlannedFire(NamedTuple):
    at: datetime
    interval_start: datetime
    stretch: Stretch
    excluded: str | None
    """The calendar that leaves it out."""


def outcome_of(fire: PlannedFire, existing: ExistingRun | None, reprocess: Reprocess) -> Outcome:
    if fire.excluded is not None:
        return Outcome.EXCLUDED
    if existing is None or _runs_again(existing.state, reprocess):
        return Outcome.MADE
    return Outcome.EXISTS


def _runs_again(state: str | None, reprocess: Reprocess) -> bool:
    match reprocess:
        case Reprocess.NONE:
            return False
        case Reprocess.FAILED:
            return state in (RunState.FAILED, RunState.CANCELLED)
        case Reprocess.ALL:
            return state not in (RunState.QUEUED, RunState.RUNNING)
        case _:
            assert_never(reprocess)


def stretches_of(versions: Sequence[InForce], since: datetime, until: datetime) -> list[Stretch]:
    """The range from `since` up to, not including, `until`, cut where versions changed.

    Before the first version that one is used. Where none was in force later, because the schedule
    had been removed, nothing is.
    """
    in_order = sorted(versions, key=lambda version: version.number)
    low, high = _first_second(since), _first_second(until) - 1
    stretches: list[Stretch] = []
    for version in in_order:
        begins = seconds_of(version.since) + 1
        ends = LAST_INSTANT if version.until is None else seconds_of(version.until)
        if version is in_order[0] and low < begins:
            _add(stretches, version, low, min(high, begins - 1), before_the_first=True)
        _add(stretches, version, max(low, begins), min(high, ends))
    return stretches


def stretch_of(spec: ScheduleSpec, since: datetime, until: datetime) -> list[Stretch]:
    """The same of a spec that is no schedule's."""
    low, high = _first_second(since), _first_second(until) - 1
    return [Stretch(moment_of(low), moment_of(high), spec)] if low <= high else []


def _add(
    stretches: list[Stretch],
    version: InForce,
    low: int,
    high: int,
    *,
    before_the_first: bool = False,
) -> None:
    if low <= high:
        stretches.append(
            Stretch(
                moment_of(low),
                moment_of(high),
                version.spec,
                dict(version.parameters),
                version.number,
                before_the_first,
            )
        )


def _first_second(moment: datetime) -> int:
    """The first whole second that is not before this instant, within the years that we know."""
    found = seconds_of(moment) + (1 if moment.microsecond else 0)
    return min(max(found, FIRST_INSTANT), LAST_INSTANT + 1)


class Walk:
    """A plan that can be counted, and walked from any of its instants on."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        calendars = {name: Calendar(spec) for name, spec in plan.calendars.items()}
        self._parts = [
            (stretch, Timetable(stretch.spec, plan.name, calendars)) for stretch in plan.stretches
        ]

    def count(self, at_most: int | None = None) -> int:
        """How many instants there are, left out or not.

        With `at_most`, a number above it may be too low: counting stops when it is passed.
        """
        found = 0
        for stretch, timetable in self._parts:
            after, last_at = stretch.first_at - _SECOND, stretch.last_at
            if at_most is not None and len(stretch.spec.when) > 1:
                # Several sources are counted instant by instant: not if one of them is too many.
                most = max(
                    Timetable(
                        msgspec.structs.replace(stretch.spec, when=(when,), exclude=()),
                        self.plan.name,
                    ).count_between(after, last_at)
                    for when in stretch.spec.when
                )
                if found + most > at_most:
                    found += most
                    continue
            found += timetable.count_between(after, last_at)
        return found

    def after(self, cursor: datetime | None, limit: int) -> list[PlannedFire]:
        """The next instants in the plan's order, after the one that was dealt with last."""
        fires: list[PlannedFire] = []
        walk = self._backward if self.plan.newest_first else self._forward
        for fire in walk(cursor):
            if len(fires) == limit:
                break
            fires.append(fire)
        return fires

    def _forward(self, cursor: datetime | None) -> Iterator[PlannedFire]:
        for stretch, timetable in self._parts:
            at = stretch.first_at - _SECOND
            if cursor is not None and cursor > at:
                at = cursor
            while (fire := timetable.next_fire(at)) is not None and fire.at <= stretch.last_at:
                yield _planned(stretch, timetable, fire.at, fire.excluded)
                at = fire.at

    def _backward(self, cursor: datetime | None) -> Iterator[PlannedFire]:
        for stretch, timetable in reversed(self._parts):
            at = stretch.last_at
            if cursor is not None and cursor <= at:
                at = cursor - _SECOND
            while (fire := timetable.last_fire(at)) is not None and fire.at >= stretch.first_at:
                yield _planned(stretch, timetable, fire.at, fire.excluded)
                at = fire.at - _SECOND


def _planned(
    stretch: Stretch, timetable: Timetable, at: datetime, excluded: str | None
) -> PlannedFire:
    interval_start, _ = timetable.data_interval(at)
    return PlannedFire(at, interval_start, stretch, excluded)
