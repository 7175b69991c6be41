"""D3: how a run ended is a function of its tasks, and it stays on the version it began with."""

from __future__ import annotations

from collections import defaultdict

from tests.checker.case import Case
from tests.checker.finding import Finding
from tests.checker.journal import Move, Transaction
from tests.checker.rows import OPEN, PastRunRow, RunRow, TaskRow
from tests.checker.states import RUN_CLOSED, verdict


def a_function_of_its_tasks(case: Case) -> Finding:
    """After every transaction, of every run that it touched: the count of open tasks is right, the
    run is closed if and only if all its tasks are, and with the verdict that follows from them.
    The same of what history keeps and of what is shown at the end. Version, snapshot and dag never
    change, and all tasks of a run are of its version.
    """
    finding = Finding("D3", "a verdict is a function of the tasks; version and snapshot are pinned")
    runs: dict[int, RunRow] = {}
    tasks: dict[int, dict[int, TaskRow]] = defaultdict(dict)
    closed: set[int] = set()
    for transaction in case.journal.transactions:
        archived = [move.after for move in transaction.moves if isinstance(move.after, PastRunRow)]
        returned = [
            move.before for move in transaction.moves if isinstance(move.before, PastRunRow)
        ]
        for past in archived:
            if past.id in runs:
                _check_archived(finding, transaction, past, runs[past.id], tasks[past.id])
        touched: set[int] = set()
        for move in transaction.moves:
            touched |= _apply(finding, runs, tasks, move)
        for run_id in sorted(touched & runs.keys()):
            _check_run(case, finding, transaction, runs[run_id], tasks[run_id])
            if tasks[run_id] and not any(task.open for task in tasks[run_id].values()):
                closed.add(run_id)
        for past in archived:
            closed.add(past.id)
            tasks.pop(past.id, None)
        for past in returned:
            if past.id in runs and _pinned(runs[past.id]) != _pinned(past):
                finding.broken(
                    f"run {past.id} came back from history as {_told_pins(runs[past.id])} and was"
                    f" {_told_pins(past)} ({transaction})"
                )
    _check_shown(case, finding)
    finding.exercised = len(closed)
    return finding


def _apply(
    finding: Finding, runs: dict[int, RunRow], tasks: dict[int, dict[int, TaskRow]], move: Move
) -> set[int]:
    """The runs that it is about."""
    match move.before, move.after:
        case RunRow() as run, None:
            runs.pop(run.id, None)
            return {run.id}
        case before, RunRow() as run:
            if isinstance(before, RunRow) and _pinned(before) != _pinned(run):
                finding.broken(
                    f"run {run.id} went from {_told_pins(before)} to {_told_pins(run)}"
                    f" (journal {move.number})"
                )
            runs[run.id] = run
            return {run.id}
        case TaskRow() as task, None:
            tasks[task.run_id].pop(task.id, None)
            return {task.run_id}
        case _, TaskRow() as task:
            tasks[task.run_id][task.id] = task
            return {task.run_id}
        case _:
            return set()


def _check_run(
    case: Case,
    finding: Finding,
    transaction: Transaction,
    run: RunRow,
    tasks: dict[int, TaskRow],
) -> None:
    definition = case.tables.definitions[run.version_id]
    if len(tasks) != len(definition.tasks):
        finding.broken(
            f"run {run.id} has {len(tasks)} of its {len(definition.tasks)} tasks ({transaction})"
        )
    for task in tasks.values():
        if task.version_id != run.version_id:
            finding.broken(
                f"{case.told(task.id)} is of version {task.version_id}, its run of"
                f" {run.version_id} ({transaction})"
            )
    if run.state is None:
        return
    open_tasks = sum(task.open for task in tasks.values())
    if run.open_tasks != open_tasks:
        finding.broken(
            f"run {run.id} counts {run.open_tasks} open tasks and has {open_tasks} ({transaction})"
        )
    expected = "running" if open_tasks else verdict(_states(tasks), run.stop)
    if run.state != expected or (run.finished_at is None) != (expected == "running"):
        finding.broken(
            f"run {run.id} is {run.state} with tasks that make it {expected}:"
            f" {', '.join(_states(tasks))} ({transaction})"
        )


def _check_archived(
    finding: Finding,
    transaction: Transaction,
    past: PastRunRow,
    run: RunRow,
    tasks: dict[int, TaskRow],
) -> None:
    if _pinned(past) != _pinned(run):
        finding.broken(
            f"run {past.id} went into history as {_told_pins(past)} and was {_told_pins(run)}"
            f" ({transaction})"
        )
    # A run of one task has its stop on the task.
    stop = run.stop if run.state else next((task.stop for task in tasks.values()), None)
    expected = verdict(_states(tasks), stop)
    if (past.state, past.stop, past.tasks) != (expected, stop, len(tasks)):
        finding.broken(
            f"run {past.id} went into history as {past.state} with {past.tasks} tasks; its tasks"
            f" make it {expected}: {', '.join(_states(tasks))} ({transaction})"
        )


def _check_shown(case: Case, finding: Finding) -> None:
    """As people see it, at the end."""
    states: dict[int, list[str]] = defaultdict(list)
    stops: dict[int, str | None] = {}
    for task in case.tables.all_tasks:
        states[task.run_id].append(task.state)
        stops[task.run_id] = task.stop
    for run in case.tables.all_runs:
        shown = case.tables.shown.get(run.id)
        is_open = not OPEN.isdisjoint(states[run.id])
        if is_open and shown in RUN_CLOSED:
            finding.broken(f"run {run.id} is shown as {shown} with an open task")
        if not is_open:
            alone = run.state is None
            expected = verdict(states[run.id], stops.get(run.id) if alone else run.stop)
            if shown != expected:
                finding.broken(f"run {run.id} is shown as {shown}; its tasks make it {expected}")


def _states(tasks: dict[int, TaskRow]) -> list[str]:
    return [tasks[task_id].state for task_id in sorted(tasks)]


def _pinned(run: RunRow | PastRunRow) -> tuple[int, int, int]:
    return run.dag_id, run.version_id, run.snapshot_id


def _told_pins(run: RunRow | PastRunRow) -> str:
    return f"version {run.version_id} on snapshot {run.snapshot_id} of dag {run.dag_id}"
