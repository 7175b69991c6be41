"""`@dag`: a function that draws a graph by calling tasks."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, Generic, NoReturn, ParamSpec, overload

import msgspec

from mainspring.authoring.defaults import TaskDefaults
from mainspring.authoring.drawing import Drawing, RunParameter
from mainspring.authoring.options import (
    DESCRIPTION_LENGTH_MAX,
    checked_choice,
    checked_line,
    checked_name,
    checked_seconds,
    checked_text,
    first_line,
)
from mainspring.authoring.schedules import Misfire, Overlap, Scheduled, schedules_of
from mainspring.authoring.signatures import annotations_of, signature_of
from mainspring.domain.durations import Duration
from mainspring.domain.errors import DefinitionError, MainspringError
from mainspring.domain.names import NAME_LENGTH_MAX, shown
from mainspring.domain.notices import TOLD_STATES, split_target
from mainspring.domain.parameters import parameter_spec
from mainspring.domain.specs import DagSpec, ParameterSpec

P = ParamSpec("P")

TAGS_MAX = 100
DOC_LENGTH_MAX = 100_000
TARGET_LENGTH_MAX = 2_000


_made: list[tuple[str | None, Dag[Any]]] | None = None


def collect_dags() -> list[tuple[str | None, Dag[Any]]]:
    """From now on every dag that is made goes into this list, with the module that makes it.

    That is the module whose import is under way, whoever calls `@dag` for it. So dags that a loop
    or a function makes are found, though no name of the module leads to them.
    """
    global _made  # noqa: PLW0603
    _made = []
    return _made


def _importing() -> str | None:
    """The module whose top level is being run; None if none is."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            name: str | None = frame.f_globals.get("__name__")
            return name
        frame = frame.f_back
    return None


