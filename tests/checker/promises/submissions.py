"""N1, N2: whatever was accepted is there, and nothing is there that nobody asked for."""

from __future__ import annotations

from collections import Counter, defaultdict

from tests.checker.case import Case
from tests.checker.evidence import Answered, Asked
from tests.checker.finding import Finding
from tests.checker.rows import JobRow, KeyRow, PastRunRow, RunRow
from tests.checker.states import TASK_CLOSED


def nothing_is_lost(case: Case) -> Finding:
    """Each run that a caller was promised is in the tables, with all its tasks, and closed, or it
    waits as it may; and each task that succeeded has told the sink so, under the term of its
    success. What history has already let go of counts as lost: check before that.
    """
    finding = Finding("N1", "whatever was accepted is there, and comes to its end")
    tables = case.tables
    for asked, answered in _answers(case, "trigger"):
        if answered.answer != "ok":
            continue
        finding.exercised += 1
        if answered.run is None:
            finding.broken(f"request {asked.number} for `{asked.dag}` was accepted without a run")
        elif answered.run not in tables.runs and answered.run not in tables.past_runs:
            finding.broken(
                f"run {answered.run} of `{asked.dag}` was accepted (request {asked.number}) and is"
                " not there"
            )
    for asked, answered in _answers(case, "cancel"):
        run = tables.runs.get(asked.run) if asked.run is not None else None
        if answered.answer == "ok" and run is not None and not _over(case, run):
            finding.broken(f"run {run.id} was cancelled (request {asked.number}) and is still open")
    opened = _openings(case)
    for asked, answered in _answers(case, "rerun"):
        if answered.answer == "ok" and asked.run is not None and not opened[asked.run]:
            finding.broken(
                f"run {asked.run} was to run again (request {asked.number}) and never did"
            )
    for run in tables.runs.values():
        if not _over(case, run) and not case.may_wait(run):
            finding.broken(f"run {run.id} is open: {_told_tasks(case, run)}")
    for run_id in tables.runs.keys() & tables.past_runs.keys():
        finding.broken(f"run {run_id} is open and in history")
    for past in tables.past_runs.values():
        there = sum(past.id + node in tables.past_tasks for node in range(past.tasks))
        if there != past.tasks:
            finding.broken(f"run {past.id} has {there} of its {past.tasks} tasks in history")
    _check_told(case, finding)
    return finding


def _check_told(case: Case, finding: Finding) -> None:
    """A success that the sink does not know of did not happen."""
    for task in case.tables.all_tasks:
        if task.state != "succeeded" or (task.id, task.term - 1) in case.marks:
            continue
        if case.tables.definitions[task.version_id].name in case.silent:
            continue
        execution = case.execution_under.get((task.id, task.term))
        if execution is None or execution.end is None:
            what = "never begun" if execution is None else "begun and not ended"
            finding.broken(
                f"{case.told(task.id)} succeeded under term {task.term} and was {what}, by the sink"
            )


def nothing_is_invented(case: Case) -> Finding:
    """Each run was asked for: an `ok` answer names it, or it belongs to a request whose answer was
    lost, and to one of those only. A key has one run, whatever was asked and answered; and no task
    did more than it was granted.

    It counts as exercised by requests whose answer was lost and by keys that were asked for more
    than once: those are the ways in which a run could come twice.
    """
    finding = Finding("N2", "nothing is invented: a request has one effect at most")
    _check_answers(case, finding)
    _check_keys(case, finding)
    _check_unknown(case, finding)
    _check_openings(case, finding)
    _check_effects(case, finding)
    return finding


def _check_answers(case: Case, finding: Finding) -> None:
    named: dict[int, Asked] = {}
    """Runs, by the requests that were told of them."""
    for asked, answered in _answers(case, "trigger"):
        if answered.answer != "ok" or answered.run is None:
            continue
        run = case.runs_ever.get(answered.run)
        if run is not None and asked.dag and case.tables.dags.get(run.dag_id) != asked.dag:
            finding.broken(
                f"request {asked.number} for `{asked.dag}` was answered with run {run.id} of"
                f" `{case.tables.dags.get(run.dag_id)}`"
            )
        other = named.setdefault(answered.run, asked)
        if other is not asked and (asked.key is None or asked.key != other.key):
            finding.broken(
                f"requests {other.number} and {asked.number} were answered with one run,"
                f" {answered.run}"
            )


def _check_keys(case: Case, finding: Finding) -> None:
    made = _runs_of_keys(case)
    asked_for: dict[str, list[tuple[Asked, Answered | None]]] = defaultdict(list)
    for asked, answered in _requests(case, "trigger"):
        if asked.key is not None:
            asked_for[asked.key].append((asked, answered))
    for key, runs in made.items():
        if len(runs) > 1:
            finding.broken(f"key `{key}` has {len(runs)} runs: {sorted(runs)}")
        if key not in asked_for:
            finding.broken(f"key `{key}` has run {min(runs)} and was never asked for")
        for run_id in runs - case.runs_ever.keys():
            finding.broken(f"key `{key}` stands for run {run_id}, which never was")
    for key, requests in asked_for.items():
        finding.exercised += len(requests) > 1
        for asked, answered in requests:
            if (
                answered is not None
                and answered.answer == "ok"
                and answered.run not in made.get(key, ())
            ):
                finding.broken(
                    f"request {asked.number} with key `{key}` was answered with run {answered.run};"
                    f" the key stands for {sorted(made.get(key, ()))}"
                )


