"""Which faults account for what happened to a worker.

A fault names its victim by `pid`, if it was a process, and by `target`: `worker 2` is the worker
that was started as `worker-2`, and what is its own is `host of worker 2`, `guard of worker 2` or,
for the worker with its guard and hosts, `all of worker 2`. The worker `far-1` is `far 1`: it is far
from the database, and what happens to servers happens to its way there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tests.checker.evidence import Fault, Stall
from tests.checker.rows import WorkerRow

DEADLY = ("kill", "crash_point", "revoke")
DEAFENING = ("half_open", "refuse")
"""While these last, nothing of the worker's reaches the database, or no new connection does."""

_SERVER_GONE = (*DEAFENING, "freeze", "away")

ABORTING = (
    "kill",
    "crash_point",
    "freeze",
    "drain",
    "cut",
    "half_open",
    "terminate",
    "lost_request",
    "unknown_commit",
    "backend_kill",
    "database_stop",
    "database_kill",
)
"""These can end a transaction half-way, and nobody is told which one it was."""


def name_in_log(worker: WorkerRow) -> str:
    return worker.name.replace("-", " ")


def is_far(worker: WorkerRow) -> bool:
    return worker.name.startswith("far-")


def gone(faults: Iterable[Fault], worker: WorkerRow, at: float) -> Fault | None:
    """The fault that had ended the worker's process by then."""
    for fault in faults:
        if fault.pid == worker.pid:
            if fault.kind in DEADLY and fault.at <= at:
                return fault
            if fault.kind == "drain" and fault.until <= at:
                return fault
    return None


def silenced_seconds(
    faults: Iterable[Fault], worker: WorkerRow, since: float, until: float
) -> float:
    """For how long the worker stood still, or was cut off, in that time.

    Lost requests are single moments. Those that were beats make a silence from the first of them
    to the last.
    """
    seconds = 0.0
    lost_beats: list[float] = []
    for fault in faults:
        overlap = max(0.0, min(fault.until, until) - max(fault.at, since))
        its_network = fault.target == name_in_log(worker)
        if fault.kind == "freeze" and fault.pid == worker.pid:
            seconds += overlap
        if fault.kind in DEAFENING and its_network:
            seconds += overlap
        if is_far(worker) and fault.target.startswith("server ") and fault.kind in _SERVER_GONE:
            seconds += overlap
        if fault.kind == "lost_request" and its_network and _is_beat(fault):
            lost_beats += [fault.at] if since <= fault.at <= until else []
    if lost_beats:
        seconds += max(lost_beats) - min(lost_beats)
    return seconds


def _is_beat(fault: Fault) -> bool:
    return "renew_lease" in fault.detail or "beats" in fault.detail


def stalled_seconds(
    stalls: Iterable[Stall], worker: WorkerRow, since: float, until: float, pids: Collection[int]
) -> float:
    """For how long the machine kept the worker waiting in that time, or all that it says.

    Who is not a worker, by the `pids` of those, is a server: that is the way of who is far.
    """
    seconds, covered = 0.0, since
    for stall in sorted(stalls, key=lambda stall: stall.at):
        on_its_way = is_far(worker) and stall.pid not in pids
        if stall.pid in (None, worker.pid) or on_its_way:
            begin, end = max(stall.at, covered), min(stall.until, until)
            if end > begin:
                seconds += end - begin
                covered = end
    return seconds


def guard_was_frozen(
    faults: Iterable[Fault], worker: WorkerRow, pid: int, at: float, recovery_seconds: float
) -> bool:
    """Whether whoever should have stopped this process was stopped itself, or it was both
    stopped and let go on by us, at that time or shortly before.
    """
    name = name_in_log(worker)
    return any(
        fault.kind == "freeze"
        and fault.at <= at <= fault.until + recovery_seconds
        and (fault.pid == pid or fault.target in (f"all of {name}", f"guard of {name}"))
        for fault in faults
    )
