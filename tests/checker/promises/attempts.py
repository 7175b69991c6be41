"""T2: attempts are counted, bounded by the policy, and rest as long as it says."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

from tests.checker.case import Case
from tests.checker.finding import Finding
from tests.checker.rows import AttemptRow
from tests.checker.states import CHARGED
from tests.checker.story import Change


class End(NamedTuple):
    attempt: AttemptRow
    left_open: bool
    """Whether the task went on."""


def no_more_than_the_policy(case: Case) -> Finding:
    """Per task and generation: attempts are numbered 1, 2, … by what was charged, no more of them
    than the policy allows; losses are counted and no more than `max_lost`; and each attempt that
    follows a rest came after the rest, as the database and as the task itself saw it.
    """
    finding = Finding("T2", "attempts within the policy, without gaps, after their rest")
    for (task_id, generation), ends in _ends(case).items():
        finding.exercised += len(ends)
        _check_numbers(case, finding, task_id, generation, ends)
        _check_losses(case, finding, task_id, generation, ends)
    _check_at_most_once(case, finding)
    for change in case.story.changes:
        if not change.found:
            _check_rest(case, finding, change)
    _check_begins(case, finding)
    return finding


def _ends(case: Case) -> dict[tuple[int, int], list[End]]:
    """By task and generation, in the order in which they happened."""
    ends: dict[tuple[int, int], list[End]] = defaultdict(list)
    for change in case.story.changes:
        left_open = change.after.row is not None and change.after.row.open
        for attempt in change.ended:
            ends[change.task_id, attempt.generation].append(End(attempt, left_open))
    return ends


def _check_numbers(
    case: Case, finding: Finding, task_id: int, generation: int, ends: list[End]
) -> None:
    told, rule, task = case.told(task_id), case.rule(task_id), case.ever[task_id]
    number = 1
    for attempt, left_open in ends:
        if attempt.attempt != number:
            finding.broken(
                f"{told}: the attempt under term {attempt.term} is number {attempt.attempt},"
                f" not {number}"
            )
            return
        if attempt.state in CHARGED and left_open:
            number += 1
    if task.generation == generation and task.attempt != number:
        finding.broken(
            f"{told} is at attempt {task.attempt} and not {number}, after {len(ends)} ends"
        )
    charged = sum(end.attempt.state in CHARGED for end in ends)
    if max(number, charged) > rule.retry.attempts:
        finding.broken(
            f"{told} came to attempt {max(number, charged)}; its policy allows"
            f" {rule.retry.attempts}"
        )


def _check_losses(
    case: Case, finding: Finding, task_id: int, generation: int, ends: list[End]
) -> None:
    told, rule, task = case.told(task_id), case.rule(task_id), case.ever[task_id]
    lost = [end for end in ends if end.attempt.state == "lost"]
    allowed = 1 if rule.on_lost == "fail" else rule.max_lost
    if len(lost) > allowed:
        finding.broken(f"{told} was lost {len(lost)} times; its policy allows {allowed}")
    elif len(lost) == allowed and lost[-1].left_open:
        finding.broken(
            f"{told} went on after it had been lost for the last time that its policy allows,"
            f" under term {lost[-1].attempt.term}"
        )
    if task.generation == generation and task.lost != len(lost):
        finding.broken(f"{told} counts {task.lost} losses and has {len(lost)} on record")


def _check_at_most_once(case: Case, finding: Finding) -> None:
    """`on_lost="fail"` means that what may have begun is not begun again, unless it failed."""
    for task_id, executions in case.executions_of.items():
        rule = case.rule(task_id)
        if rule.on_lost != "fail":
            continue
        for generation, begun in Counter(e.generation for e in executions).items():
            if begun > rule.retry.attempts:
                finding.broken(
                    f"{case.told(task_id)} was begun {begun} times in generation {generation}"
                    f' although a loss ends it (`on_lost="fail"`)'
                )


def _check_rest(case: Case, finding: Finding, change: Change) -> None:
    before, after = change.before.row, change.after.row
    if before is None or after is None:
        return
    told = case.told(change.task_id)
    if before.state == "backoff" and after.state == "ready":
        early = before.due_at.timestamp() - change.transaction.at
        if early > 0:
            finding.broken(
                f"{told} was woken {early:.3f} s before its rest was over ({change.transaction})"
            )
    if after.state != "backoff" or before.state == "backoff" or not change.ended:
        return
    end = change.ended[0]
    rest = case.rule(change.task_id).retry.least_rest_seconds(end.attempt)
    chosen_by_the_author = case.tables.errors.get(end.key) == "Retry"
    if end.state not in CHARGED or rest is None or chosen_by_the_author:
        return
    # It ended, at the earliest, when it told the sink so, and in any case after it was granted.
    due = case.monotonic(after.due_at.timestamp())
    held = case.story.under(change.task_id, end.term)
    execution = case.execution_under.get(end.key)
    ended = due - rest if held is None else case.monotonic(held.since.at)
    if execution is not None and execution.end is not None:
        ended = max(ended, execution.end)
    short = ended + rest - due
    if short > case.journal.clock.slack_seconds:
        finding.broken(
            f"{told}: the rest after attempt {end.attempt} is {short:.3f} s shorter than the"
            f" policy's {rest:g} s ({change.transaction})"
        )


def _check_begins(case: Case, finding: Finding) -> None:
    """By the sink's clock: no attempt begins before the rest that precedes it is over."""
    due: dict[tuple[int, int], float] = {}
    for change in case.story.changes:
        after = change.after.row
        if after is not None and after.state == "backoff":
            due[change.task_id, after.term] = case.monotonic(after.due_at.timestamp())
    for key, execution in case.execution_under.items():
        if key in due and execution.begin < due[key] - case.journal.clock.slack_seconds:
            finding.broken(
                f"{case.told(key[0])} began under term {key[1]}"
                f" {due[key] - execution.begin:.3f} s before its rest was over"
            )
