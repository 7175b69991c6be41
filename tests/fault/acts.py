"""What tasks of the storms do: tell that they begin, take their time, tell that they end.

They tell it to sinks outside of the system under test. As a program it is what the tasks that are
commands run.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mainspring import Context, context
from tests.checker.sinks import fenced, working

_EVIDENCE = "MAINSPRING_EVIDENCE"


@contextlib.contextmanager
def act(kind: str) -> Iterator[Context]:
    """An attempt at work, told from its begin to its end; its effect comes last."""
    me = context()
    with _told(_facts(me, kind)):
        yield me


def command(seconds: float) -> list[str]:
    """The same as a program: the arguments that run it."""
    facts = msgspec.json.encode(_facts(context(), "command")).decode()
    return [sys.executable, "-m", __name__, str(seconds), facts]


@contextlib.contextmanager
def _told(facts: dict[str, Any]) -> Iterator[None]:
    folder = Path(os.environ[_EVIDENCE])
    with working(folder, **facts):
        yield
        effect = {name: facts[name] for name in ("key", "token", "run", "task")}
        fenced(folder, **effect)


def _facts(me: Context, kind: str) -> dict[str, Any]:
    return {
        "run": me.run_id,
        "task": me.task,
        "attempt": me.attempt,
        "generation": me.generation,
        "token": me.fencing_token,
        "key": me.idempotency_key,
        "kind": kind,
    }


if __name__ == "__main__":
    with _told(msgspec.json.decode(sys.argv[2])):
        time.sleep(float(sys.argv[1]))
    print("done")
