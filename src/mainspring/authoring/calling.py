"""For host children: from an entry and JSON to a call, and from its end to an `Outcome`.

The road of one attempt is `resolve`, `arguments_for`, the call itself, which is the host's
business, and then `encode_result` or `outcome_of`. Whatever user code raises, `outcome_of`
answers: an exception that cannot be printed, or a delay function that fails, must not take the
host down or leave the attempt without an end.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypedDict

import msgspec

from mainspring.authoring.commands import Command
from mainspring.authoring.ends import Fail, Retry, Skip
from mainspring.authoring.retries import qualified_name
from mainspring.authoring.signatures import annotations_of
from mainspring.authoring.tasks import Task
from mainspring.domain.durations import parse_duration
from mainspring.domain.errors import DefinitionError, InputError
from mainspring.domain.names import shown
from mainspring.domain.outcomes import Error, Failed, Outcome, Skipped
from mainspring.domain.parameters import portable, what_is_wrong
from mainspring.domain.payloads import encode_json

__all__ = [
    "ResultError",
    "Task",
    "argument_vector",
    "arguments_for",
    "check_arguments",
    "command_of",
    "encode_result",
    "error_of",
    "outcome_of",
    "resolve",
]

MESSAGE_LENGTH_MAX = 4_000
TRACE_LENGTH_MAX = 16_000
TRACE_FRAMES_MAX = 100

AnyTask = Task[..., Any]


class ResultError(InputError):
    """A task returned what cannot be stored."""

    code = "result"


# --- before the call -----------------------------------------------------------------------


def resolve(entry: str) -> AnyTask:
    """The task that an entry, `module:qualified_name`, leads to."""
    module_name, _, name = entry.partition(":")
    module = sys.modules.get(module_name) or _imported(module_name, entry)
    found: Any = module
    for part in name.split("."):
        if part == "<locals>":
            raise DefinitionError(
                f"task {shown(entry)} is made inside a function, where a worker cannot find it",
                hint="define it at the top level of a module",
            )
        found = getattr(found, part, None)
    if isinstance(found, Task):
        return found
    reason = "does not exist" if found is None else f"is a `{type(found).__name__}` and not a task"
    raise DefinitionError(
        f"task {shown(entry)} cannot be called: {shown(name)} {reason}",
        hint="put `@task` above the function, so that the task has the function's own name",
    )


def arguments_for(task: AnyTask, raw: bytes) -> dict[str, Any]:
    """Keyword arguments from JSON, converted to the types that the function is annotated with."""
    try:
        typed: dict[str, Any] = _decoder(task).decode(raw)
    except msgspec.ValidationError as error:
        place, reason = what_is_wrong(error)
        argument = f"argument `{place}`" if place else "the arguments"
        raise InputError(f"{argument} of task {shown(task.name)}: {reason}") from None
    except msgspec.DecodeError as error:
        raise InputError(
            f"the arguments of task {shown(task.name)} are not JSON: {error}"
        ) from None
    if _takes_extra(task):
        return {**msgspec.json.decode(raw), **typed}
    return typed


def check_arguments(task: AnyTask) -> None:
    """DefinitionError if arguments could never be converted; called when a bundle is read."""
    _decoder(task)


def command_of(task: AnyTask, value: Any) -> Command:
    """What a task with `executor="command"` returned, checked to be a command."""
    if not isinstance(value, Command):
        return Command(argument_vector(task, value))
    return Command(argument_vector(task, value), _variables(task, value.env), _cwd(task, value.cwd))


def argument_vector(task: AnyTask, value: Any) -> list[str]:
    """The program and the arguments of what a task with `executor="command"` returned."""
    if isinstance(value, Command):
        value = value.arguments
    items = list(value) if isinstance(value, (list, tuple)) else []
    if not items or not all(isinstance(item, str) for item in items) or not items[0]:
        raise ResultError(
            f"task {shown(task.name)} has to return its command as a list of texts, "
            f"got {shown(_safe_text(value, repr))}",
            hint='return the program and its arguments, such as ["rsync", "-a", source, target]',
        )
    if any("\x00" in item for item in items):
        raise ResultError(
            f"task {shown(task.name)}: an argument of its command holds a NUL character"
        )
    return items


def _variables(task: AnyTask, env: object) -> dict[str, str]:
    variables: dict[Any, Any] = dict(env) if isinstance(env, Mapping) else {None: None}
    for name, value in variables.items():
        what = f"task {shown(task.name)}: the environment of its command"
        if not isinstance(name, str) or not isinstance(value, str):
            raise ResultError(f"{what} is not a mapping from text to text")
        if not name or "=" in name or "\x00" in name + value:
            raise ResultError(f"{what} cannot hold the variable {shown(name)}")
    return variables


def _cwd(task: AnyTask, cwd: object) -> str | None:
    if cwd is None or (isinstance(cwd, str) and cwd and "\x00" not in cwd):
        return cwd
    raise ResultError(f"task {shown(task.name)}: the `cwd` of its command is not a path")


def _imported(module_name: str, entry: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except BaseException as error:
        # The module may be the author's, hence anything; its own error is shown as the cause.
        raise DefinitionError(
            f"task {shown(entry)} cannot be imported: {type(error).__name__}: {_message(error)}"
        ) from error


@functools.cache
def _decoder(task: AnyTask) -> msgspec.json.Decoder[Any]:
    what = f"task {shown(task.name)}"
    annotations = annotations_of(task.function, what)
    fields = {
        name: portable(annotations.get(name, Any), what=f"{what}, argument {shown(name)}")[0]
        for name, parameter in inspect.signature(task.function).parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }
    # A TypedDict is decoded in one pass to just the dict that the call wants; what is not given
    # is left to the function's own defaults.
    make: Any = TypedDict
    return msgspec.json.Decoder(make("Arguments", fields, total=False))


@functools.cache
def _takes_extra(task: AnyTask) -> bool:
    parameters = inspect.signature(task.function).parameters.values()
    return any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)


# --- after the call ------------------------------------------------------------------------


def encode_result(value: Any) -> bytes:
    """The result as JSON; ResultError says why it cannot be."""
    try:
        return encode_json(value, what="the result")
    except InputError as error:
        raise ResultError(error.message, hint=error.hint) from None


def outcome_of(task: AnyTask | None, exception: BaseException, attempt: int) -> Outcome:
    """How an attempt ended that raised; `task` is None if it could not even be resolved."""
    match exception:
        case Skip():
            return Skipped(_message(exception))
        case Fail():
            return Failed(error_of(exception, task), retry=False)
        case Retry():
            # Without types: what asks for another attempt is not what `give_up_on` is about.
            error = msgspec.structs.replace(error_of(exception, task), types=())
            return Failed(error, delay_seconds=exception.after_seconds)
    error = error_of(exception, task)
    if task is None or task.retry is None or task.retry.delay is None:
        return Failed(error)
    try:
        answer = task.retry.delay(attempt, exception)
        delay = None if answer is None else parse_duration(answer, what="the delay")
    except BaseException as failure:
        note = f"\nThe delay function of the retry policy failed: {_summary(failure)}"
        error = msgspec.structs.replace(error, trace=_bounded(error.trace + note, TRACE_LENGTH_MAX))
        return Failed(error)
    return Failed(error, delay_seconds=delay)


def error_of(exception: BaseException, task: AnyTask | None = None) -> Error:
    """An exception as data, safe to store whatever it holds."""
    kinds = type(exception).__mro__[:-1]
    return Error(
        type=_clean(type(exception).__qualname__)[:200],
        message=_message(exception),
        trace=_trace(exception, task),
        types=tuple(_clean(qualified_name(kind)) for kind in kinds),
    )


def _message(exception: BaseException) -> str:
    text = _safe_text(exception, str)
    match exception:
        case SystemExit():
            text = f"sys.exit({text}) was called"
        case KeyboardInterrupt() if not text:
            text = "interrupted"
    if hint := getattr(exception, "hint", ""):
        text = f"{text}\nhint: {_safe_text(hint, str)}"
    return _bounded(_clean(text), MESSAGE_LENGTH_MAX)


def _summary(exception: BaseException) -> str:
    return f"{type(exception).__name__}: {_message(exception)}"


def _trace(exception: BaseException, task: AnyTask | None) -> str:
    try:
        told = traceback.TracebackException(
            type(exception),
            exception,
            _from_user_code(exception.__traceback__, task),
            limit=-TRACE_FRAMES_MAX,
            compact=True,
        )
        text = "".join(told.format())
    except BaseException:
        # Reading sources and printing exceptions runs code that we do not know.
        text = _summary(exception)
    return _bounded(_clean(text).rstrip(), TRACE_LENGTH_MAX)


_OUR_FOLDER = str(Path(__file__).parent.parent) + os.sep


def _from_user_code(frames: TracebackType | None, task: AnyTask | None) -> TracebackType | None:
    """The traceback from the task's function on, or at least without our own first frames."""
    code = None if task is None else getattr(task.function, "__code__", None)
    step = frames
    while step is not None:
        if step.tb_frame.f_code is code:
            return step
        step = step.tb_next
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_OUR_FOLDER):
        frames = frames.tb_next
    return frames


def _safe_text(value: object, form: Any) -> str:
    try:
        text = form(value)
        return str(text)
    except BaseException as failure:
        return f"<{type(value).__name__} that cannot be shown: {type(failure).__name__}>"


def _clean(text: str) -> str:
    """Text that UTF-8 and PostgreSQL can hold."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")


def _bounded(text: str, length_max: int) -> str:
    """The beginning and the end: a trace begins with where and ends with what."""
    if len(text) <= length_max:
        return text
    head = length_max // 4
    tail = length_max - head - 40
    return f"{text[:head]}\n… {len(text) - head - tail:,} characters left out …\n{text[-tail:]}"
