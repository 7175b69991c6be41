"""What a schedule is, as plain data: JSON in and JSON out, stored with the dag it fires.

A schedule fires at *nominal instants*, which `timetable.py` computes from `when` and the zone
alone. Everything else here says what becomes of a fire: which are left out, when its run starts,
what it does while earlier ones are open, and what happens to those that nobody was there to see.
The engine counts `limit`, because only it knows what has fired.

`check_spec` is the gate: what passes it can be compiled, and has at least one instant or a window
that says why not.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from mainspring.domain.errors import InvalidSchedule
from mainspring.domain.names import closest, name_problem
from mainspring.domain.specs import Spec
from mainspring.schedule.bounds import FIRST_INSTANT, LAST_INSTANT, seconds_of
from mainspring.schedule.cron import cron_pattern
from mainspring.schedule.plugged import Plugged
from mainspring.schedule.zones import zone_named

WHEN_MAX = 100
DATES_MAX = 1000
SECONDS_MAX = 100 * 366 * 86_400
"""A hundred years, the longest of all lengths of time here."""
COUNT_MAX = 1_000_000_000


class CronSpec(Spec, frozen=True, tag="cron"):
    """A cron line of 5 or 6 fields, or `@daily` and friends; see `cron_fields.py`."""

    expression: str


class IntervalSpec(Spec, frozen=True, tag="every"):
    """Every so many seconds of elapsed time, counted from 1970 in UTC plus the phase."""

    seconds: int
    phase_seconds: int = 0


class OnceSpec(Spec, frozen=True, tag="once"):
    """One instant."""

    at: datetime

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "at", _in_utc(self.at))


class DatesSpec(Spec, frozen=True, tag="dates"):
    """These instants, in any order."""

    at: tuple[datetime, ...]

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "at", tuple(_in_utc(moment) for moment in self.at))


class RecurrenceSpec(Spec, frozen=True, tag="rrule"):
    """An RFC 5545 rule, with a `DTSTART` line before it if it needs one; see `recurrence.py`."""

    rule: str


class PluginSpec(Spec, frozen=True, tag="plugin"):
    """The instants that a plug-in knows; see `plugged.py`."""

    name: str
    address: str = ""


When = CronSpec | IntervalSpec | OnceSpec | DatesSpec | RecurrenceSpec | PluginSpec


class DstGap(StrEnum):
    """What becomes of a time that a change of clocks leaves out."""

    RUN_AFTER_GAP = "run_after_gap"
    SKIP = "skip"


class DstFold(StrEnum):
    """What becomes of a time that a change of clocks repeats."""

    FIRST = "first"
    LAST = "last"
    BOTH = "both"


class Overlap(StrEnum):
    """What a fire does while runs of earlier ones are open."""

    ALLOW_ALL = "allow_all"
    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    BUFFER_ALL = "buffer_all"
    CANCEL_OTHER = "cancel_other"
    TERMINATE_OTHER = "terminate_other"


class Misfire(StrEnum):
    """What becomes of fires whose time went by while no engine ran."""

    ALL = "all"
    LAST = "last"
    NONE = "none"
    FROM_NOW = "from_now"


class ScheduleSpec(Spec, frozen=True):
    """When, and how."""

    when: tuple[When, ...]
    """One or several; instants that coincide are one fire."""
    timezone: str = "UTC"
    dst_gap: DstGap = DstGap.RUN_AFTER_GAP
    dst_fold: DstFold = DstFold.FIRST
    exclude: tuple[str, ...] = ()
    """Names of calendars whose days are left out."""
    start: datetime | None = None
    """No fire before."""
    end: datetime | None = None
    """No fire at this instant or after."""
    jitter_seconds: int = 0
    """How much later than nominal a run may start, by a hash of schedule and fire."""
    interval_seconds: int | None = None
    """Length of the data interval before a fire; without it, since the previous nominal fire."""
    overlap: Overlap = Overlap.ALLOW_ALL
    overlap_max: int | None = None
    """How many open runs there may be, with `skip` and `buffer_all`; 1 if not given."""
    misfire: Misfire = Misfire.LAST
    grace_seconds: int = 60
    """A fire that is later than this has been missed."""
    max_age_seconds: int | None = None
    """Missed fires that are older are let go."""
    max_count: int | None = None
    """At most so many missed fires are made up for."""
    limit: int | None = None
    """Fires at most this many times."""
    pause_after_failures: int | None = None

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            moment = getattr(self, name)
            if moment is not None:
                msgspec.structs.force_setattr(self, name, _in_utc(moment))


def check_spec(spec: ScheduleSpec, calendars: Collection[str] | None = None) -> None:
    """Raise `InvalidSchedule` for what cannot be; `calendars` are the names that there are."""
    _check_types(spec)
    zone_named(spec.timezone)
    if not spec.when:
        raise InvalidSchedule("when", "()", "is empty", hint="give at least one time")
    if len(spec.when) > WHEN_MAX:
        raise InvalidSchedule("when", f"{len(spec.when)} entries", f"are more than {WHEN_MAX}")
    for when in spec.when:
        _check_when(when, spec.timezone)
    _check_window(spec)
    _check_numbers(spec)
    _check_exclude(spec, calendars)


def _check_types(spec: ScheduleSpec) -> None:
    """Code need not be typed; decoding what it would be stored as finds what is not."""
    try:
        msgspec.json.decode(msgspec.json.encode(spec), type=ScheduleSpec)
    except (msgspec.MsgspecError, TypeError, OverflowError, ValueError) as error:
        raise InvalidSchedule("schedule", repr(spec), f"cannot be stored: {error}") from None


def _check_when(when: When, timezone: str) -> None:
    match when:
        case CronSpec(expression=expression):
            # `H` chooses by name, but never what is possible for some names only.
            cron_pattern(expression, "")
        case IntervalSpec(seconds=seconds, phase_seconds=phase):
            if seconds < 0:
                raise InvalidSchedule("every", f"{seconds} s", "is negative")
            if seconds < 1:
                raise InvalidSchedule("every", f"{seconds} s", "is shorter than 1 s")
            if seconds > SECONDS_MAX:
                raise InvalidSchedule("every", f"{seconds} s", "is longer than a hundred years")
            if not 0 <= phase < seconds:
                raise InvalidSchedule(
                    "phase", f"{phase} s", f"is not from 0 up to the interval of {seconds} s"
                )
        case OnceSpec(at=at):
            _check_moment("at", at)
        case DatesSpec(at=several):
            if not several:
                raise InvalidSchedule("dates", "()", "is empty", hint="give at least one instant")
            if len(several) > DATES_MAX:
                raise InvalidSchedule(
                    "dates",
                    f"{len(several):,} dates",
                    f"are more than {DATES_MAX:,}",
                    hint="say them by a rule, or start runs with `--at`",
                )
            for at in several:
                _check_moment("dates", at)
        case RecurrenceSpec(rule=rule):
            from mainspring.schedule.recurrence import recurrence

            recurrence(rule, timezone)
        case PluginSpec(name=name, address=address):
            if Plugged(name, address).next(FIRST_INSTANT) > LAST_INSTANT:
                raise InvalidSchedule(name, address, "never comes in the years 1970 to 2099")


def _check_moment(field: str, moment: datetime) -> None:
    if moment.tzinfo is None:
        raise InvalidSchedule(
            field, moment.isoformat(), "has no zone", hint="write it like `2026-11-15T08:30:00Z`"
        )
    if not FIRST_INSTANT <= seconds_of(moment) <= LAST_INSTANT:
        raise InvalidSchedule(field, moment.isoformat(), "is not in the years 1970 to 2099")
    if moment.microsecond:
        raise InvalidSchedule(field, moment.isoformat(), "is not a whole second")


def _check_window(spec: ScheduleSpec) -> None:
    if spec.start is not None:
        _check_moment("start", spec.start)
    if spec.end is not None:
        _check_moment("end", spec.end)
    if spec.start is not None and spec.end is not None and spec.end <= spec.start:
        reason = "is before the start" if spec.end < spec.start else "is the start"
        raise InvalidSchedule(
            "end",
            spec.end.isoformat(),
            f"{reason}, {spec.start.isoformat()}",
            hint="a window has to end after it starts",
        )


def _check_numbers(spec: ScheduleSpec) -> None:
    for field, low, high in (
        ("jitter_seconds", 0, SECONDS_MAX),
        ("interval_seconds", 1, SECONDS_MAX),
        ("grace_seconds", 0, SECONDS_MAX),
        ("max_age_seconds", 0, SECONDS_MAX),
        ("overlap_max", 1, COUNT_MAX),
        ("max_count", 0, COUNT_MAX),
        ("limit", 1, COUNT_MAX),
        ("pause_after_failures", 1, COUNT_MAX),
    ):
        value = getattr(spec, field)
        if value is not None and not low <= value <= high:
            raise InvalidSchedule(field, value, f"is not from {low} to {high:,}")
    if spec.overlap_max is not None and spec.overlap not in (Overlap.SKIP, Overlap.BUFFER_ALL):
        raise InvalidSchedule(
            "overlap_max",
            spec.overlap_max,
            f"means nothing with overlap `{spec.overlap}`",
            hint="it goes with `skip` and `buffer_all`",
        )


def _check_exclude(spec: ScheduleSpec, calendars: Collection[str] | None) -> None:
    for name in spec.exclude:
        if problem := name_problem(name):
            raise InvalidSchedule("exclude", name, problem)
        if spec.exclude.count(name) > 1:
            raise InvalidSchedule("exclude", name, "is named twice")
        if calendars is not None and name not in calendars:
            raise InvalidSchedule(
                "exclude", name, "is not a calendar", hint=closest(name, sorted(calendars))
            )


def _in_utc(moment: datetime) -> datetime:
    """The same instant; what has no zone is left for `check_spec` to complain about."""
    given: object = moment  # an author's code need not be typed
    if not isinstance(given, datetime) or given.tzinfo is None:
        return moment
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return moment.replace(tzinfo=UTC)
