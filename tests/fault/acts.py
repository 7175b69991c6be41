"""What tasks of the storms do: tell that they begin, take their time, tell that they end.

They tell it to sinks outside of the system under test. As a program it is what the tasks that are
commands run.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mainspring import Context, context
from tests.checker.sinks import fenced, say, working

_EVIDENCE = "MAINSPRING_EVIDENCE"
_TALKATIVE = 40
"""One in so many runs prints so much that its log is long."""


@contextlib.contextmanager
def act(kind: str, release: int) -> Iterator[Context]:
    """An attempt at work, told from its begin to its end; its effect comes last.

    `release` is that of the module which calls; the module that it took it from is asked again.
    """
    me = context()
    with _told(_facts(me, kind, release)):
        yield me


def command(seconds: float, release: int) -> list[str]:
    """The same as a program: the arguments that run it."""
    facts = msgspec.json.encode(_facts(context(), "command", release)).decode()
    return [sys.executable, "-m", __name__, str(seconds), facts]


@contextlib.contextmanager
def _told(facts: dict[str, Any]) -> Iterator[None]:
    folder = Path(os.environ[_EVIDENCE])
    speaker = {name: facts[name] for name in ("run", "task", "token")}
    lines = 2000 if facts["run"] % _TALKATIVE == 0 else 2
    with working(folder, **facts):
        say(folder, **speaker, first=0, lines=lines)
        yield
        say(folder, **speaker, first=lines, lines=lines)
        effect = {name: facts[name] for name in ("key", "token", "run", "task")}
        fenced(folder, **effect)


def _facts(me: Context, kind: str, release: int) -> dict[str, Any]:
    return {
        "run": me.run_id,
        "task": me.task,
        "attempt": me.attempt,
        "generation": me.generation,
        "token": me.fencing_token,
        "key": me.idempotency_key,
        "kind": kind,
        "releases": [release, importlib.import_module("release").RELEASE],
    }


if __name__ == "__main__":
    with _told(msgspec.json.decode(sys.argv[2])):
        time.sleep(float(sys.argv[1]))
