"""C1: a worker holds and runs no more than it has slots, and slots come back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tests.checker.case import Case
from tests.checker.finding import Finding
from tests.checker.rows import ClaimRow

AHEAD_PER_SLOT = {"process": 32, "command": 32}
"""Short tasks of these kinds are held ahead of their slots (docs/decisions/0012)."""


def never_more_than_slots(case: Case) -> Finding:
    """At every moment, per worker and kind: executions, by the sink, are at most the slots; and
    tasks that are claimed and whose work has not ended are at most what it may hold.

    A slot is given back when the work has ended, before that is reported; so a claim counts until
    its work told the sink of its end, not until its row is gone. What ended without a word is left
    out.

    At the end no claim holds nothing, and no worker with a free slot leaves a queue of its own
    alone.
    """
    finding = Finding("C1", "never more than slots, and slots come back")
    running: dict[tuple[int, str], list[tuple[float, float]]] = defaultdict(list)
    holding: dict[tuple[int, str], list[tuple[float, float]]] = defaultdict(list)
    slack = case.journal.clock.slack_seconds
    for task_id, holdings in case.story.holdings.items():
        kind = case.rule(task_id).kind
        for held in holdings:
            execution = case.execution_under.get(held.pair)
            if execution is None or execution.end is None:
                continue
            running[held.worker_id, kind].append((execution.begin, execution.end))
            granted = case.monotonic(held.since.at) + slack
            holding[held.worker_id, kind].append((granted, execution.end - slack))
    for (worker_id, kind), intervals in running.items():
        finding.exercised += len(intervals)
        slots = case.workers[worker_id].slots_of(kind)
        at_once = most_at_once(intervals)
        if at_once > slots:
            finding.broken(
                f"{case.told_worker(worker_id)} ran {at_once} tasks of kind {kind} at once; it has"
                f" {slots} slots"
            )
    for (worker_id, kind), intervals in holding.items():
        allowed = case.workers[worker_id].slots_of(kind) * (1 + AHEAD_PER_SLOT.get(kind, 0))
        at_once = most_at_once(intervals)
        if at_once > allowed:
            finding.broken(
                f"{case.told_worker(worker_id)} held {at_once} tasks of kind {kind} at once; it may"
                f" hold {allowed}"
            )
    _check_claims(case, finding)
    _check_standing_still(case, finding)
    return finding


def most_at_once(intervals: Iterable[tuple[float, float]]) -> int:
    edges = [(begin, 1) for begin, end in intervals if begin < end]
    edges += [(end, -1) for begin, end in intervals if begin < end]
    most = now = 0
    # An end comes before a beginning of the same moment: the slot is free by then.
    for _, step in sorted(edges):
        now += step
        most = max(most, now)
    return most


def _check_claims(case: Case, finding: Finding) -> None:
    for claim in case.tables.claims.values():
        if not _live(case, claim):
            finding.broken(
                f"claim {claim.id} of {case.told_worker(claim.worker_id)} holds nothing and is"
                " still there"
            )


def _check_standing_still(case: Case, finding: Finding) -> None:
    held: dict[tuple[int, str], int] = defaultdict(int)
    for claim in case.tables.claims.values():
        for task_id in _live(case, claim):
            held[claim.worker_id, case.rule(task_id).kind] += 1
    for row in case.tables.ready.values():
        rule = case.rule(row.task_id)
        for lease in case.tables.leases.values():
            worker = case.workers[lease.worker_id]
            free = worker.slots_of(rule.kind) - held[worker.id, rule.kind]
            if rule.queue in worker.queues and free > 0 and not lease.draining:
                finding.broken(
                    f"{case.told(row.task_id)} waits in queue `{rule.queue}` while"
                    f" {case.told_worker(worker.id)} has {free} free slots of kind {rule.kind}"
                )


def _live(case: Case, claim: ClaimRow) -> list[int]:
    """The tasks that a claim still holds."""
    return [
        task_id
        for task_id, term in claim.pairs
        if (task := case.tables.tasks.get(task_id)) is not None
        and task.term == term
        and task.state == "ready"
    ]
