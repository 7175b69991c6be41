"""P1: within a lane, what is more urgent is claimed first."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from tests.checker.blame import ABORTING, is_far
from tests.checker.case import Case
from tests.checker.finding import Finding
from tests.checker.journal import Move, Snapshot, Transaction
from tests.checker.promises.pauses import Paused
from tests.checker.rows import ClaimRow, ReadyRow, TaskRow

RESCAN_SECONDS = 1.0
"""A worker may begin to look behind a mark of its own; this often it looks from the start."""

_ABORT_SECONDS = 1.0


class Queued(NamedTuple):
    row: ReadyRow
    transaction: int


class Claim(NamedTuple):
    """One claim and what it took, in one lane."""

    row: ClaimRow
    transaction: Transaction
    at: float
    snapshot: Snapshot
    lane: int
    least: int
    """The lowest priority that it took."""
    taken: dict[int, int]
    """By priority, the highest position."""


def the_urgent_come_first(case: Case) -> Finding:
    """No claim takes a task while a more urgent one of its lane waits that it could have taken:
    one that was committed when the claim's statement began, as its snapshot tells, and that stayed
    in the queue.

    Excused is what the claim was right to pass over:
    - what somebody else was taking at that moment: rows that are locked are skipped. Either the
      journal has that transaction, and then it had not seen the claim; or it was ended half-way,
      which takes a fault close by.
    - what came into view behind the worker's mark, for as long as it may look from there.
    - what is of a paused dag. When that is resumed, it comes into view.
    A child that is granted to the worker of its parent comes before tasks of the same priority,
    which is no inversion; before more urgent ones it does not, and is held to the same rule.
    """
    finding = Finding("P1", "within a lane, the more urgent are claimed first")
    queue = _Queue()
    leaving = {
        move.row.key: move
        for move in case.journal.moves("ready")
        if move.kind == "D" and isinstance(move.row, ReadyRow)
    }
    marks = _Marks(case)
    paused = Paused()
    excused = 0
    for transaction in case.journal.transactions:
        claims = list(_claims(transaction, case))
        queue.apply(transaction)
        for claim in claims:
            finding.exercised += queue.offers_a_choice(claim)
            for passed in queue.more_urgent(claim):
                if _was_leaving(leaving.get(passed.row.position), claim):
                    continue
                if case.runs_ever[case.ever[passed.row.task_id].run_id].dag_id in paused.dags:
                    continue
                if marks.may_hide(claim, passed) or _abort_close_by(case, claim):
                    excused += 1
                    continue
                finding.broken(
                    f"{case.told_worker(claim.row.worker_id)} took a task of priority"
                    f" {claim.least} in lane {claim.lane} (claim {claim.row.id}) and left"
                    f" {case.told(passed.row.task_id)}, priority {passed.row.priority}, waiting"
                    f" ({claim.transaction})"
                )
            marks.learn(claim)
        for move in transaction.moves:
            resumed = paused.learn(move)
            if resumed is not None:
                queue.see_again(transaction, resumed, case)
    finding.notes.append(f"{excused} inversions excused: behind a mark, or beside a fault")
    return finding


def _claims(transaction: Transaction, case: Case) -> list[Claim]:
    """The claims of a transaction, by lane; granted ones included."""
    took: dict[int, tuple[int, int, int]] = {}
    """Of each task: its lane, priority and position."""
    for move in transaction.moves:
        match move.kind, move.row:
            case "D", ReadyRow() as row:
                took[row.task_id] = (row.lane, row.priority, row.position)
            case "U", TaskRow() as task:
                took.setdefault(task.id, (task.lane, task.priority, 0))
    claims = []
    for move in transaction.moves:
        if move.kind != "I" or not isinstance(move.after, ClaimRow) or move.snapshot is None:
            continue
        lanes: dict[int, dict[int, int]] = defaultdict(dict)
        for task_id in move.after.task_ids:
            if task_id in took:
                lane, priority, position = took[task_id]
                lanes[lane][priority] = max(lanes[lane].get(priority, 0), position)
        claims += [
            Claim(move.after, transaction, move.at, move.snapshot, lane, min(taken), taken)
            for lane, taken in lanes.items()
        ]
    return claims


class _Queue:
    """The rows of `ready`, by lane, priority and position."""

    def __init__(self) -> None:
        self._lanes: dict[int, dict[int, dict[int, Queued]]] = defaultdict(
            lambda: defaultdict(dict)
        )

    def apply(self, transaction: Transaction) -> None:
        for move in transaction.moves:
            if isinstance(move.before, ReadyRow):
                row = move.before
                self._lanes[row.lane][row.priority].pop(row.position, None)
            if isinstance(move.after, ReadyRow):
                row = move.after
                self._lanes[row.lane][row.priority][row.position] = Queued(row, transaction.id)

    def see_again(self, transaction: Transaction, dag_id: int, case: Case) -> None:
        """What waits of a dag that was resumed is as if it came now."""
        for rows in (rows for lane in self._lanes.values() for rows in lane.values()):
            for position, queued in rows.items():
                run_id = case.ever[queued.row.task_id].run_id
                if case.runs_ever[run_id].dag_id == dag_id:
                    rows[position] = Queued(queued.row, transaction.id)

    def more_urgent(self, claim: Claim) -> list[Queued]:
        """What it saw and left, above what it took."""
        return [
            queued
            for priority, rows in self._lanes[claim.lane].items()
            if priority > claim.least
            for queued in rows.values()
            if self._seen(claim, queued)
        ]

    def offers_a_choice(self, claim: Claim) -> bool:
        """Whether there was more than one priority to take from."""
        return len(claim.taken) > 1 or any(
            self._seen(claim, queued)
            for priority, rows in self._lanes[claim.lane].items()
            if priority != claim.least
            for queued in rows.values()
        )

    @staticmethod
    def _seen(claim: Claim, queued: Queued) -> bool:
        return queued.transaction != claim.transaction.id and claim.snapshot.sees(
            queued.transaction
        )


class _Marks:
    """How far into each lane and priority a worker has claimed: behind that it may not look.

    For workers that are far from the database servers look, each for all of them.

    The excuse ends with the first claim after one that came more than a look from the start later
    than the first claim which could see the row: in between it has looked there.
    """

    def __init__(self, case: Case) -> None:
        self._workers = case.workers
        self._highest: dict[tuple[int, int, int], int] = {}
        self._claims: dict[tuple[int, int], list[Claim]] = defaultdict(list)

    def may_hide(self, claim: Claim, passed: Queued) -> bool:
        worker, lane = self._looker(claim), claim.lane
        if self._highest.get((worker, lane, passed.row.priority), 0) < passed.row.position:
            return False
        before = self._claims[worker, lane]
        saw = [earlier for earlier in before if earlier.snapshot.sees(passed.transaction)]
        return not saw or saw[-1].at - saw[0].at <= RESCAN_SECONDS

    def learn(self, claim: Claim) -> None:
        worker, lane = self._looker(claim), claim.lane
        self._claims[worker, lane].append(claim)
        for priority, position in claim.taken.items():
            key = (worker, lane, priority)
            self._highest[key] = max(self._highest.get(key, 0), position)

    def _looker(self, claim: Claim) -> int:
        """Zero for the servers together."""
        worker = self._workers[claim.row.worker_id]
        return 0 if is_far(worker) else worker.id


def _was_leaving(leaving: Move | None, claim: Claim) -> bool:
    """Somebody took it without having seen the claim: at the same time, as far as one can know."""
    if leaving is None or leaving.snapshot is None:
        return False
    return not leaving.snapshot.sees(claim.transaction.id)


def _abort_close_by(case: Case, claim: Claim) -> bool:
    at = case.monotonic(claim.at)
    return any(
        fault.kind in ABORTING and fault.at - _ABORT_SECONDS <= at <= fault.until + _ABORT_SECONDS
        for fault in case.faults
    )
