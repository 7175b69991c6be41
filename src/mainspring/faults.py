"""Crash points: where a process can be made to die, between any two writes.

`point(name)` is passed all the time and does nothing, unless MAINSPRING_FAULT says otherwise:

    MAINSPRING_FAULT="die <name> <n>"    kill this process at the n-th passage of that point
    MAINSPRING_FAULT="record <file>"     append every name to the file when it is first passed

The process dies by SIGKILL, so nothing is tidied up: no `finally`, no farewell to the server.
Behind every statement of the store there is such a point, named after the statement. Host children
do not inherit the variable: what dies is the process that was told to.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Protocol

VARIABLE = "MAINSPRING_FAULT"


class _Plan(Protocol):
    def passed(self, name: str) -> None: ...


class _Die:
    def __init__(self, name: str, passages: int) -> None:
        self._name = name
        self._left = passages

    def passed(self, name: str) -> None:
        if name == self._name:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class _Record:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: set[str] = set()

    def passed(self, name: str) -> None:
        if name not in self._seen:
            self._seen.add(name)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{name}\n")


def _plan(text: str | None) -> _Plan | None:
    if not text:
        return None
    verb, _, rest = text.partition(" ")
    name, _, passages = rest.rpartition(" ")
    if verb == "record" and rest:
        return _Record(Path(rest))
    if verb == "die" and name and passages.isascii() and passages.isdigit() and int(passages) > 0:
        return _Die(name, int(passages))
    # A process that was to be broken must not run whole in silence.
    raise SystemExit(f'{VARIABLE}: cannot be understood: "{text}"')


_armed = _plan(os.environ.pop(VARIABLE, None))


def point(name: str) -> None:
    if _armed is not None:
        _armed.passed(name)


def after_statement(sql: str) -> None:
    """The point behind a statement of the store, whose first line is `-- its name`."""
    if _armed is not None and sql.startswith("-- "):
        _armed.passed(f"after {sql.splitlines()[0][3:]}")
