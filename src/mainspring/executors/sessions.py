"""Everything that a host has started, found and signalled as a whole.

A host leads a session of its own. User code may open process groups inside it (each command
has one) and sessions beside it, and what it started may outlive its parent. So `members` takes
three ways together: the sessions of the given leaders, all descendants of what it finds, and
whoever carries a leader's mark in its environment. Who leaves the session, loses its parent and
clears its environment gets away; on systems without /proc the mark cannot be seen.

A leader's number stays reserved as long as anything is in its session or its exit has not
been collected, so signal first, collect the exit afterwards.

Nothing but the standard library: the guard uses this too, and is to stay small.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping

MARK = "MAINSPRING_HOST_OF"
"""The variable by which a host's offspring is known; its value is unique to the host."""

Leaders = Mapping[int, str]
"""Hosts, by their process number, with their marks."""

_ROUNDS_MAX = 20
"""Processes that fork while we look are found in the next round; a fork bomb is not chased."""
_ENVIRONMENT_BYTES_MAX = 1 << 20


def freeze(leaders: Leaders) -> set[int]:
    """Stop every member, again until a round finds nobody new; returns them."""
    return _signal(leaders, signal.SIGSTOP)


def thaw(leaders: Leaders) -> None:
    _signal(leaders, signal.SIGCONT)


def kill(leaders: Leaders) -> None:
    """Kill every member.

    They are stopped first: were a parent to die before its children are found, those in
    sessions of their own would be found no more.
    """
    for pid in freeze(leaders):
        _tell(os.kill, pid, signal.SIGKILL)
    for leader in leaders:
        _tell(os.killpg, leader, signal.SIGKILL)


def _signal(leaders: Leaders, number: signal.Signals) -> set[int]:
    told: set[int] = set()
    for _ in range(_ROUNDS_MAX):
        found = members(leaders) - told
        if not found:
            break
        for pid in found:
            _tell(os.kill, pid, number)
        told |= found
    return told


def _tell(send: Callable[[int, int], None], whom: int, number: signal.Signals) -> None:
    try:
        send(whom, number)
    except (ProcessLookupError, PermissionError):
        pass


def members(leaders: Leaders) -> set[int]:
    """The living processes that belong to the leaders."""
    if not leaders:
        return set()
    found: set[int] = set()
    children: dict[int, list[int]] = {}
    others: list[int] = []
    for pid, parent, session in _processes():
        children.setdefault(parent, []).append(pid)
        if session in leaders or pid in leaders:
            found.add(pid)
        else:
            others.append(pid)
    found |= _marked(others, leaders)
    to_visit = list(found)
    while to_visit:
        for child in children.get(to_visit.pop(), ()):
            if child not in found:
                found.add(child)
                to_visit.append(child)
    found.discard(os.getpid())
    return found


def _marked(pids: Iterable[int], leaders: Leaders) -> set[int]:
    name = f"{MARK}=".encode()
    marks = {mark.encode() for mark in leaders.values()}
    found: set[int] = set()
    for pid in pids:
        environment = _read(f"/proc/{pid}/environ", _ENVIRONMENT_BYTES_MAX)
        if name in environment:
            value = environment.partition(name)[2].partition(b"\0")[0]
            if value in marks:
                found.add(pid)
    return found


def _read(path: str, size: int) -> bytes:
    """The beginning of a file of /proc; empty if it is gone or not ours to read."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(fd, size)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _processes() -> Iterator[tuple[int, int, int]]:
    """(process, parent, session) of all that live, zombies aside."""
    try:
        names = os.listdir("/proc")
    except FileNotFoundError:
        yield from _processes_by_ps()
        return
    for name in names:
        if not name.isdigit():
            continue
        line = _read(f"/proc/{name}/stat", 1024)
        # The command's name is in parentheses and may hold anything, parentheses too.
        fields = line[line.rfind(b")") + 2 :].split(None, 4)
        if len(fields) == 5 and fields[0] not in (b"Z", b"X"):
            yield int(name), int(fields[1]), int(fields[3])


def _processes_by_ps() -> Iterator[tuple[int, int, int]]:
    """Without /proc, groups stand in for sessions: `ps` shows no usable session there."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "stat="],
        capture_output=True,
        check=False,
    )
    for line in listing.stdout.splitlines():
        fields = line.split()
        if len(fields) == 4 and not fields[3].startswith(b"Z"):
            yield int(fields[0]), int(fields[1]), int(fields[2])
