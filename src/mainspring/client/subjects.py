"""What can be enqueued, and what is given with it: checked before anything is sent.

A task stands for its implicit dag of one task. Its code is the application's own, installed
wherever a worker has it, so the one thing to be certain of is that a worker will find it there
by its name.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from mainspring.authoring.calling import check_arguments, resolve
from mainspring.authoring.dags import Dag
from mainspring.authoring.tasks import Task
from mainspring.domain.errors import DefinitionError, InputError
from mainspring.domain.names import listed, shown
from mainspring.domain.parameters import ParameterCheck
from mainspring.domain.specs import DagSpec

Subject: TypeAlias = Task[..., Any] | Dag[...] | str
"""A task or a dag of the application, or the name of a dag that is stored."""

KEY_LENGTH_MAX = 500
OPTIONS = ("run_at", "idempotency_key", "connection", "parameters")
"""The names that `enqueue` takes for itself."""

_SUBJECTS_MAX = 4096

_encode = msgspec.json.Encoder(order="deterministic").encode


class Definition(msgspec.Struct, frozen=True):
    """A dag as the application defines it, with all that does not change from run to run."""

    spec: DagSpec
    digest: bytes
    check: ParameterCheck
    ambiguous: tuple[str, ...] = ()
    """Parameters that are named like an option of `enqueue`."""

    @property
    def name(self) -> str:
        return self.spec.name


@functools.lru_cache(maxsize=_SUBJECTS_MAX)
def definition_of(subject: Task[..., Any] | Dag[...]) -> Definition:
    """The dag that a task or dag object stands for; DefinitionError if no worker could run it."""
    if isinstance(subject, Task):
        spec = subject.as_dag()
        functions = {subject.spec.entry: subject.function}
    elif isinstance(subject, Dag):
        spec, functions = subject.spec, subject.functions
    else:
        raise InputError(
            f"{shown(subject)} is neither a task nor a dag nor the name of one",
            hint="put `@task` above the function",
        )
    for entry, function in functions.items():
        _check_entry(entry, function)
    return define(spec)


def define(spec: DagSpec) -> Definition:
    names = [parameter.name for parameter in spec.parameters]
    return Definition(
        spec, spec.digest(), ParameterCheck(spec), tuple(n for n in names if n in OPTIONS)
    )


def _check_entry(entry: str, function: Any) -> None:
    if entry.startswith("__main__:"):
        raise DefinitionError(
            f"task {shown(entry.removeprefix('__main__:'))} is defined in the program that is being"
            " run, where a worker cannot find it",
            hint="define it in a module, and import it from there",
        )
    task = resolve(entry)
    if task.function is not function:
        raise DefinitionError(
            f"task {shown(entry)} is defined twice, and a worker would run the other one",
            hint="give the two functions different names",
        )
    check_arguments(task)


# --- what is given -----------------------------------------------------------------------------


class Draft(msgspec.Struct, frozen=True, gc=False):
    """A run that lacks only its id."""

    version_id: int
    snapshot_id: int
    tasks: int
    parameters: bytes | None
    due_at: datetime | None = None
    key: str | None = None
    body: bytes = b""
    created_by: str | None = None

    @property
    def size(self) -> int:
        return 0 if self.parameters is None else len(self.parameters)


def given_parameters(
    definition: Definition, parameters: Mapping[str, Any] | None, named: dict[str, Any], used: bool
) -> Mapping[str, Any]:
    """The parameters, given as a mapping or by name; `used` says whether an option was, too."""
    if parameters is None:
        if used and definition.ambiguous:
            raise InputError(
                f"{shown(definition.name)} has a parameter that is named like an option of"
                f" `enqueue`: {listed(definition.ambiguous)}",
                hint="give all its parameters as `parameters={…}`; then the option is the option",
            )
        return named
    if named:
        raise InputError(
            f"parameters are given twice: as `parameters` and by name ({listed(named)})",
            hint="put all of them into `parameters={…}`",
        )
    return parameters


def body_of(definition: Definition, given: Mapping[str, Any]) -> bytes:
    """What an idempotency key stands for: the dag and what the caller gave."""
    return _encode([definition.name, given])


def check_run_at(run_at: datetime | None) -> None:
    if run_at is None:
        return
    if not isinstance(run_at, datetime):
        raise InputError(f"`run_at` is a datetime, got `{type(run_at).__name__}`")
    if run_at.tzinfo is None:
        raise InputError(
            f"`{run_at}` has no time zone", hint="use datetime.now(timezone.utc) or a zone"
        )


def check_key(key: str | None) -> None:
    if key is None:
        return
    if not isinstance(key, str):
        raise InputError(f"an idempotency key is text, got `{type(key).__name__}`")
    if not 0 < len(key) <= KEY_LENGTH_MAX:
        raise InputError(f"an idempotency key has 1 to {KEY_LENGTH_MAX} characters")
    if "\x00" in key:
        raise InputError("an idempotency key may not hold a NUL character")
    try:
        key.encode()
    except UnicodeEncodeError:
        raise InputError("an idempotency key may not hold a lone surrogate") from None


def check_keys(keys: Sequence[str] | None, count: int) -> Sequence[str | None]:
    if keys is None:
        return [None] * count
    if isinstance(keys, str) or len(keys) != count:
        raise InputError(
            f"`idempotency_keys` needs one key for each of the {count} runs",
            hint="give a list that is as long as the list of parameters",
        )
    for key in keys:
        check_key(key)
    return keys
