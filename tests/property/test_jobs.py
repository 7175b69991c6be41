"""The status of a job, against the words that describe it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.jobs import JobStatus, job_status
from mainspring.domain.states import RUN, RunState


@given(
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(RunState), max_size=5),
    st.booleans(),
)
def test_a_status_says_what_is_wanted_then_what_happens_then_what_happened(
    cancelled: bool, paused: bool, runs: list[RunState], to_come: bool
) -> None:
    """`runs` are in the order in which they were made."""
    status = job_status(
        cancelled=cancelled,
        paused=paused,
        running=runs.count(RunState.RUNNING),
        queued=runs.count(RunState.QUEUED),
        last=runs[-1] if runs else None,
        to_come=to_come,
    )
    open_runs = {run for run in runs if not RUN.facts[run].closed}
    # Each status, from what has to be true for it and what must not.
    assert (status is JobStatus.RUNNING) == (not cancelled and RunState.RUNNING in open_runs)
    assert (status is JobStatus.PAUSED) == (
        not cancelled and paused and RunState.RUNNING not in open_runs
    )
    if status is JobStatus.PENDING:
        assert RunState.QUEUED in open_runs or (not runs and to_come)
    if status in (JobStatus.SUCCEEDED, JobStatus.FAILED):
        assert not open_runs
        assert runs[-1] == status.value
    if status is JobStatus.CANCELLED:
        assert cancelled or (not open_runs and runs[-1] is RunState.CANCELLED)
    if status is JobStatus.FINISHED:
        assert not runs
        assert not to_come
