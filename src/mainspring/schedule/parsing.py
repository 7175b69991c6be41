"""From what an author writes after `schedule=` to a checked spec.

    "0 2 * * *"  "@daily"  "H H * * MON-FRI"     a cron line
    "every 90m"  "every 1h phase 15m"            an interval, perhaps with a phase
    "2026-11-15T08:30:00Z"                       once, at this instant
    "RRULE:FREQ=MONTHLY;BYDAY=-1FR"              a recurrence rule
    "easter:-2 09:00 Europe/Berlin"              what a plug-in knows, by its name
    timedelta(minutes=90), datetime(…)           an interval, an instant
    ["0 9 * * *", "0 17 * * *"]                  several: their union

Options have the names of the spec's fields; those that end in `_seconds` may also be given without
it, as lengths of time: `jitter="5m"`. `overlap="max=3"` is `buffer_all` with three open runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeAlias, get_type_hints

import msgspec

from mainspring.domain.durations import Duration, parse_duration
from mainspring.domain.errors import InputError, InvalidSchedule
from mainspring.domain.names import closest, listed
from mainspring.domain.parameters import what_is_wrong
from mainspring.schedule.specs import (
    CronSpec,
    DatesSpec,
    IntervalSpec,
    OnceSpec,
    PluginSpec,
    RecurrenceSpec,
    ScheduleSpec,
    When,
    check_spec,
)

Written: TypeAlias = str | timedelta | datetime | When
"""One time, as an author may write it."""

NOW = "now"
"""The word for "at once", where whoever stores the schedule knows the time."""

_EVERY = re.compile(r"@?every\s+(.+?)(?:\s+phase\s+(.+))?", re.IGNORECASE)
_INSTANT = re.compile(r"\d{4}-\d\d.*")
_PLUGIN = re.compile(r"([a-z][a-z0-9_-]*):(.*)", re.DOTALL)
_RULE = re.compile(r"(rrule:|dtstart|freq=)", re.IGNORECASE)
_LENGTHS = {
    name.removesuffix("_seconds"): name
    for name in ScheduleSpec.__struct_fields__
    if name.endswith("_seconds")
}


def schedule_from(
    written: Written | ScheduleSpec | Sequence[Written], **options: Any
) -> ScheduleSpec:
    """The spec that is meant, checked; `InvalidSchedule` says what is wrong with it."""
    if isinstance(written, ScheduleSpec):
        spec = _with(written, options)
    else:
        several: Any = written if isinstance(written, (list, tuple)) else [written]
        spec = _with(ScheduleSpec(_together([when_from(each) for each in several])), options)
    check_spec(spec)
    return spec


def when_from(written: Written) -> When:
    """One time."""
    given: object = written  # an author's code need not be typed
    match given:
        case CronSpec() | IntervalSpec() | OnceSpec() | DatesSpec() | RecurrenceSpec():
            return given
        case PluginSpec():
            return given
        case timedelta():
            return interval_from(given)
        case datetime():
            return OnceSpec(given)
        case str():
            text = given.strip()
            if found := _EVERY.fullmatch(text):
                return interval_from(found[1], found[2] or 0)
            if _RULE.match(text):
                return RecurrenceSpec(text)
            if _INSTANT.fullmatch(text):
                return OnceSpec(instant_from(text))
            if found := _PLUGIN.fullmatch(text):
                return PluginSpec(found[1], found[2].strip())
            return CronSpec(text)
        case _:
            raise InvalidSchedule(
                "schedule",
                given,
                f"is of type `{type(given).__name__}`",
                hint="give a cron line, `every 90m`, an instant, an RRULE, or a list of these",
            )


def interval_from(length: Duration, phase: Duration = 0) -> IntervalSpec:
    seconds, shift = _whole_seconds("every", length), _whole_seconds("phase", phase)
    return IntervalSpec(seconds, shift)


def instant_from(text: str, field: str = "at") -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSchedule(
            field, text, "is no instant", hint="write it like `2026-11-15T08:30:00Z`"
        ) from None
    if moment.tzinfo is None:
        raise InvalidSchedule(
            field, text, "has no zone", hint=f"`{moment.isoformat()}Z` if UTC is meant"
        )
    return moment


def _whole_seconds(field: str, length: Duration) -> int:
    if isinstance(length, str) and length.strip().startswith("-"):
        raise InvalidSchedule(field, length, "is negative")
    try:
        seconds = parse_duration(length, what=field)
    except InputError as error:
        raise InvalidSchedule(
            field, length, "is not a length of time that can be", hint=error.hint or error.message
        ) from None
    if field == "every" and seconds < 1:
        raise InvalidSchedule(field, length, "is shorter than 1 s")
    # Sums of decimal fractions, as in "1.1s", are off by less than this.
    if abs(seconds - round(seconds)) > 1e-6:
        raise InvalidSchedule(field, length, "is not a whole number of seconds")
    return round(seconds)


def _together(whens: Sequence[When]) -> tuple[When, ...]:
    """Single instants become one list of dates, in the place of the first."""
    instants = tuple(when.at for when in whens if isinstance(when, OnceSpec))
    if len(instants) < 2:
        return tuple(whens)
    return (DatesSpec(instants), *(when for when in whens if not isinstance(when, OnceSpec)))


def _names(exclude: object) -> tuple[object, ...]:
    if isinstance(exclude, str):
        return (exclude,)
    if not isinstance(exclude, (list, tuple, set, frozenset)):
        raise InvalidSchedule(
            "exclude", exclude, "is no list of calendars", hint='write `exclude=["holidays"]`'
        )
    return tuple(sorted(exclude, key=str) if isinstance(exclude, (set, frozenset)) else exclude)


def _with(spec: ScheduleSpec, options: Mapping[str, Any]) -> ScheduleSpec:
    known = {*ScheduleSpec.__struct_fields__, *_LENGTHS} - {"when"}
    values: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise InvalidSchedule("schedule", name, "is no option", hint=closest(name, known))
        if name in _LENGTHS:
            name = _LENGTHS[name]
            value = None if value is None else _whole_seconds(name.removesuffix("_seconds"), value)
        elif name in ("start", "end") and isinstance(value, str):
            value = instant_from(value, name)
        elif name == "exclude":
            value = _names(value)
        elif name == "overlap" and (found := re.fullmatch(r"max=(\d{1,9})", str(value))):
            value = "buffer_all"
            values["overlap_max"] = int(found[1])
        if name in values:
            raise InvalidSchedule("schedule", name, "is given twice")
        values[name] = value
    try:
        # Decoded rather than assigned, so that `"skip"` becomes the member of its enum.
        return msgspec.convert(
            {**msgspec.structs.asdict(spec), **values}, ScheduleSpec, from_attributes=True
        )
    except msgspec.ValidationError as error:
        raise _misfit(error, values) from None


def _misfit(error: msgspec.ValidationError, values: Mapping[str, Any]) -> InvalidSchedule:
    place, reason = what_is_wrong(error)
    name = place.partition("[")[0]
    kind = get_type_hints(ScheduleSpec).get(name)
    hint = ""
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        reason, hint = "is no choice", f"one of {listed(kind)}"
    return InvalidSchedule(
        name.removesuffix("_seconds"),
        values.get(name),
        reason.replace("expected", "is not"),
        hint=hint,
    )
