"""Who is whose child, read from /proc: which hosts a worker has, and what was left behind."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_GUARD = b"mainspring.executors.guard"
_HOST = b"mainspring.executors.host"


class Process(NamedTuple):
    pid: int
    parent: int
    state: str
    """As in `ps`: R, S, D, T …"""


def living() -> dict[int, Process]:
    """All processes of this machine, zombies aside."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (process := _read(int(entry.name))) is not None:
            found[process.pid] = process
    return found


def hosts_of(worker: int) -> dict[int, str]:
    """The hosts that a worker has now, by their pid, with the class of their executor."""
    found = {}
    for process in living().values():
        if process.parent == worker:
            words = _words(process.pid)
            if _HOST in words:
                place = words[words.index(_HOST) + 1].decode()
                found[process.pid] = place.rpartition(":")[2]
    return found


def guard_of(worker: int) -> int | None:
    for process in living().values():
        if process.parent == worker and _GUARD in _words(process.pid):
            return process.pid
    return None


def descendants(roots: Iterable[int]) -> set[int]:
    """These processes and all that they have started, as far as their parents still live."""
    children: dict[int, list[int]] = {}
    for process in living().values():
        children.setdefault(process.parent, []).append(process.pid)
    found = set(roots)
    to_visit = list(found)
    while to_visit:
        for child in children.get(to_visit.pop(), ()):
            if child not in found:
                found.add(child)
                to_visit.append(child)
    return found


def marked(variable: str, value: str) -> set[int]:
    """All living processes that carry this in their environment."""
    wanted = f"{variable}={value}".encode()
    found = set()
    for pid in living():
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if wanted in environment.split(b"\0"):
            found.add(pid)
    return found


def told(pid: int) -> str:
    """A process in words, for whoever wonders what was left behind."""
    return f"{pid}: {b' '.join(_words(pid)).decode('utf-8', 'replace')[:200]}"


def signal_if_there(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _read(pid: int) -> Process | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    # The command's name is in parentheses and may hold anything.
    state, parent = text.rpartition(")")[2].split()[:2]
    return None if state in "ZX" else Process(pid, int(parent), state)


def _words(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
