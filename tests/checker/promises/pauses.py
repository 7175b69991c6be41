"""T4: nothing of a paused dag or queue is handed to a worker."""

from __future__ import annotations

from collections import defaultdict

from tests.checker.case import Case
from tests.checker.evidence import Answered, Asked
from tests.checker.finding import Finding
from tests.checker.journal import Move
from tests.checker.rows import DagRow, QueueRow
from tests.checker.story import Holding

KINDS = 8
"""A lane is a queue and one of so many kinds."""


def what_is_paused_is_handed_to_nobody(case: Case) -> Finding:
    """From the transaction on that paused a dag or queue, until the one that resumed it, no task of
    it is claimed or granted. A caller who was told that it is paused was told the truth: between
    question and answer there was a moment at which it was.
    """
    finding = Finding("T4", "nothing of a paused dag or queue is handed out")
    grants: dict[int, list[Holding]] = defaultdict(list)
    for holdings in case.story.holdings.values():
        for held in holdings:
            grants[held.since.id].append(held)
    paused = Paused()
    spans = _Spans()
    for transaction in case.journal.transactions:
        for held in grants[transaction.id]:
            task = case.ever[held.task_id]
            run = case.runs_ever[task.run_id]
            if run.dag_id in paused.dags or task.lane // KINDS in paused.queues:
                finding.broken(
                    f"{case.told(held.task_id)} was handed to {case.told_worker(held.worker_id)}"
                    f" although its dag or queue was paused ({transaction})"
                )
        for move in transaction.moves:
            paused.learn(move)
            spans.learn(move, case.monotonic(transaction.at))
    finding.exercised = spans.count
    _answers_were_true(case, spans, finding)
    return finding


class Paused:
    """What is paused at the moment."""

    def __init__(self) -> None:
        self.dags: set[int] = set()
        self.queues: set[int] = set()

    def learn(self, move: Move) -> int | None:
        """The dag that this move resumed, if it did."""
        match move.row:
            case DagRow() as dag:
                was = dag.id in self.dags
                _note(self.dags, dag.id, dag.paused_at is not None and move.after is not None)
                return dag.id if was and dag.id not in self.dags else None
            case QueueRow() as queue:
                _note(self.queues, queue.id, queue.paused_at is not None and move.after is not None)
        return None


class _Spans:
    """When which dag or queue was paused, on the clock of the logs."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
        self.count = 0

    def learn(self, move: Move, at: float) -> None:
        row = move.row
        if not isinstance(row, DagRow | QueueRow):
            return
        spans = self._of["dag" if isinstance(row, DagRow) else "queue", row.name]
        under_way = bool(spans) and len(spans[-1]) == 1
        if row.paused_at is not None and not under_way:
            spans.append([at])
            self.count += move.kind != "F"
        elif row.paused_at is None and under_way:
            spans[-1].append(at)

    def touch(self, what: str, name: str, begin: float, end: float) -> bool:
        """Whether it was paused at some moment between the two."""
        return any(
            span[0] <= end and (len(span) == 1 or span[1] >= begin) for span in self._of[what, name]
        )


def _answers_were_true(case: Case, spans: _Spans, finding: Finding) -> None:
    answers = {record.number: record for record in case.client if isinstance(record, Answered)}
    slack = case.journal.clock.slack_seconds
    for asked in case.client:
        if not isinstance(asked, Asked) or asked.what not in ("pause_dag", "pause_queue"):
            continue
        answered = answers.get(asked.number)
        if answered is None or answered.answer != "ok":
            continue
        what = asked.what.removeprefix("pause_")
        name = asked.dag if what == "dag" else asked.queue
        if not spans.touch(what, name, asked.at - slack, answered.at + slack):
            finding.broken(
                f"{what} `{name}` was said to be paused (request {asked.number}), and was not"
            )


def _note(found: set[int], id_: int, paused: bool) -> None:
    if paused:
        found.add(id_)
    else:
        found.discard(id_)
