"""T1: tasks, runs and attempts make the moves of the published tables, and no others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable

from tests.checker.case import Case
from tests.checker.finding import Finding
from tests.checker.journal import Move, Transaction
from tests.checker.rows import AttemptRow, PastRunRow, PastTaskRow, Row, RunRow, TaskRow
from tests.checker.states import (
    ATTEMPT_ENDS,
    RUN_CLOSED,
    RUN_MOVES,
    TASK_BEGINS,
    TASK_CLOSED,
    task_may_be_marked,
    task_may_move,
    task_may_reopen,
)
from tests.checker.story import Change


def only_legal_moves(case: Case) -> Finding:
    """Every move of the journal is in the table; what is closed changes only by being opened again,
    under the next generation; what leaves for history arrives there as it was; and the journal,
    followed to its end, gives the tables, so that nothing moved unseen.
    """
    finding = Finding("T1", "only legal moves, and closed means closed")
    for change in case.story.changes:
        before, after = change.before.known, change.after.known
        if before is None or after is None or change.found:
            continue
        shown_before, shown_after = change.before.shown, change.after.shown
        assert shown_before is not None
        assert shown_after is not None
        # Queued again under a higher term without having been held: that is for X1 to judge.
        if shown_before == shown_after and (before.term == after.term or shown_after == "ready"):
            continue
        finding.exercised += 1
        if not _may_move(change, shown_before, shown_after):
            finding.broken(
                f"{case.told(change.task_id)} moved from {shown_before} to {shown_after}"
                f" ({change.transaction})"
            )
    for transaction in case.journal.transactions:
        _Moves(case, finding, transaction).check()
    _check_chain(case, finding)
    return finding


def _may_move(change: Change, before: str, after: str) -> bool:
    if change.marked is not None:
        return task_may_be_marked(before, after, change.marked.deed, reopened=change.reopened)
    if change.reopened:
        # Behind a task that failed, and is skipped by hand, all is opened and skipped at once.
        skipped = any(mark.deed == "skipped" for mark in change.marks.values())
        return task_may_reopen(before, after) or (skipped and after == "skipped")
    return task_may_move(before, after)


class _Moves:
    """The moves of one transaction, row by row."""

    def __init__(self, case: Case, finding: Finding, transaction: Transaction) -> None:
        self._case = case
        self._finding = finding
        self._moves = transaction.moves
        self._left: dict[int, TaskRow | PastTaskRow] = {}
        """Tasks that left their table, as they were."""
        self._came: dict[int, TaskRow | PastTaskRow] = {}
        """Tasks that came into a table."""
        self._left_runs: set[int] = set()
        self._came_runs: set[int] = set()
        self._reopened: set[int] = set()
        """Runs of which a task was opened again."""
        for move in transaction.moves:
            match move.before, move.after:
                case None, TaskRow() | PastTaskRow() as task:
                    self._came[task.id] = task
                case TaskRow() | PastTaskRow() as task, None:
                    self._left[task.id] = task
                case None, RunRow() | PastRunRow() as run:
                    self._came_runs.add(run.id)
                case RunRow() | PastRunRow() as run, None:
                    self._left_runs.add(run.id)
                case TaskRow() as before, TaskRow() as after:
                    if after.generation > before.generation:
                        self._reopened.add(after.run_id)

    def check(self) -> None:
        for move in self._moves:
            if problem := self._wrong(move):
                self._finding.broken(f"{problem} (journal {move.number})")

    def _wrong(self, move: Move) -> str | None:
        match move.kind, move.before, move.after:
            case "I", None, TaskRow() as task if task.id not in self._left:
                if task.state not in TASK_BEGINS:
                    return f"{self._case.told(task.id)} was made as {task.state}"
                return None
            case "U", TaskRow() as before, TaskRow() as after:
                return self._wrong_task(before, after)
            case "D", TaskRow() | PastTaskRow() as task, None:
                return self._wrong_leave(task)
            case "I", None, RunRow() as run if run.id not in self._left_runs:
                if run.state not in (None, "running"):
                    return f"run {run.id} was made as {run.state}"
                return None
            case "U", RunRow() as before_run, RunRow() as after_run:
                return self._wrong_run(before_run, after_run)
            case "D", RunRow() | PastRunRow() as run, None if run.id not in self._came_runs:
                return f"run {run.id} left table {move.relation} and arrived nowhere"
            case "I", None, AttemptRow() as attempt if attempt.state not in ATTEMPT_ENDS:
                told = self._case.told(attempt.task_id)
                return f"{told} has an attempt on record that is {attempt.state}"
            case "U" | "D", AttemptRow() as attempt, _:
                told = self._case.told(attempt.task_id)
                return f"{told}: the record of its attempt under term {attempt.term} was changed"
            case "U", PastTaskRow() | PastRunRow() as past, _:
                return f"{move.relation} {past.key} was changed"
            case _:
                return None

    def _wrong_task(self, before: TaskRow, after: TaskRow) -> str | None:
        told = self._case.told(after.id)
        if before.state in TASK_CLOSED:
            reopened = (
                after.state == "waiting"
                and after.generation == before.generation + 1
                and after.term > before.term
            )
            if reopened:
                return None
            return f"{told} was {before.state} and was changed: {after.state}, term {after.term}"
        if after.generation != before.generation:
            return (
                f"{told} went from generation {before.generation} to {after.generation}"
                f" while {before.state}"
            )
        if (after.finished_at is None) != after.open:
            return f"{told} is {after.state} and its end is {after.finished_at}"
        return None

    def _wrong_leave(self, task: TaskRow | PastTaskRow) -> str | None:
        """Between the hot table and history a task moves as it is, and closed."""
        told = self._case.told(task.id)
        if task.state not in TASK_CLOSED:
            return f"{told} was deleted while {task.state}"
        came = self._came.get(task.id)
        if came is None:
            return f"{told} left its table and arrived nowhere"
        if _facts(came) != _facts(task):
            return f"{told} left its table as {_facts(task)} and arrived as {_facts(came)}"
        return None

    def _wrong_run(self, before: RunRow, after: RunRow) -> str | None:
        if before.state == after.state:
            if before.state in RUN_CLOSED:
                return f"run {after.id} was {before.state} and was changed"
            return None
        if before.state is None or after.state not in RUN_MOVES[before.state]:
            return f"run {after.id} moved from {before.state} to {after.state}"
        if before.state in RUN_CLOSED and after.id not in self._reopened:
            return f"run {after.id} was opened again, from {before.state}, with none of its tasks"
        return None


def _facts(task: TaskRow | PastTaskRow) -> tuple[object, ...]:
    return task.state, task.term, task.attempt, task.lost, task.generation, task.finished_at


def _check_chain(case: Case, finding: Finding) -> None:
    """Each move begins where the one before it ended, and the last one is what the table says."""
    last: dict[str, dict[Hashable, Row]] = defaultdict(dict)
    for move in case.journal.moves():
        rows, key = last[move.relation], move.row.key
        if move.before != rows.get(key):
            finding.broken(f"{move.relation} {key} was changed unseen before journal {move.number}")
        rows.pop(key, None)
        if move.after is not None:
            rows[key] = move.after
    tables: dict[str, Iterable[Row]] = {
        "run": case.tables.runs.values(),
        "task": case.tables.tasks.values(),
        "ready": case.tables.ready.values(),
        "claim": case.tables.claims.values(),
        "lease": case.tables.leases.values(),
        "attempt": case.tables.attempts.values(),
        "task_history": case.tables.past_tasks.values(),
        "run_history": case.tables.past_runs.values(),
    }
    for relation, of_table in tables.items():
        rows, table = last[relation], {row.key: row for row in of_table}
        for key in sorted(rows.keys() ^ table.keys(), key=str):
            where = "journal" if key in rows else "table"
            finding.broken(f"{relation} {key} is in the {where} only: changed unseen")
        for key in rows.keys() & table.keys():
            if rows[key] != table[key]:
                finding.broken(f"{relation} {key} is not what the journal says: changed unseen")
