"""The fire that a run in memory is for: what `fire_at`, `schedule` and `data_interval` mean.

For `dag test` and `mainspring.testing`. Where there is a database, the engine knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

import mainspring.plugins  # noqa: F401 (some bring times)
from mainspring.authoring.context import RunFire
from mainspring.domain.errors import InputError
from mainspring.domain.names import closest, listed, shown
from mainspring.domain.specs import DagSpec, ScheduleInCode
from mainspring.schedule.specs import ScheduleSpec
from mainspring.schedule.timetable import Timetable


def fire_of(
    dag: DagSpec,
    fire_at: datetime | None,
    schedule: str | None,
    data_interval: tuple[datetime, datetime] | None,
) -> tuple[RunFire | None, Mapping[str, Any]]:
    """What the run is told, and the parameters that its schedule gives."""
    if fire_at is None:
        for option, given in (("schedule", schedule), ("data_interval", data_interval)):
            if given is not None:
                raise InputError(
                    f"`{option}` belongs to a fire, and there is none", hint="give `fire_at`, too"
                )
        return None, {}
    at = instant("fire_at", fire_at)
    found = _schedule(dag, schedule)
    start = at
    if data_interval is not None:
        start, end = (instant("data_interval", moment) for moment in data_interval)
        if end != at or start > end:
            raise InputError(
                "`data_interval` does not end with the fire",
                hint="a data interval goes from its start to `fire_at`",
            )
    elif found is not None:
        spec = msgspec.convert(found.spec, ScheduleSpec)
        # Which days are left out changes no interval, and only a database knows the calendars.
        timetable = Timetable(msgspec.structs.replace(spec, exclude=()), found.name)
        start, _ = timetable.data_interval(at)
    if found is None:
        return RunFire(None, at, start), {}
    return RunFire(found.name, at, start), found.parameters


def instant(option: str, moment: datetime) -> datetime:
    """In UTC."""
    if moment.tzinfo is None:
        raise InputError(
            f"`{option}`: {moment} has no time zone", hint="write `datetime(…, tzinfo=UTC)`"
        )
    return moment.astimezone(UTC)


def _schedule(dag: DagSpec, name: str | None) -> ScheduleInCode | None:
    """The one that is meant: by its name, with or without that of its dag, or the only one."""
    by_name = {each.name: each for each in dag.schedules}
    if name is None:
        if len(by_name) > 1:
            raise InputError(
                f"dag {shown(dag.name)} has several schedules: {listed(by_name)}",
                hint="say whose fire it is: `schedule=…`",
            )
        return next(iter(by_name.values()), None)
    found = by_name.get(f"{dag.name}.{name}") or by_name.get(name)
    if found is None:
        raise InputError(
            f"dag {shown(dag.name)} has no schedule {shown(name)}", hint=closest(name, by_name)
        )
    return found
