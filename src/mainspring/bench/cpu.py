"""Who used the processors, from /proc.

The total of a tree is what its living processes used, plus what they were handed by children that
ended: so an autovacuum worker that came and went is counted, and nothing is counted twice. On
systems without /proc nothing is known, and the figures say so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

_PROC = Path("/proc")
_HERTZ = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
KNOWN = (_PROC / "self" / "stat").exists()


class Process(msgspec.Struct, frozen=True):
    own_seconds: float
    ended_seconds: float
    """Of children that ended and were waited for."""
    rss_mb: float

    @property
    def seconds(self) -> float:
        return self.own_seconds + self.ended_seconds


def tree(root: int) -> dict[int, Process]:
    """A process and all its descendants; empty if it is gone or nothing can be known."""
    found: dict[int, Process] = {}
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        process = _process(pid)
        if process is not None:
            found[pid] = process
            waiting += _children(pid)
    return found


def seconds_of(root: int) -> float:
    return sum(process.seconds for process in tree(root).values())


def rss_mb_of(root: int) -> float:
    return sum(process.rss_mb for process in tree(root).values())


def _process(pid: int) -> Process | None:
    try:
        # The name in parentheses may hold spaces; behind it come plain fields.
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return Process(
        own_seconds=(int(fields[11]) + int(fields[12])) / _HERTZ,
        ended_seconds=(int(fields[13]) + int(fields[14])) / _HERTZ,
        rss_mb=int(fields[21]) * _PAGE_BYTES / 1e6,
    )


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for thread in (_PROC / str(pid) / "task").iterdir():
            children += map(int, (thread / "children").read_text().split())
    except OSError:
        pass
    return children


# --- by part ------------------------------------------------------------------------------


class Roots(msgspec.Struct, frozen=True):
    """The processes of a benchmark."""

    server: int | None
    """PostgreSQL's first process; None if it runs elsewhere."""
    engine: int
    workers: Sequence[int]
    backends: Mapping[int, str]
    """Server processes whose part is known."""


class Reading(msgspec.Struct, frozen=True):
    """CPU seconds of every part up to one moment."""

    at: float
    parts: dict[str, float]


SERVER = "postgresql"
SERVER_REST = "postgresql: rest"


def read(roots: Roots) -> Reading:
    parts = {
        "worker": 0.0,
        "hosts": 0.0,
        "engine": seconds_of(roots.engine),
        "load generator": time.process_time(),
    }
    for worker in roots.workers:
        processes = tree(worker)
        own = processes[worker].own_seconds if worker in processes else 0.0
        parts["worker"] += own
        parts["hosts"] += sum(process.seconds for process in processes.values()) - own
    if roots.server is not None:
        server = tree(roots.server)
        parts[SERVER] = sum(process.seconds for process in server.values())
        named = 0.0
        for pid, part in roots.backends.items():
            if pid in server:
                seconds = server[pid].seconds
                named += seconds
                parts[f"{SERVER}: {part}"] = parts.get(f"{SERVER}: {part}", 0.0) + seconds
        parts[SERVER_REST] = parts[SERVER] - named
    return Reading(time.monotonic(), parts)


class Spent(msgspec.Struct, frozen=True):
    """What was used between two readings."""

    seconds: float
    parts: dict[str, float]

    @property
    def server_known(self) -> bool:
        return KNOWN and SERVER in self.parts

    @property
    def cores(self) -> float | None:
        """Processors in use on average; None where the server's share is not known."""
        return self._total / self.seconds if self.server_known else None

    @property
    def cores_without_server(self) -> float | None:
        return (self._total - self.parts.get(SERVER, 0.0)) / self.seconds if KNOWN else None

    @property
    def _total(self) -> float:
        # `postgresql: …` are parts of `postgresql`.
        return sum(used for part, used in self.parts.items() if ":" not in part)

    def each_us(self, count: int) -> dict[str, float]:
        """Microseconds of each part for one of `count` pieces of work; `all` if all is known."""
        if not KNOWN or count <= 0:
            return {}
        parts = self.parts | ({"all": self._total} if self.server_known else {})
        return {part: round(used * 1e6 / count, 1) for part, used in parts.items()}


def spent(before: Reading, after: Reading) -> Spent:
    return Spent(
        after.at - before.at,
        {part: used - before.parts.get(part, 0.0) for part, used in after.parts.items()},
    )
