"""T3: what was asked to stop starts nothing more, until it is opened again."""

from __future__ import annotations

from collections import defaultdict

from tests.checker.case import Case
from tests.checker.finding import Finding
from tests.checker.journal import Move
from tests.checker.rows import RunRow, TaskRow
from tests.checker.story import Holding


def what_was_stopped_starts_nothing(case: Case) -> Finding:
    """From the transaction on that stopped a run, or a task, nothing of it is granted, every task
    of it that is still open knows that it is to stop, and none of them is queued again.
    """
    finding = Finding("T3", "a stopped run starts nothing more")
    stopped = _Stopped()
    grants: dict[int, list[Holding]] = defaultdict(list)
    for holdings in case.story.holdings.values():
        for held in holdings:
            grants[held.since.id].append(held)
    for transaction in case.journal.transactions:
        for held in grants[transaction.id]:
            if held.task_id in stopped.tasks or case.ever[held.task_id].run_id in stopped.runs:
                finding.broken(
                    f"{case.told(held.task_id)} was granted to {case.told_worker(held.worker_id)}"
                    f" after it had been stopped ({transaction})"
                )
        touched: set[int] = set()
        for move in transaction.moves:
            touched |= stopped.learn(move)
        for run_id in sorted(touched & stopped.runs):
            for task in stopped.of_run[run_id].values():
                if task.open and task.stop is None:
                    finding.broken(
                        f"{case.told(task.id)} is {task.state} and was not told to stop, after its"
                        f" run had been stopped ({transaction})"
                    )
    for change in case.story.changes:
        row = change.after.row
        if row is not None and row.stop is not None and change.after.queued:
            finding.broken(
                f"{case.told(row.id)} is in a queue although it was stopped ({change.transaction})"
            )
    finding.exercised = len(stopped.ever)
    return finding


class _Stopped:
    """What is to stop at the moment."""

    def __init__(self) -> None:
        self.runs: set[int] = set()
        self.tasks: set[int] = set()
        self.of_run: dict[int, dict[int, TaskRow]] = defaultdict(dict)
        self.ever: set[int] = set()
        """Runs that were stopped, or of which a task was."""

    def learn(self, move: Move) -> set[int]:
        """The runs that it is about."""
        match move.row:
            case TaskRow() as task:
                self.of_run[task.run_id].pop(task.id, None)
                self.tasks.discard(task.id)
                if move.after is not None:
                    self.of_run[task.run_id][task.id] = task
                    if task.stop is not None:
                        self.tasks.add(task.id)
                        self.ever.add(task.run_id)
                return {task.run_id}
            case RunRow() as run:
                self.runs.discard(run.id)
                if move.after is not None and run.stop is not None:
                    self.runs.add(run.id)
                    self.ever.add(run.id)
                return {run.id}
            case _:
                return set()
