"""Everything that a host has started, found and signalled as a whole.

A host leads a session of its own. User code may open process groups inside it (each command
has one), so a signal to the host's group is not enough; and it may open sessions, so the
session alone is not enough either. `members` therefore takes the sessions of the given leaders
and all descendants of what it finds. What starts a session *and* outlives its parent, a true
daemon, is out of reach once that parent is gone.

A leader's number stays reserved as long as anything is in its session or its exit has not
been collected, so signal first, collect the exit afterwards.

Nothing but the standard library: the guard uses this too, and is to stay small.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Collection, Iterator

_ROUNDS_MAX = 20
"""Processes that fork while we look are found in the next round; a fork bomb is not chased."""


def signal_all(leaders: Collection[int], number: signal.Signals) -> None:
    """Signal every member, again until a round finds nobody new."""
    for leader in leaders:
        try:
            os.killpg(leader, number)
        except (ProcessLookupError, PermissionError):
            pass
    told: set[int] = set()
    for _ in range(_ROUNDS_MAX):
        found = members(leaders) - told
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                pass
        told |= found


def members(leaders: Collection[int]) -> set[int]:
    """The living processes of the leaders' sessions, and their descendants."""
    if not leaders:
        return set()
    wanted = set(leaders)
    found: set[int] = set()
    children: dict[int, list[int]] = {}
    for pid, parent, session in _processes():
        children.setdefault(parent, []).append(pid)
        if session in wanted or pid in wanted:
            found.add(pid)
    to_visit = list(found)
    while to_visit:
        for child in children.get(to_visit.pop(), ()):
            if child not in found:
                found.add(child)
                to_visit.append(child)
    found.discard(os.getpid())
    return found


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
        try:
            fd = os.open(f"/proc/{name}/stat", os.O_RDONLY)
        except OSError:
            continue
        try:
            line = os.read(fd, 1024)
        except OSError:
            continue
        finally:
            os.close(fd)
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
