"""Where tasks tell what they do to the world: sinks outside of the system under test.

`raw` takes everything that anybody says, `fenced` refuses whoever comes with a token lower than
one that it has seen for the same key, as a service would that knows fencing tokens. Tasks pass
plain values; nothing here knows how they came by them. Only the standard library and msgspec are
needed, since this runs inside hosts.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from tests.checker.evidence import EFFECTS, FENCED, OUTPUT, Effect, Log, Output, now

_PATIENCE_SECONDS = 600.0
"""A writer that is frozen inside its transaction keeps the others waiting until it is killed."""


class FencedEffect(msgspec.Struct, frozen=True, array_like=True):
    """Somebody came to the fenced sink; accepted and refused alike are on record."""

    number: int
    """In this order they were served."""
    at: float
    key: str
    token: int
    accepted: bool
    run: int
    task: str
    pid: int


def raw(
    folder: Path,
    phase: Literal["begin", "end"],
    *,
    run: int,
    task: str,
    attempt: int,
    generation: int,
    token: int,
    key: str,
    kind: str,
    releases: Sequence[int] = (),
) -> None:
    _log(folder / EFFECTS).write(
        Effect(
            *(now(), phase, run, task, attempt, generation, token, key, kind, os.getpid()),
            releases=[*releases],
        )
    )


@contextlib.contextmanager
def working(
    folder: Path,
    *,
    run: int,
    task: str,
    attempt: int,
    generation: int,
    token: int,
    key: str,
    kind: str,
    releases: Sequence[int] = (),
) -> Iterator[None]:
    """Tells the raw sink when the work begins and when it ends, in whichever way it ends.

    What is killed says nothing; so does, for as long as it is frozen, what is frozen.
    """
    raw(
        folder,
        "begin",
        run=run,
        task=task,
        attempt=attempt,
        generation=generation,
        token=token,
        key=key,
        kind=kind,
        releases=releases,
    )
    try:
        yield
    finally:
        raw(
            folder,
            "end",
            run=run,
            task=task,
            attempt=attempt,
            generation=generation,
            token=token,
            key=key,
            kind=kind,
            releases=releases,
        )


def say(folder: Path, *, run: int, task: str, token: int, first: int, lines: int) -> None:
    """Print some lines, and tell before and after how many there are then."""
    log = _log(folder / OUTPUT)
    log.write(Output(now(), "before", run, task, token, first + lines))
    text = "".join(line(run, task, token, number) for number in range(first, first + lines))
    print(text, end="", flush=True)
    log.write(Output(now(), "after", run, task, token, first + lines))


def line(run: int, task: str, token: int, number: int) -> str:
    """No two lines are the same, whoever prints them."""
    return f"line {number} of `{task}` of run {run} under {token}{' .' * (number % 20)}\n"


def fenced(folder: Path, *, key: str, token: int, run: int, task: str) -> bool:
    """Whether the effect was accepted."""
    # In autocommit mode, so that the transaction below is the only one there is.
    connection = sqlite3.connect(
        folder / FENCED, timeout=_PATIENCE_SECONDS, isolation_level=None, check_same_thread=False
    )
    with contextlib.closing(connection):
        # Processes are killed here, machines are not: what the kernel has is safe.
        connection.execute("pragma synchronous = off")
        connection.execute("begin immediate")
        connection.execute(
            "create table if not exists highest (key text primary key, token integer not null)"
        )
        connection.execute(
            "create table if not exists effect (number integer primary key autoincrement,"
            " at real not null, key text not null, token integer not null,"
            " accepted integer not null, run integer not null, task text not null,"
            " pid integer not null)"
        )
        known = connection.execute("select token from highest where key = ?", (key,)).fetchone()
        accepted = known is None or token >= known[0]
        if accepted:
            connection.execute("insert or replace into highest values (?, ?)", (key, token))
        connection.execute(
            "insert into effect (at, key, token, accepted, run, task, pid)"
            " values (?, ?, ?, ?, ?, ?, ?)",
            (now(), key, token, accepted, run, task, os.getpid()),
        )
        connection.execute("commit")
    return accepted


def read_fenced(path: Path) -> list[FencedEffect]:
    """All that came, in the order in which they were served."""
    if not path.exists():
        return []
    with contextlib.closing(sqlite3.connect(path, timeout=_PATIENCE_SECONDS)) as connection:
        rows = connection.execute(
            "select number, at, key, token, accepted, run, task, pid from effect order by number"
        )
        return [msgspec.convert(row, FencedEffect, strict=False) for row in rows]


@cache
def _log(path: Path) -> Log:
    return Log(path)
