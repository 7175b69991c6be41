"""L1, L2, L3: who holds a task, under which term, and who acts on it."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

from tests.checker.case import Case
from tests.checker.finding import Finding
from tests.checker.rows import TaskRow
from tests.checker.story import Change, Holding


def one_holder(case: Case) -> Finding:
    """After no transaction is a task held by two claims, or held and in a queue.

    What is held from one transaction to another is held at every moment in between; so intervals
    are disjoint if this is true after each transaction, and if no claim is granted what somebody
    still holds.
    """
    finding = Finding("L1", "a task has at most one holder, and is then in no queue")
    for change in case.story.changes:
        told, after = case.told(change.task_id), change.after
        if len(after.holders) > 1:
            finding.broken(
                f"{told} is held by {len(after.holders)} claims at once after"
                f" {change.transaction}: {', '.join(after.holders)}"
            )
        if after.holders and after.queued:
            finding.broken(
                f"{told} is held by claim {after.holders[0]} and in a queue after"
                f" {change.transaction}"
            )
        if after.queued > 1:
            finding.broken(f"{told} is in queues {after.queued} times after {change.transaction}")
    for void in case.story.void:
        finding.broken(
            f"{case.told(void.task_id)} was claimed by {case.told_worker(void.claim.worker_id)}"
            f" under term {void.term} although it was not there to be claimed ({void.transaction})"
        )
    for task_id, holdings in case.story.holdings.items():
        finding.exercised += len(holdings)
        for earlier, later in pairwise(holdings):
            if earlier.until is None or earlier.until.number > later.since.number:
                finding.broken(
                    f"{case.told(task_id)} was granted to {case.told_worker(later.worker_id)} while"
                    f" {case.told_worker(earlier.worker_id)} held it ({later.since})"
                )
    return finding


def terms_rise(case: Case) -> Finding:
    """Each grant of a task has a higher term than the one before, over all its generations.

    What tasks say outside is held against that: each acted under a token that was granted to that
    very attempt, and no token was used by two executions.
    """
    finding = Finding("L2", "terms only rise, and no two attempts share a token")
    for move in case.journal.moves("task"):
        before, after = move.before, move.after
        if isinstance(before, TaskRow) and isinstance(after, TaskRow) and after.term < before.term:
            finding.broken(
                f"{case.told(after.id)} fell from term {before.term} to {after.term}"
                f" (journal {move.number})"
            )
    for task_id, holdings in case.story.holdings.items():
        for earlier, later in pairwise(holdings):
            finding.exercised += 1
            if later.term <= earlier.term:
                finding.broken(
                    f"{case.told(task_id)} was granted under term {later.term} after it had been"
                    f" granted under term {earlier.term} ({later.since})"
                )
    _tokens_are_of_attempts(case, finding)
    return finding


def _tokens_are_of_attempts(case: Case, finding: Finding) -> None:
    for task_id, executions in case.executions_of.items():
        told = case.told(task_id)
        for token, times in Counter(execution.token for execution in executions).items():
            if times > 1:
                finding.broken(f"{told} was begun {times} times under token {token}")
        for execution in executions:
            held = case.story.under(task_id, execution.term)
            if held is None or not 1 <= execution.epoch <= case.tables.epoch:
                finding.broken(
                    f"{told} acted under token {execution.token} (epoch {execution.epoch}, term"
                    f" {execution.term}), which was never granted"
                )
            elif (execution.generation, execution.attempt) != (held.generation, held.attempt):
                finding.broken(
                    f"{told} was told that it is attempt {execution.attempt} of generation"
                    f" {execution.generation} under token {execution.token}; granted was attempt"
                    f" {held.attempt} of generation {held.generation}"
                )
        for earlier, later in pairwise(executions):
            before = (earlier.generation, earlier.attempt)
            if earlier.token < later.token and before > (later.generation, later.attempt):
                finding.broken(
                    f"{told}: attempt {earlier.attempt} has token {earlier.token}, below that of"
                    f" the earlier attempt {later.attempt}, {later.token}"
                )


def only_the_holder_acts(case: Case) -> Finding:
    """Attempts are ended, marked as started and logged under the term, and by the worker, of the
    claim that holds them; and the sink that knows tokens has kept later effects from falling
    behind earlier ones.
    """
    finding = Finding("L3", "only the holder ends an attempt, and the fence holds outside, too")
    for change in case.story.changes:
        if not change.found:
            _check_change(case, finding, change)
    for task_id, term in sorted(case.tables.logs):
        if case.story.under(task_id, term) is None:
            finding.broken(f"{case.told(task_id)} has a log under term {term}, which nobody held")
    _check_fence(case, finding)
    return finding


def _check_change(case: Case, finding: Finding, change: Change) -> None:
    before, after = change.before.row, change.after.row
    told = case.told(change.task_id)
    if change.reopened:
        _check_reopened(finding, told, change)
        return
    if before is None or after is None:
        for end in change.ended:
            finding.broken(
                f"{told} has an attempt on record under term {end.term}, which nobody held"
                f" ({change.transaction})"
            )
        return
    held = _holding(case, change)
    if change.marked is not None:
        _check_marked(case, finding, change, held, after)
        return
    moved = before.state == "ready" and (after.state != "ready" or after.term != before.term)
    if held is not None and moved:
        finding.exercised += 1
        _check_end(case, finding, change, held, after)
    elif held is None:
        _check_unheld(finding, told, change, before, after, moved=moved)
    elif change.ended:
        finding.broken(
            f"{told} has an attempt on record as {change.ended[0].state} that still goes on"
            f" ({change.transaction})"
        )
    elif _started(before) != _started(after) and after.worker_id != held.worker_id:
        finding.broken(
            f"{told} was marked as started by {case.told_worker(after.worker_id)} while"
            f" {case.told_worker(held.worker_id)} held it ({change.transaction})"
        )


def _check_reopened(finding: Finding, told: str, change: Change) -> None:
    """A plain success is put on record when its task is opened again: as it was, if it was one."""
    before = change.before.known
    assert before is not None
    for end in change.ended:
        recorded = (end.state, end.term, end.generation, end.worker_id)
        if recorded != (before.state, before.term, before.generation, before.worker_id):
            finding.broken(
                f"{told} was {before.state} under term {before.term} and was put on record as"
                f" {end.state} under term {end.term} when it was opened again"
                f" ({change.transaction})"
            )


def _check_marked(
    case: Case, finding: Finding, change: Change, held: Holding | None, after: TaskRow
) -> None:
    """Who closes a task by hand takes it from its holder: the term rises, and the attempt is put on
    record as stopped, in its holder's name.
    """
    told = case.told(change.task_id)
    before = change.before.row
    assert before is not None
    finding.exercised += held is not None
    if (after.term, after.worker_id) != (before.term + 1, None):
        finding.broken(
            f"{told} was closed by hand under term {before.term} and stands under term {after.term}"
            f" as the work of {after.worker_id} ({change.transaction})"
        )
    expected = [] if held is None else [(held.term, held.worker_id, "cancelled")]
    recorded = [(end.term, end.worker_id, end.state) for end in change.ended]
    if recorded != expected:
        finding.broken(
            f"{told} was closed by hand with attempts {recorded} put on record instead of"
            f" {expected} ({change.transaction})"
        )


def _check_end(case: Case, finding: Finding, change: Change, held: Holding, after: TaskRow) -> None:
    told = case.told(change.task_id)
    holder = case.told_worker(held.worker_id)
    if not after.open and after.term != held.term:
        finding.broken(
            f"{told} was closed as {after.state} over the head of {holder}, which held it"
            f" ({change.transaction})"
        )
    elif after.worker_id != held.worker_id:
        finding.broken(
            f"{told} was ended as {after.state} by {case.told_worker(after.worker_id)} while"
            f" {holder} held it under term {held.term} ({change.transaction})"
        )
    for end in change.ended:
        if (end.term, end.worker_id) != (held.term, held.worker_id):
            finding.broken(
                f"{told} has an attempt on record as {end.state} under term {end.term} by"
                f" {case.told_worker(end.worker_id)} while {holder} held it under term {held.term}"
                f" ({change.transaction})"
            )
    expected = 0 if after.state == "succeeded" else 1
    if len(change.ended) != expected:
        finding.broken(
            f"{told} went from running to {after.state} with {len(change.ended)} attempts put on"
            f" record instead of {expected} ({change.transaction})"
        )


def _check_unheld(
    finding: Finding, told: str, change: Change, before: TaskRow, after: TaskRow, *, moved: bool
) -> None:
    """Only a stop closes what nobody holds, and only the net (X1) puts it back into its queue."""
    stopped = after.state == "cancelled" and after.term == before.term + 1 and after.stop
    mended = after.state == "ready" and after.term == before.term + 1
    if change.ended or (moved and not stopped and not mended):
        finding.broken(
            f"{told} went from {before.state} to {after.state} under term {before.term}, which"
            f" nobody held ({change.transaction})"
        )
    elif not moved and before.state == "ready" and _started(before) != _started(after):
        finding.broken(
            f"{told} was marked as started under term {before.term}, which nobody held"
            f" ({change.transaction})"
        )


def _holding(case: Case, change: Change) -> Holding | None:
    """What held the task when the transaction came, by the story."""
    if not change.before.holders:
        return None
    claim_id = change.before.holders[0]
    return next(
        (
            held
            for held in reversed(case.story.holdings[change.task_id])
            if held.claim_id == claim_id and held.since.number <= change.transaction.number
        ),
        None,
    )


def _started(row: TaskRow) -> object:
    return row.started_at, row.worker_id


def _check_fence(case: Case, finding: Finding) -> None:
    highest: dict[str, int] = defaultdict(int)
    refused = 0
    for effect in case.fenced:
        what = f"`{effect.task}` of run {effect.run} with token {effect.token}"
        if effect.accepted and effect.token < highest[effect.key]:
            finding.broken(
                f"the fenced sink took {what} (key `{effect.key}`) after token"
                f" {highest[effect.key]}"
            )
        if effect.accepted:
            highest[effect.key] = max(highest[effect.key], effect.token)
        else:
            refused += 1
            if effect.token >= highest[effect.key]:
                finding.broken(
                    f"the fenced sink refused {what} (key `{effect.key}`), which was the highest"
                )
    finding.notes.append(
        f"{len(case.fenced)} effects came to the fenced sink, {refused} of them were refused"
    )
