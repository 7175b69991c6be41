"""H1: what people close by hand is closed once, as they said, and because they said so."""

from __future__ import annotations

from collections import Counter

from tests.checker.case import Case
from tests.checker.evidence import Answered, Asked
from tests.checker.finding import Finding
from tests.checker.rows import RemarkRow


def closed_as_was_said(case: Case) -> Finding:
    """Each remark that a task was closed by hand goes with exactly that move, in its transaction;
    the term that it ended is never held again; no remark is changed; and there are no more of them
    than were asked for, and at least one for each run of which a caller was told so.
    """
    finding = Finding("H1", "what is closed by hand is closed once, as was said")
    moved = {
        (change.task_id, change.marked.term)
        for change in case.story.changes
        if change.marked is not None
        and change.after.row is not None
        and change.after.row.state == change.marked.deed
        and change.after.row.term == change.marked.term + 1
    }
    for (task_id, term), mark in case.marks.items():
        finding.exercised += 1
        if (task_id, term) not in moved:
            finding.broken(
                f"{case.told(task_id)} is said to be {mark.deed} by hand under term {term}, and did"
                " not move"
            )
    for task_id, holdings in case.story.holdings.items():
        for held in holdings:
            if (task_id, held.term) in case.marks and held.until is None:
                finding.broken(
                    f"{case.told(task_id)} was closed by hand and is still held by"
                    f" {case.told_worker(held.worker_id)} under term {held.term}"
                )
    for move in case.journal.moves("remark"):
        if move.kind == "U":
            finding.broken(f"a remark was changed (journal {move.number})")
    _check_asked(case, finding)
    return finding


def _check_asked(case: Case, finding: Finding) -> None:
    answers = {record.number: record for record in case.client if isinstance(record, Answered)}
    asked_for: Counter[int] = Counter()
    promised: set[int] = set()
    for record in case.client:
        if isinstance(record, Asked) and record.what == "mark" and record.run is not None:
            answered = answers.get(record.number)
            if answered is None or answered.answer != "failed":
                asked_for[record.run] += 1
            if answered is not None and answered.answer == "ok":
                promised.add(record.run)
    made = Counter(_run_of(case, mark) for mark in case.marks.values())
    for run_id, times in made.items():
        if times > asked_for[run_id]:
            finding.broken(
                f"{times} tasks of run {run_id} were closed by hand, and {asked_for[run_id]} times"
                " that was asked for"
            )
    for run_id in sorted(promised - made.keys()):
        finding.broken(f"a task of run {run_id} was to be closed by hand, and none was")


def _run_of(case: Case, mark: RemarkRow) -> int:
    task = case.ever.get(mark.task_id)
    return mark.task_id if task is None else task.run_id
