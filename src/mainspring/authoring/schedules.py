"""`Schedule`: when a dag runs by itself, as its author writes it next to the dag.

    @dag(schedule="0 2 * * *", timezone="Europe/Berlin")                 one, with common options
    @dag(schedule=Schedule("0 2 * * *", jitter="5m", limit=10))          one, with any option
    @dag(schedule=[Schedule("0 2 * * *", name="night", parameters={…}),  several
                   Schedule("0 * * * *", name="hourly")])

A schedule is checked where it is written, and against its dag when that is made: what is stored
could fire. Only the names of calendars are left for the engine, which knows what there is. The
engine puts what it finds in the folder of dags; see `store/code_schedules.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from mainspring.authoring.options import checked_name, checked_text
from mainspring.domain.durations import Duration
from mainspring.domain.errors import DefinitionError, InputError, PluginError
from mainspring.domain.names import NAME_LENGTH_MAX, shown
from mainspring.domain.parameters import ParameterCheck
from mainspring.domain.specs import DagSpec, ScheduleInCode

if TYPE_CHECKING:
    from mainspring.schedule.specs import ScheduleSpec

SCHEDULES_MAX = 100
NOTE_LENGTH_MAX = 1_000

Times: TypeAlias = str | timedelta | datetime
"""A cron line, `every 90m`, an instant, an RRULE, a length of time."""
Moment: TypeAlias = str | datetime
Overlap: TypeAlias = (
    Literal["allow_all", "skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other"]
    | str
)
Misfire: TypeAlias = Literal["all", "last", "none", "from_now"]


class Schedule:
    """When a dag runs by itself, and what becomes of fires that overlap or were missed.

    >>> Schedule("30 2 * * *", name="night", timezone="Europe/Berlin", jitter="5m")
    <schedule night: every day at 02:30 (Europe/Berlin), up to 5 min later>

    `when` is a cron line, `"every 90m"`, an instant, an RRULE, what a plug-in knows by its name, a
    `timedelta` or `datetime`, or a list of these, whose union is meant. `parameters` are those of
    its runs; the dag's defaults stand for what they leave out. Of several schedules of a dag at
    most one has no `name`.
    """

    __slots__ = ("name", "note", "parameters", "spec")

    def __init__(
        self,
        when: Times | Sequence[Times],
        /,
        *,
        name: str | None = None,
        timezone: str = "UTC",
        dst_gap: Literal["run_after_gap", "skip"] = "run_after_gap",
        dst_fold: Literal["first", "last", "both"] = "first",
        exclude: str | Sequence[str] = (),
        start: Moment | None = None,
        end: Moment | None = None,
        jitter: Duration = 0,
        interval: Duration | None = None,
        overlap: Overlap = "allow_all",
        overlap_max: int | None = None,
        misfire: Misfire = "last",
        grace: Duration = 60,
        max_age: Duration | None = None,
        max_count: int | None = None,
        limit: int | None = None,
        pause_after_failures: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        note: str = "",
    ) -> None:
        if name is not None:
            checked_name("a schedule", name)
        what = "`Schedule`" if name is None else f"schedule {shown(name)}"
        options: dict[str, Any] = {
            "timezone": timezone,
            "dst_gap": dst_gap,
            "dst_fold": dst_fold,
            "exclude": exclude,
            "start": start,
            "end": end,
            "jitter": jitter,
            "interval": interval,
            "overlap": overlap,
            "misfire": misfire,
            "grace": grace,
            "max_age": max_age,
            "max_count": max_count,
            "limit": limit,
            "pause_after_failures": pause_after_failures,
        }
        if overlap_max is not None:  # else `overlap="max=3"` would say it twice
            options["overlap_max"] = overlap_max
        self.name = name
        self.spec = _checked_spec(what, when, options)
        self.parameters = _checked_mapping(what, parameters)
        self.note = checked_text(f"{what}: `note`", note, NOTE_LENGTH_MAX)

    def __repr__(self) -> str:
        from mainspring.schedule.explaining import explain

        name = "schedule" if self.name is None else f"schedule {self.name}"
        return f"<{name}: {explain(self.spec, self.name or '')}>"


Scheduled: TypeAlias = Times | Schedule | Sequence[Times] | Sequence[Schedule]
"""What `@dag(schedule=…)` takes."""


def schedules_of(
    what: str, dag: DagSpec, schedule: Scheduled | None, options: Mapping[str, Any]
) -> tuple[ScheduleInCode, ...]:
    """The schedules that a dag is given; `options` are those of `@dag` itself, None if not said."""
    said = {name: value for name, value in options.items() if value is not None}
    if schedule is None:
        for name in said:
            raise DefinitionError(
                f"{what}: `{name}` says something of a schedule, and there is none",
                hint='give it one: `schedule="0 2 * * *"`',
            )
        return ()
    check = ParameterCheck(dag)
    found: dict[str, ScheduleInCode] = {}
    for each in _listed(what, schedule, said):
        stored = _in_code(what, dag.name, each, check)
        if stored.name in found:
            raise DefinitionError(
                f"{what}: two of its schedules have "
                + ("no name" if each.name is None else f"the name {shown(each.name)}"),
                hint='give each a name of its own: `Schedule("0 2 * * *", name="night")`',
            )
        found[stored.name] = stored
    return tuple(found[name] for name in sorted(found))


def _listed(what: str, schedule: object, said: Mapping[str, Any]) -> list[Schedule]:
    several = list(schedule) if isinstance(schedule, (list, tuple)) else [schedule]
    if not several:
        raise DefinitionError(f"{what}: `schedule` is an empty list", hint="leave it out")
    ready = [each for each in several if isinstance(each, Schedule)]
    if not ready:
        return [_plain(what, schedule, said)]
    if len(ready) < len(several):
        raise DefinitionError(
            f"{what}: `schedule` holds schedules and bare times",
            hint='write all of them like `Schedule("0 2 * * *", name="night")`',
        )
    for name in said:
        raise DefinitionError(
            f"{what}: `{name}` is given to the dag and not to its schedule",
            hint=f"write it inside: `Schedule(…, {name}=…)`",
        )
    if len(ready) > SCHEDULES_MAX:
        raise DefinitionError(f"{what}: more than {SCHEDULES_MAX} schedules")
    return ready


def _plain(what: str, when: Any, said: Mapping[str, Any]) -> Schedule:
    try:
        return Schedule(when, **said)
    except DefinitionError as error:
        message = error.message.removeprefix("`Schedule`: ")
        raise DefinitionError(f"{what}: {message}", hint=error.hint) from None


def _in_code(what: str, dag: str, given: Schedule, check: ParameterCheck) -> ScheduleInCode:
    name = dag if given.name is None else f"{dag}.{given.name}"
    if len(name) > NAME_LENGTH_MAX:
        raise DefinitionError(
            f"{what}: with it, the name of its schedule {shown(given.name)} is longer than"
            f" {NAME_LENGTH_MAX} characters"
        )
    try:
        check.encode(given.parameters)
    except InputError as error:
        own = "" if given.name is None else f" {shown(given.name)}"
        hint = error.hint or "give them: `Schedule(…, parameters={…})`"
        raise DefinitionError(f"{what}: its schedule{own}: {error.message}", hint=hint) from None
    return ScheduleInCode(
        name=name,
        spec=msgspec.to_builtins(given.spec),
        # What `check` took is JSON.
        parameters=msgspec.json.decode(msgspec.json.encode(given.parameters)),
        note=given.note,
    )


def _checked_spec(what: str, when: Any, options: dict[str, Any]) -> ScheduleSpec:
    # Only now: importing us is to be quick, and most dags have no schedule. The plug-ins, too, as
    # some of them bring times.
    import mainspring.plugins  # noqa: F401
    from mainspring.schedule.parsing import schedule_from

    try:
        return schedule_from(when, **options)
    except (InputError, PluginError) as error:
        raise DefinitionError(f"{what}: {error.message}", hint=error.hint) from None


def _checked_mapping(what: str, parameters: object) -> Mapping[str, Any]:
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise DefinitionError(
            f"{what}: `parameters`: expected a mapping of names to values, got"
            f" `{type(parameters).__name__}`"
        )
    return dict(parameters)
