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
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from mainspring.authoring.drawing import current_drawing
from mainspring.domain.errors import DefinitionError

_TERM_BITS = 32


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
    parameters_json: bytes = field(default=b"{}", repr=False)

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

    @functools.cached_property
    def _parameters(self) -> dict[str, Any]:
        decoded: dict[str, Any] = msgspec.json.decode(self.parameters_json)
        return decoded


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


class Told(Protocol):
    """An attempt and the arguments of its function, JSON."""

    @property
    def attempt(self) -> Attempt: ...

    @property
    def arguments(self) -> bytes: ...


_current: ContextVar[Told | Context | None] = ContextVar("mainspring_attempt", default=None)

enter = _current.set
"""From here on, this code runs in that attempt; with None, in no attempt."""


def _context_of(told: Told) -> Context:
    attempt = told.attempt
    return Context(
        run_id=attempt.run_id,
        dag=attempt.dag,
        task=attempt.task,
        attempt=attempt.number,
        generation=attempt.generation,
        fencing_token=(attempt.epoch << _TERM_BITS) + attempt.term,
        due_at=attempt.due_at,
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