class Dag(Generic[P]):
    """A named graph of tasks, drawn by a function when `spec` is first asked for."""

    def __init__(
        self, function: Callable[P, Any], options: DagSpec, defaults: TaskDefaults | None = None
    ) -> None:
        self.function = function
        self._options = options
        self._defaults = defaults or TaskDefaults()
        functools.update_wrapper(self, function, updated=())
        if _made is not None:
            _made.append((_importing(), self))

    @property
    def name(self) -> str:
        return self._options.name

    @property
    def spec(self) -> DagSpec:
        """The dag as plain data; draws it, and raises DefinitionError if it cannot be."""
        return self._drawn[0]

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions of its tasks, by entry."""
        return self._drawn[1].functions

    @functools.cached_property
    def _drawn(self) -> tuple[DagSpec, Drawing]:
        drawing = Drawing(self.name, self._defaults.fields)
        parameters = {p.name: RunParameter(drawing, p.name) for p in self._options.parameters}
        draw: Callable[..., Any] = self.function
        with drawing.current():
            draw(**parameters)
        return drawing.finish(self._options), drawing

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> NoReturn:
        raise DefinitionError(
            f"dag {shown(self.name)} cannot be called",
            hint=f"start a run with `mainspring dag trigger {self.name}`",
        )

    def __repr__(self) -> str:
        return f"<dag {self.name}>"


@overload
def dag(function: Callable[P, Any], /) -> Dag[P]: ...


@overload
def dag(
    *,
    name: str | None = None,
    description: str | None = None,
    doc: str | None = None,
    owner: str = "",
    tags: Sequence[str] = (),
    notify: Sequence[str] | Mapping[str, Sequence[str]] = (),
    timeout: Duration | None = None,
    defaults: TaskDefaults | None = None,
    schedule: Scheduled | None = None,
    timezone: str | None = None,
    misfire: Misfire | None = None,
    overlap: Overlap | None = None,
) -> Callable[[Callable[P, Any]], Dag[P]]: ...


def dag(
    function: Callable[P, Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    doc: str | None = None,
    owner: str = "",
    tags: Sequence[str] = (),
    notify: Sequence[str] | Mapping[str, Sequence[str]] = (),
    timeout: Duration | None = None,
    defaults: TaskDefaults | None = None,
    schedule: Scheduled | None = None,
    timezone: str | None = None,
    misfire: Misfire | None = None,
    overlap: Overlap | None = None,
) -> Dag[P] | Callable[[Callable[P, Any]], Dag[P]]:
    """Make a dag of a function: its parameters are the run's, the tasks it calls are the graph.

    `timeout` bounds a whole run; `defaults` are options for each of its tasks. The rest is for
    people, and no part of the graph: `doc` is Markdown, the docstring if it is not given, and
    `description` its first line; `notify` names who is told of runs that failed, such as
    `["webhook:https://…"]`, or of others too: `{"failed": […], "succeeded": ["log"]}`.

    `schedule` says when it runs by itself: a cron line, `"every 90m"`, an instant, an RRULE, or a
    list of these, with `timezone`, `misfire` and `overlap`; or one or several `Schedule`s, which
    have more options and parameters of their own.
    """

    def decorate(function: Callable[P, Any]) -> Dag[P]:
        own_name = getattr(function, "__name__", "")
        hint = 'give it one: `@dag(name="…")`' if name is None else ""
        checked_name("a dag", own_name if name is None else name, hint=hint)
        what = f"dag {shown(name or own_name)}"
        parameters = _parameters(what, function)
        text = (inspect.getdoc(function) or "") if doc is None else doc
        checked_text(f"{what}: `doc`", text, DOC_LENGTH_MAX)
        options = DagSpec(
            name=name or own_name,
            tasks=(),
            parameters=parameters,
            timeout_seconds=None
            if timeout is None
            else checked_seconds(f"{what}: `timeout`", timeout, positive=True),
            description=first_line(text)
            if description is None
            else checked_line(f"{what}: `description`", description, DESCRIPTION_LENGTH_MAX),
            doc=text,
            owner=checked_line(f"{what}: `owner`", owner, NAME_LENGTH_MAX),
            tags=_tags(what, tags),
            notify=_notify(what, notify),
        )
        said = {"timezone": timezone, "misfire": misfire, "overlap": overlap}
        schedules = schedules_of(what, options, schedule, said)
        options = msgspec.structs.replace(options, schedules=schedules)
        return Dag(function, options, _task_defaults(what, defaults))

    return decorate if function is None else decorate(function)


def _parameters(what: str, function: Callable[..., Any]) -> tuple[ParameterSpec, ...]:
    signature = signature_of(function, what, extra=False)
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise DefinitionError(
            f"{what}: its function draws the graph and has to be plain",
            hint="write it with `def` and without `yield`; tasks may be async",
        )
    annotations = annotations_of(function, what)
    return tuple(
        parameter_spec(name, annotations.get(name, Any), parameter.default)
        for name, parameter in signature.parameters.items()
    )


def _task_defaults(what: str, defaults: object) -> TaskDefaults | None:
    if defaults is None or isinstance(defaults, TaskDefaults):
        return defaults
    raise DefinitionError(
        f"{what}: `defaults`: expected `TaskDefaults`, got `{type(defaults).__name__}`",
        hint='write `defaults=TaskDefaults(retries=2, timeout="10m")`',
    )


def _notify(what: str, notify: object) -> tuple[str, ...]:
    """As it is stored: `state notifier:address`. Each notifier is asked about its address."""
    by_state = notify if isinstance(notify, Mapping) else {"failed": notify}
    entries: list[str] = []
    for state, targets in by_state.items():
        checked_choice(f"{what}: `notify`", state, TOLD_STATES)
        if isinstance(targets, str) or not isinstance(targets, (list, tuple)):
            raise DefinitionError(f'{what}: `notify`: expected a list such as ["log"]')
        for target in targets:
            line = checked_line(f"{what}: `notify`", target, TARGET_LENGTH_MAX)
            _check_target(what, line)
            entries.append(f"{state} {line}")
    return tuple(entries)


def _check_target(what: str, target: str) -> None:
    from mainspring.plugins import Kind, load_plugin_named

    name, address = split_target(target)
    try:
        load_plugin_named(Kind.NOTIFIER, name)(address)
    except MainspringError as error:
        raise DefinitionError(f"{what}: `notify`: {error.message}", hint=error.hint) from None


def _tags(what: str, tags: Sequence[str]) -> tuple[str, ...]:
    given: object = tags
    if isinstance(given, str) or not isinstance(given, (list, tuple, set, frozenset)):
        raise DefinitionError(f'{what}: `tags`: expected a list such as ["sales"]')
    if len(given) > TAGS_MAX:
        raise DefinitionError(f"{what}: more than {TAGS_MAX} tags")
    checked = {checked_line(f"{what}: `tags`", tag, NAME_LENGTH_MAX) for tag in given}
    if "" in checked:
        raise DefinitionError(f"{what}: `tags`: one of them is empty")
    return tuple(sorted(checked))
