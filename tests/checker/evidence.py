"""What the checker believes: logs, each written by someone else than the system under test.

`client.jsonl`   what callers asked for, and what they were answered
`effects.jsonl`  what tasks did, written by the tasks themselves to a sink that takes everything
`fenced.sqlite`  what tasks did, at a sink that refuses a token lower than one it has seen
`output.jsonl`   what tasks printed, told by them before and after
`releases.jsonl` which code was put into the folder of dags, and when
`faults.jsonl`   what was broken, when, and for how long
`stalls.jsonl`   when the machine kept a process waiting that had something to do
and the journal of the database's moves, which triggers of ours write (`journal.sql`).

A database that lost its tail is consistent with itself, so no log is checked against itself only.
All times are `time.monotonic()` seconds, which the processes of one machine share.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import msgspec

CLIENT = "client.jsonl"
EFFECTS = "effects.jsonl"
FENCED = "fenced.sqlite"
OUTPUT = "output.jsonl"
RELEASES = "releases.jsonl"
FAULTS = "faults.jsonl"
STALLS = "stalls.jsonl"

_T = TypeVar("_T")

What: TypeAlias = Literal[
    "trigger",
    "cancel",
    "rerun",
    "mark",
    "priority",
    "pause_dag",
    "resume_dag",
    "pause_queue",
    "resume_queue",
    "put_schedule",
    "pause_schedule",
    "resume_schedule",
    "remove_schedule",
]


class Asked(msgspec.Struct, frozen=True, tag="asked"):
    """A caller asks. `number` names the request; a repetition of it is a request of its own."""

    number: int
    at: float
    what: What
    dag: str = ""
    key: str | None = None
    """Idempotency key: requests that share it are the same request."""
    run: int | None = None
    """The run that is to be cancelled or run again, or of which a task is closed by hand."""
    priority: int | None = None
    queue: str = ""
    schedule: str = ""
    spec: str = ""
    """What the schedule is to be, as JSON."""


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    """What became of it. `unknown`: the answer was lost, so it happened or it did not."""

    number: int
    at: float
    answer: Literal["ok", "failed", "unknown"]
    run: int | None = None
    """The run that was made, when the answer is ok."""
    error: str = ""


class Effect(msgspec.Struct, frozen=True):
    """A task began or ended its work on the world, as it saw itself."""

    at: float
    phase: Literal["begin", "end"]
    run: int
    task: str
    attempt: int
    generation: int
    token: int
    """The fencing token it was given."""
    key: str
    """Its idempotency key."""
    kind: str
    """The kind of slot: async, thread, process or command."""
    pid: int
    releases: list[int] = []
    """Which release its code is of, as each module of it says that had a part; empty: not told."""


class Output(msgspec.Struct, frozen=True):
    """A task is about to print, or has printed: so many lines in all, see `sinks.line`."""

    at: float
    phase: Literal["before", "after"]
    run: int
    task: str
    token: int
    lines: int


class Release(msgspec.Struct, frozen=True):
    """From now on the folder of dags has this code."""

    at: float
    number: int
    digest: str
    """Of all files, see `releases.tree_digest`."""


class Fault(msgspec.Struct, frozen=True):
    """Something was broken on purpose, from `at` until `until`."""

    at: float
    until: float
    kind: str
    """kill, crash_point, freeze, drain, revoke, away; cut, refuse, half_open, delay, throttle,
    unknown_commit, lost_request; terminate, backend_kill, database_stop, database_kill; …"""
    target: str
    """`worker 2`, `far 1`, `engine 1`, `server 1`, `host of worker 2`, `guard of worker 2`,
    `all of worker 2`, `database`, `client`, `web`, … The worker that was started with the name
    `worker-2` is `worker 2`."""
    pid: int | None = None
    """Of the process that was hit, if it was one."""
    detail: str = ""


class Stall(msgspec.Struct, frozen=True):
    """Nobody broke anything, but the machine had no time for a process that wanted to go on."""

    at: float
    until: float
    pid: int | None = None
    """None: of whoever carries everybody's messages to the database, which makes it everybody's."""


class Log:
    """Appends records, one JSON line each; whole lines, whoever else appends."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)

    def write(self, record: msgspec.Struct) -> None:
        os.write(self._file, msgspec.json.encode(record) + b"\n")

    def close(self) -> None:
        os.close(self._file)


def read_log(path: Path, type_: type[_T]) -> list[_T]:
    """All records; a last line that was cut short by a kill is left out."""
    if not path.exists():
        return []
    decoder = msgspec.json.Decoder(type_)
    return [decoder.decode(line) for line in _whole_lines(path)]


def read_client(path: Path) -> list[Asked | Answered]:
    """What callers asked and were answered, in the order in which it was written."""
    if not path.exists():
        return []
    decoder: msgspec.json.Decoder[Asked | Answered] = msgspec.json.Decoder(Asked | Answered)
    return [decoder.decode(line) for line in _whole_lines(path)]


def _whole_lines(path: Path) -> Iterator[bytes]:
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield line


def now() -> float:
    return time.monotonic()
