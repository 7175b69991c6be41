"""`context()`: what a task may know of the attempt that it runs in.

A host is told of each attempt in an `Attempt`, a few small fields in the message that starts it;
most tasks never ask. The `Context` for authors is made when one does.

Which attempt some code belongs to is a context variable, so it holds across `await`, in asyncio
tasks, in `asyncio.to_thread` and in forked children. A thread that user code starts begins
without one, as Python's threads do, in every kind of host: where several tasks share a process
nobody could say whose thread it is, and a task must not change its meaning with its executor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from mainspring.authoring.drawing import current_drawing
from mainspring.domain.errors import DefinitionError, InputError
from mainspring.domain.names import shown

if TYPE_CHECKING:
    from mainspring.authoring.logger import AttemptLogger

_TERM_BITS = 32
PROGRESS_LENGTH_MAX = 200


class DataInterval(NamedTuple):
    """The stretch of time whose data a scheduled run is about, in UTC; `end` is not part of it."""

    start: datetime
    end: datetime


@dataclass(frozen=True, kw_only=True)
class Context:
    """The attempt that a task's function runs in."""

    run_id: int
    dag: str
    task: str
    attempt: int
    """Counts from 1, and only what the retry policy charges: a lost attempt keeps its number."""
    generation: int
    """How many times the task was opened; 1 unless it was rerun."""
    fencing_token: int
    """Higher than that of every earlier attempt of this task in this run, also over failovers."""
    due_at: datetime
    """When the run was due, in UTC; the same for all its tasks and attempts."""
    schedule: str | None = None
    """The schedule that made the run; None if none did."""
    fire_at: datetime | None = None
    """The instant that the schedule names, in UTC, however late the run is; None without one."""
    data_interval: DataInterval | None = None
    """What the run is about: from the fire before to its own. None for a run without a fire."""
    parameters_json: bytes = field(default=b"{}", repr=False)
    report: Callable[[float, str], None] | None = field(default=None, repr=False, compare=False)
    """Who is told of progress; nobody outside of a worker."""

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this task in this run: for effects that happen once."""
        return f"{self.run_id}/{self.task}/{self.generation}"

    @property
    def attempt_key(self) -> str:
        """Another one after each charged attempt: for effects that each of them may have."""
        return f"{self.dag}/{self.run_id}/{self.task}/{self.attempt}"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The run's parameters as JSON data: a date is text here."""
        return MappingProxyType(self._parameters)

    def progress(self, percent: float, text: str = "") -> None:
        """Tell how far this attempt is, as often as you like; people see the last word of a second.

        What lies outside of 0 to 100 is cut to it, and text after 200 characters.
        """
        given: object = percent
        if isinstance(given, bool) or not isinstance(given, (int, float)) or given != given:
            raise InputError(f"progress: expected a percentage from 0 to 100, got {shown(given)}")
        words: object = text
        if not isinstance(words, str):
            raise InputError(f"progress: expected text, got `{type(words).__name__}`")
        if self.report is not None:
            self.report(float(min(max(percent, 0), 100)), _line(text))

    @functools.cached_property
    def log(self) -> AttemptLogger:
        """A logger of Python's own; its records have `run_id`, `dag`, `task` and `attempt`."""
        # Only now: most tasks print or say nothing, and importing us is to be quick.
        from logging import getLogger

        from mainspring.authoring.logger import AttemptLogger

        facts = {name: getattr(self, name) for name in ("run_id", "dag", "task", "attempt")}
        return AttemptLogger(getLogger(f"mainspring.{self.dag}.{self.task}"), facts)

    def __getstate__(self) -> dict[str, Any]:
        """Without what belongs to this process, so that it can be sent to another."""
        return {key: value for key, value in vars(self).items() if key not in ("report", "log")}

    @functools.cached_property
    def _parameters(self) -> dict[str, Any]:
        decoded: dict[str, Any] = msgspec.json.decode(self.parameters_json)
        return decoded


def _line(text: str) -> str:
    """One line that UTF-8 and PostgreSQL can hold."""
    line = " ".join(text[: 4 * PROGRESS_LENGTH_MAX].replace("\x00", " ").split())
    return line[:PROGRESS_LENGTH_MAX].encode("utf-8", "replace").decode()


def context() -> Context:
    """The attempt that this code runs in. Outside of a task it is a DefinitionError."""
    found = _current.get()
    if found is None:
        raise _outside()
    if not isinstance(found, Context):
        found = _context_of(found)
        _current.set(found)
    return found


# --- for hosts ------------------------------------------------------------------------------


class RunFire(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Which fire a run is for."""

    schedule: str | None
    fire_at: datetime
    interval_start: datetime


class Attempt(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a host is told of an attempt."""

    run_id: int
    dag: str
    task: str
    number: int
    generation: int
    epoch: int
    term: int
    due_at: datetime
    parameters: bytes | None
    """Of the run, JSON. None: they are the arguments. Empty: they are large and told apart."""
    fire: RunFire | None = None


class Told(Protocol):
    """An attempt and the arguments of its function, JSON."""

    @property
    def attempt(self) -> Attempt: ...

    @property
    def arguments(self) -> bytes: ...


_current: ContextVar[Told | Context | None] = ContextVar("mainspring_attempt", default=None)

enter = _current.set
"""From here on, this code runs in that attempt; with None, in no attempt."""


_report: Callable[[Any, float, str], None] | None = None


def report_to(report: Callable[[Any, float, str], None]) -> None:
    """From here on, progress is told there, together with what `enter` was given."""
    global _report  # noqa: PLW0603
    _report = report


def _context_of(told: Told) -> Context:
    attempt = told.attempt
    fire = attempt.fire
    return Context(
        report=None if _report is None else functools.partial(_report, told),
        run_id=attempt.run_id,
        dag=attempt.dag,
        task=attempt.task,
        attempt=attempt.number,
        generation=attempt.generation,
        fencing_token=(attempt.epoch << _TERM_BITS) + attempt.term,
        due_at=attempt.due_at,
        schedule=None if fire is None else fire.schedule,
        fire_at=None if fire is None else fire.fire_at,
        data_interval=None if fire is None else DataInterval(fire.interval_start, fire.fire_at),
        parameters_json=told.arguments if attempt.parameters is None else attempt.parameters,
    )


def _outside() -> DefinitionError:
    if current_drawing() is not None:
        return DefinitionError(
            "there is no `context()` while a dag is drawn: its run does not exist yet",
            hint="call it in a task",
        )
    return DefinitionError(
        "there is no `context()` here: this code does not run in a task",
        hint="call it in a task's function while it runs; for a thread of your own, call it before "
        "and pass it on, or start the thread with `contextvars.copy_context().run`",
    )
