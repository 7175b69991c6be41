"""The child that imports user code: `python -m mainspring.bundles.reader`.

It takes an `Order` on stdin and answers on stdout with a `FileStarted` and a `FileRead` per file
and `Finished` at the end. Before the first import both are moved away: user code finds an empty
stdin and writes its prints into nothing. A file that hangs is ended by a watchdog outside of the
interpreter, which also writes to stderr where it hung; so does a crash. Whatever ends this
process early is the doing of the file that it had started, and the parent starts another child
for the rest.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import msgspec

from mainspring.authoring.calling import check_arguments, error_of, resolve
from mainspring.authoring.dags import Dag, collect_dags
from mainspring.bundles.report import (
    LENGTH_BYTES,
    FileProblem,
    FileRead,
    FileStarted,
    Finished,
    Message,
    Order,
    frame,
)
from mainspring.domain.errors import DefinitionError, MainspringError
from mainspring.domain.names import shown
from mainspring.domain.specs import DagSpec


def main() -> NoReturn:
    order = _take_order()
    _die_with(order.parent)
    channel = _Channel()
    made = collect_dags()
    sys.path.insert(0, order.folder)
    sys.argv = [""]
    for file in order.files:
        channel.send(FileStarted(file))
        faulthandler.dump_traceback_later(order.file_timeout_seconds, exit=True, file=channel.trace)
        there = os.path.exists(os.path.join(order.folder, file))
        found = read_file(Path(order.folder), file, made)
        faulthandler.cancel_dump_traceback_later()
        if there and not os.path.exists(os.path.join(order.folder, file)):
            # The rest is for another child, once the parent has put the files back.
            channel.send(FileRead(file, [], [_self_destruction(file)]))
            break
        channel.send(found)
    channel.send(Finished())
    _end()


def read_file(folder: Path, file: str, made: Sequence[tuple[str | None, Dag[Any]]]) -> FileRead:
    """The dags of one file, and what is wrong with it.

    `made` are all that were made so far, by the module that made them. A file may have been
    imported before, by another one.
    """
    path = folder / file
    try:
        module = _import(path, file)
    except BaseException as error:
        return FileRead(file, [], [_problem(error, folder, file)])
    dags: list[DagSpec] = []
    problems: list[FileProblem] = []
    for dag in [dag for maker, dag in made if maker == module.__name__]:
        try:
            dags.append(_checked(dag))
        except BaseException as error:
            problems.append(_problem(error, folder, file, dag))
    return FileRead(file, dags, problems)


def _import(path: Path, file: str) -> ModuleType:
    name = _module_name(file)
    if "." in path.stem:
        raise DefinitionError(
            f"the file name {shown(path.name)} has too many dots to be imported",
            hint="rename the file",
        )
    if name.partition(".")[0] in sys.stdlib_module_names:
        raise DefinitionError(
            f"{shown(file.partition('/')[0])} has the name of a module of Python itself",
            hint="rename the file, or others would import one for the other",
        )
    module = importlib.import_module(name)
    found = getattr(module, "__file__", None)
    if found is None or not os.path.samefile(found, path):
        raise DefinitionError(
            f"`import {name}` leads to {found or name} and not to this file",
            hint="rename the file, its name is taken",
        )
    return module


def _module_name(file: str) -> str:
    """`sub/jobs.py` is `sub.jobs`, and `sub/__init__.py` is `sub`."""
    parts = file.removesuffix(".py").split("/")
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def _checked(dag: Dag[Any]) -> DagSpec:
    """The dag's spec, once it is certain that a worker will find and can call its tasks."""
    spec = dag.spec
    for entry, function in dag.functions.items():
        task = resolve(entry)
        if task.function is not function:
            raise DefinitionError(
                f"task {shown(entry)} is defined twice, and a worker would run the other one",
                hint="give the two functions different names",
            )
        check_arguments(task)
    return spec


def _problem(
    error: BaseException, folder: Path, file: str, dag: Dag[Any] | None = None
) -> FileProblem:
    path = str(folder / file)
    line = None if dag is None else dag.function.__code__.co_firstlineno
    inner = ""
    for place, number in _places(error):
        if place == path:
            line, inner = number, ""
        elif place.startswith(f"{folder}{os.sep}"):
            inner = f" (in `{os.path.relpath(place, folder)}`, line {number})"
    if isinstance(error, MainspringError):
        return FileProblem(file, line, error.message + inner, error.hint)
    told = error_of(error)
    return FileProblem(file, line, f"{told.type}: {told.message}{inner}".rstrip(": "))


def _self_destruction(file: str) -> FileProblem:
    return FileProblem(
        file,
        None,
        "importing it removed it from its folder",
        hint="work belongs into tasks; the file itself is imported often",
    )


def _places(error: BaseException) -> Iterator[tuple[str, int]]:
    """Files and lines on the way to the error, the deepest last."""
    for step, number in traceback.walk_tb(error.__traceback__):
        yield step.f_code.co_filename, number
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        yield error.filename, error.lineno


# --- the process ---------------------------------------------------------------------------


class _Channel:
    """The way to the parent, out of reach of prints and of forks."""

    def __init__(self) -> None:
        self._report = os.dup(1)
        self._pid = os.getpid()
        self.trace = os.fdopen(os.dup(2), "wb", buffering=0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        faulthandler.enable(file=self.trace)
        # A copy of us that user code forks must neither speak for us nor keep the parent waiting.
        os.register_at_fork(after_in_child=self._forked)

    def send(self, message: Message) -> None:
        if os.getpid() != self._pid:
            os._exit(0)
        rest = memoryview(frame(message))
        while rest:
            rest = rest[os.write(self._report, rest) :]

    def _forked(self) -> None:
        os.close(self._report)
        os.close(self.trace.fileno())


def _take_order() -> Order:
    length = int.from_bytes(sys.stdin.buffer.read(LENGTH_BYTES), "big")
    return msgspec.json.decode(sys.stdin.buffer.read(length), type=Order)


def _die_with(parent: int) -> None:
    """Arrange that this process ends when its parent does, whatever user code is doing."""
    if sys.platform == "linux":
        import ctypes

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we could ask
            os._exit(1)
    else:
        # The parent keeps our stdin open as long as it lives.
        stdin = os.dup(0)
        threading.Thread(target=lambda: (os.read(stdin, 1), os._exit(1)), daemon=True).start()


def _end() -> NoReturn:
    """End now, with whatever processes and threads user code has left running."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
