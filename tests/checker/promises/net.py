"""X1: the net below everything else has caught nothing."""

from __future__ import annotations

from tests.checker.case import Case
from tests.checker.finding import Finding
from tests.checker.rows import ShardRow


def nothing_had_to_be_mended(case: Case) -> Finding:
    """The audit never put a task back, and would find none at the end.

    A mend is a task that came into its queue under a higher term without an attempt of it having
    ended: every other way there either ends an attempt or keeps the term. It counts as exercised
    by the beats of the engine that holds the shard: while it beats, the audit walks.
    """
    finding = Finding("X1", "the audit had nothing to mend")
    for change in case.story.changes:
        before, after = change.before.row, change.after.row
        if (
            before is not None
            and after is not None
            and after.state == "ready"
            and after.term > before.term
            and before.open
            and not change.ended
        ):
            finding.broken(
                f"{case.told(change.task_id)} was stuck as {before.state} under term {before.term}"
                f" and was mended ({change.transaction})"
            )
    for move in case.journal.moves("shard"):
        before_shard, after_shard = move.before, move.after
        if (
            isinstance(before_shard, ShardRow)
            and isinstance(after_shard, ShardRow)
            and after_shard.number == 0
            and after_shard.holder is not None
            and after_shard.beat > before_shard.beat
        ):
            finding.exercised += 1
    _check_stuck(case, finding)
    return finding


def _check_stuck(case: Case, finding: Finding) -> None:
    """Open tasks that nothing would ever move on."""
    tables = case.tables
    queued = {(row.task_id, row.term) for row in tables.ready.values()}
    held = {pair for claim in tables.claims.values() for pair in claim.pairs}
    resting = {(timer.subject, timer.term) for timer in tables.timers if timer.kind == "backoff"}
    starting = {timer.subject for timer in tables.timers if timer.kind == "start"}
    for task in tables.tasks.values():
        pair = (task.id, task.term)
        match task.state:
            case "ready":
                fine = pair in queued or pair in held
            case "backoff":
                fine = pair in resting
            case "waiting":
                parents = tables.definitions[task.version_id].parents[task.node]
                fine = task.run_id in starting or any(
                    (parent := tables.tasks.get(task.run_id + node)) is not None and parent.open
                    for node in parents
                )
            case _:
                fine = True
        if not fine:
            finding.broken(
                f"{case.told(task.id)} is {task.state} under term {task.term}, and nothing will"
                " move it on"
            )
