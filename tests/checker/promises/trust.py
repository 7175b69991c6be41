"""L4, L5: leases are taken from nobody who lives, and who loses one has stopped before."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from tests.checker.blame import gone, guard_was_frozen, silenced_seconds, stalled_seconds
from tests.checker.case import Case, Execution
from tests.checker.finding import Finding
from tests.checker.journal import Transaction
from tests.checker.rows import LeaseRow, WorkerRow


class Reaping(NamedTuple):
    worker: WorkerRow
    lease: LeaseRow
    last_beat: float
    at: float
    """Both on the clock of the logs."""
    transaction: Transaction


def reapings(case: Case) -> Iterator[Reaping]:
    beats: dict[int, float] = {}
    for transaction in case.journal.transactions:
        gone_leases: dict[int, LeaseRow] = {}
        for move in transaction.moves:
            match move.before, move.after:
                case LeaseRow() as lease, None:
                    gone_leases[lease.worker_id] = lease
                case _, LeaseRow() as lease:
                    beats[lease.worker_id] = move.at
        for move in transaction.moves:
            worker = move.after
            if (
                isinstance(worker, WorkerRow)
                and worker.ending == "reaped"
                and worker.id in gone_leases
            ):
                yield Reaping(
                    worker,
                    gone_leases[worker.id],
                    case.monotonic(beats.get(worker.id, transaction.at)),
                    case.monotonic(transaction.at),
                    transaction,
                )


def nobody_living_is_reaped(case: Case) -> Finding:
    """Each reaped worker was dead, or stood still or was cut off for long between its last beat
    and that moment.

    Long is a third of the lease. A worker beats three times in a lease, and its pauses before it
    connects again double, so it may be silent for about as long again as it was cut off; what is
    shorter leaves it a beat in time. A stop or kill of the database, a terminated backend, a cut
    that lets it connect again at once, and slow networks are no excuse: those reap nobody.

    Nobody can beat on a machine that does not let it run. What the machine kept a worker waiting
    counts like a silence: measured from outside, as the time in which it was ready to run and did
    not. A worker that keeps itself busy for too long runs, and has no such excuse.
    """
    finding = Finding("L4", "no living worker is reaped")
    silent = stalled = 0
    pids = {worker.pid for worker in case.workers.values()}
    for reaping in reapings(case):
        finding.exercised += 1
        if gone(case.faults, reaping.worker, reaping.at):
            continue
        silenced = silenced_seconds(case.faults, reaping.worker, reaping.last_beat, reaping.at)
        if silenced >= reaping.lease.seconds / 3:
            silent += 1
            continue
        kept_waiting = stalled_seconds(
            case.stalls, reaping.worker, reaping.last_beat, reaping.at, pids
        )
        if silenced + kept_waiting >= reaping.lease.seconds / 3:
            stalled += 1
            continue
        finding.broken(
            f"{case.told_worker(reaping.worker.id)} was reaped {reaping.at - reaping.last_beat:.2f}"
            f" s after its last beat (lease {reaping.lease.seconds:g} s) though it lived: faults"
            f" had silenced it for {silenced:.2f} s, and the machine had kept it waiting for"
            f" {kept_waiting:.2f} s ({reaping.transaction})"
        )
    finding.notes.append(
        f"{silent} of the reaped were alive and silenced, {stalled} were kept waiting by the"
        " machine, the others were gone"
    )
    return finding


def who_cannot_renew_stands_still(case: Case) -> Finding:
    """Of two executions of one task, the earlier is over when the later begins; and what was taken
    from a worker by reaping it tells no sink anything afterwards.

    Excused is what ran in a process that was frozen by us together with its guard, or apart from
    it: the guard cannot act while it stands still, and when we let the process go on, we undo what
    the guard did. Such an execution must be over within a lease after that. A worker that was
    frozen alone is not excused: for that the guard is there.

    What was closed by hand is stopped by a note, as after a cancel, and is fenced meanwhile: if its
    run is run again at once, the two may overlap.

    It counts as exercised when an attempt that had begun was taken from a worker whose process
    lived: a killed one stops in any case.
    """
    finding = Finding("L5", "a worker that cannot renew stops before its work is given away")
    excused = 0
    for task_id, executions in case.executions_of.items():
        for earlier, later in combinations(executions, 2):
            what = _overlap(earlier, later)
            if what is None or (task_id, earlier.term) in case.marks:
                continue
            if _excused(case, task_id, earlier, max(later.begin, earlier.begin)):
                excused += 1
                continue
            finding.broken(f"{case.told(task_id)}: {what}")
    for task_id, holdings in case.story.holdings.items():
        for held in holdings:
            execution = case.execution_under.get((task_id, held.term))
            if execution is None or held.until is None or not case.taken_away(held):
                continue
            taken_at = case.monotonic(held.until.at)
            worker = case.workers[held.worker_id]
            if not gone(case.faults, worker, taken_at):
                finding.exercised += 1
            last = execution.begin if execution.end is None else execution.end
            if last > taken_at + case.journal.clock.slack_seconds:
                if _excused(case, task_id, execution, last):
                    excused += 1
                else:
                    finding.broken(
                        f"{case.told(task_id)} was at work under term {held.term} (pid"
                        f" {execution.pid}) {last - taken_at:.3f} s after"
                        f" {case.told_worker(held.worker_id)} had been reaped"
                    )
    finding.notes.append(f"{excused} overlaps of processes that stood still with their guard")
    return finding


def _overlap(earlier: Execution, later: Execution) -> str | None:
    """In words; None if they do not."""
    if earlier.begin >= later.begin:
        return (
            f"the execution under token {earlier.token} (pid {earlier.pid}) began"
            f" {earlier.begin - later.begin:.3f} s after that under token {later.token}"
        )
    if earlier.end is not None and earlier.end > later.begin:
        return (
            f"the execution under token {earlier.token} (pid {earlier.pid}) ended"
            f" {earlier.end - later.begin:.3f} s after that under token {later.token}"
            f" (pid {later.pid}) had begun"
        )
    return None


def _excused(case: Case, task_id: int, execution: Execution, at: float) -> bool:
    held = case.story.under(task_id, execution.term)
    if held is None:
        return False
    worker = case.workers[held.worker_id]
    lease_seconds = case.lease_seconds(worker.id)
    last = at if execution.end is None else max(at, execution.end)
    return guard_was_frozen(case.faults, worker, execution.pid, last, lease_seconds)
