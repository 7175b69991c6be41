"""K1: every attempt executes exactly the code that its run was started with."""

from __future__ import annotations

from bisect import bisect

from tests.checker.case import Case
from tests.checker.evidence import Release
from tests.checker.finding import Finding
from tests.checker.rows import PastRunRow, RunRow


def what_runs_is_what_was_started(case: Case) -> Finding:
    """All modules that had a part in an execution are of one release: that which was in the folder
    of dags when the run was made, or before. Which one it is the run's snapshot tells, by the
    digest of the tree that was put there; that it keeps its snapshot all its life is D3's.

    It counts as exercised when the folder had been changed before the execution began.
    """
    finding = Finding("K1", "an attempt executes the code that its run was started with")
    releases = {release.digest: release for release in case.releases}
    changes = sorted(release.at for release in case.releases)
    current = 0
    for execution in case.executions:
        run = case.runs_ever.get(execution.run)
        if run is None or not execution.releases or not releases:
            continue
        about = f"`{execution.task}` of run {run.id} (pid {execution.pid})"
        release = releases.get(case.tables.snapshots.get(run.snapshot_id, ""))
        if release is None:
            finding.broken(f"{about}: nobody has put the code of snapshot {run.snapshot_id} there")
            continue
        if bisect(changes, execution.begin) > bisect(changes, release.at):
            finding.exercised += 1
        else:
            current += 1
        if set(execution.releases) != {release.number}:
            told = " and ".join(str(number) for number in sorted({*execution.releases}))
            finding.broken(f"{about} ran release {told}, and its run is of {release.number}")
        if _made_before(case, run, release):
            finding.broken(f"{about} is of release {release.number}, which came after its run")
    finding.notes.append(f"{current} more ran the code that was in the folder at that time")
    return finding


def _made_before(case: Case, run: RunRow | PastRunRow, release: Release) -> bool:
    made = case.monotonic(run.created_at.timestamp())
    return made < release.at - case.journal.clock.slack_seconds
