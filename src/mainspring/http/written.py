"""A schedule as requests write it."""

from __future__ import annotations

from mainspring.http.models import WrittenSpec
from mainspring.schedule.specs import ScheduleSpec


def written_spec(spec: ScheduleSpec) -> WrittenSpec:
    """The same schedule, all of it said."""
    return WrittenSpec(**{name: getattr(spec, name) for name in ScheduleSpec.__struct_fields__})