def _runs_of_keys(case: Case) -> dict[str, set[int]]:
    """Of runs and of jobs, whose first run has the job's number."""
    made: dict[str, set[int]] = defaultdict(set)
    for move in case.journal.moves():
        match move.after:
            case KeyRow() as row:
                made[row.name].add(row.run_id)
            case JobRow(stored_key=str() as key) as job:
                made[key].add(job.id)
    return made


def _check_unknown(case: Case, finding: Finding) -> None:
    """Runs that no answer names, against the requests without one.

    Requests with keys are settled by their keys. Of the others, the n-th run of a dag, in the order
    in which they were made, needs n requests that had been asked by then.
    """
    accounted: set[int] = set()
    waiting: dict[str, list[float]] = defaultdict(list)
    keyed = {run_id for runs in _runs_of_keys(case).values() for run_id in runs}
    for asked, answered in _requests(case, "trigger"):
        if answered is not None and answered.answer == "ok":
            if answered.run is not None:
                accounted.add(answered.run)
        elif answered is None or answered.answer == "unknown":
            finding.exercised += 1
            if asked.key is None:
                waiting[asked.dag].append(asked.at)
    left: dict[str, list[RunRow | PastRunRow]] = defaultdict(list)
    for run in case.runs_ever.values():
        if run.id not in accounted and run.id not in keyed and run.trigger == "manual":
            left[case.tables.dags.get(run.dag_id, "")].append(run)
    slack = case.journal.clock.slack_seconds
    for dag, runs in left.items():
        runs.sort(key=lambda run: run.created_at)
        for place, run in enumerate(runs, start=1):
            made_at = case.monotonic(run.created_at.timestamp())
            possible = sum(asked_at <= made_at + slack for asked_at in waiting[dag])
            if possible < place:
                finding.broken(
                    f"run {run.id} of `{dag}` was asked for by nobody: {place} runs are named by no"
                    f" answer, and {possible} requests had no answer when it was made"
                )


def _check_openings(case: Case, finding: Finding) -> None:
    """A run is opened again at most as often as that was asked for, and not refused."""
    asked_for = Counter(
        asked.run
        for asked, answered in _requests(case, "rerun")
        if answered is None or answered.answer != "failed"
    )
    for run_id, times in _openings(case).items():
        if times > asked_for[run_id]:
            finding.broken(
                f"run {run_id} was opened again {times} times, and {asked_for[run_id]} times that"
                " was asked for"
            )


def _openings(case: Case) -> Counter[int]:
    """How often each run was opened again."""
    transactions: dict[int, set[int]] = defaultdict(set)
    for change in case.story.changes:
        if change.reopened and not change.marks and change.after.known is not None:
            transactions[change.after.known.run_id].add(change.transaction.id)
    return Counter({run_id: len(of_it) for run_id, of_it in transactions.items()})


def _check_effects(case: Case, finding: Finding) -> None:
    for execution in case.executions:
        if execution.task_id is None:
            finding.broken(
                f"`{execution.task}` of run {execution.run} was at work (pid {execution.pid}), and"
                " there is no such task"
            )
    begun = Counter(
        (execution.run, execution.task, execution.token, execution.pid)
        for execution in case.executions
    )
    ended = Counter(
        (effect.run, effect.task, effect.token, effect.pid)
        for effect in case.effects
        if effect.phase == "end"
    )
    for (run, task, token, _), count in (ended - begun).items():
        finding.broken(
            f"`{task}` of run {run} ended {count} times more than it began, under token {token}"
        )
    for task_id, executions in case.executions_of.items():
        grants = len(case.story.holdings.get(task_id, ()))
        if len(executions) > grants:
            finding.broken(
                f"{case.told(task_id)} was begun {len(executions)} times and granted {grants} times"
            )


def _requests(case: Case, what: str) -> list[tuple[Asked, Answered | None]]:
    """What was asked, with its answer; one without an answer is as good as unknown."""
    answers = {record.number: record for record in case.client if isinstance(record, Answered)}
    return [
        (record, answers.get(record.number))
        for record in case.client
        if isinstance(record, Asked) and record.what == what
    ]


def _answers(case: Case, what: str) -> list[tuple[Asked, Answered]]:
    return [(asked, answered) for asked, answered in _requests(case, what) if answered is not None]


def _over(case: Case, run: RunRow) -> bool:
    definition = case.tables.definitions[run.version_id]
    tasks = [case.tables.tasks.get(run.id + node) for node in range(len(definition.tasks))]
    return all(task is not None and task.state in TASK_CLOSED for task in tasks)


def _told_tasks(case: Case, run: RunRow) -> str:
    definition = case.tables.definitions[run.version_id]
    parts = []
    for node, rule in enumerate(definition.tasks):
        task = case.tables.tasks.get(run.id + node)
        if task is None:
            parts.append(f"`{rule.name}` is missing")
        elif task.open:
            parts.append(f"`{rule.name}` is {task.state} under term {task.term}")
    return ", ".join(parts)
