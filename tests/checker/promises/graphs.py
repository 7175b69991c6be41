"""D1: a task starts only when all tasks before it have succeeded, and its start time has come."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby

from tests.checker.case import Case
from tests.checker.finding import Finding
from tests.checker.rows import PastTaskRow, TaskRow
from tests.checker.story import Change


def only_after_all_parents(case: Case) -> Finding:
    """After the transaction in which a task became ready, all its parents were succeeded; none
    waits for one that will never be; and outside, a parent's work had ended when its child's began.
    """
    finding = Finding("D1", "a task starts only after all tasks before it have succeeded")
    states: dict[int, str] = {}
    for _, changes in groupby(case.story.changes, key=lambda change: change.transaction.id):
        of_transaction = list(changes)
        for change in of_transaction:
            if change.after.row is not None:
                states[change.task_id] = change.after.row.state
        for change in of_transaction:
            if not change.found:
                _check_change(case, finding, change, states)
    _check_begins(case, finding)
    return finding


def _check_change(case: Case, finding: Finding, change: Change, states: dict[int, str]) -> None:
    before, after = change.before.row, change.after.row
    if after is None:
        return
    definition = case.tables.definitions[after.version_id]
    told = case.told(change.task_id)
    waited = before is None or before.state == "waiting" or change.reopened
    if after.state == "ready" and waited:
        if before is not None and not definition.parents[after.node]:
            early = after.due_at.timestamp() - change.transaction.at
            if early > 0:
                finding.broken(
                    f"{told} became ready {early:.3f} s before its start time"
                    f" ({change.transaction})"
                )
        for parent in definition.parents[after.node]:
            finding.exercised += 1
            state = states.get(after.run_id + parent)
            if state != "succeeded":
                finding.broken(
                    f"{told} became ready while {case.told(after.run_id + parent)} was {state}"
                    f" ({change.transaction})"
                )
    if not after.open and after.state != "succeeded" and (before is None or before.open):
        for child in definition.children[after.node]:
            if states.get(after.run_id + child) == "waiting":
                finding.broken(
                    f"{case.told(after.run_id + child)} still waits for {told}, which is"
                    f" {after.state} ({change.transaction})"
                )


def _check_begins(case: Case, finding: Finding) -> None:
    successes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    """By task: when it succeeded, in the journal's numbers, and under which term."""
    for change in case.story.changes:
        before, after = change.before.known, change.after.known
        if _succeeded(after) and not _succeeded(before) and after is not None:
            successes[change.task_id].append((change.transaction.number, after.term))
    for task_id, executions in case.executions_of.items():
        task = case.ever[task_id]
        parents = case.tables.definitions[task.version_id].parents[task.node]
        for execution in executions if parents else ():
            held = case.story.under(task_id, execution.term)
            if held is None:
                continue
            for parent in parents:
                before_it = [
                    term
                    for number, term in successes[task.run_id + parent]
                    if number <= held.since.number
                ]
                if not before_it:
                    continue
                of_parent = case.execution_under.get((task.run_id + parent, before_it[-1]))
                if (
                    of_parent is not None
                    and of_parent.end is not None
                    and execution.begin <= of_parent.end
                ):
                    finding.broken(
                        f"{case.told(task_id)} began {of_parent.end - execution.begin:.3f} s before"
                        f" {case.told(task.run_id + parent)} had ended"
                    )


def _succeeded(row: TaskRow | PastTaskRow | None) -> bool:
    return row is not None and row.state == "succeeded"
