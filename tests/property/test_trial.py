"""A run in memory: whatever the graph and whatever its tasks do, the rules hold."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.outcomes import Error, Failed, Lost, Outcome, Skipped, Succeeded
from mainspring.domain.specs import DagSpec, RetrySpec, TaskSpec, parents_of
from mainspring.domain.states import RunState, TaskState
from mainspring.trial import Trial, Tried

ENDS: list[Outcome] = [
    Succeeded(b"1"),
    Failed(Error("E", "")),
    Failed(Error("E", ""), retry=False),
    Failed(Error("E", ""), delay_seconds=5.0),
    Skipped("no"),
    Lost(Error("L", "")),
]


class Notes:
    """Who is told, and what is true of it at each moment."""

    def __init__(self) -> None:
        self.attempts: dict[int, int] = {}
        self.closed: dict[int, TaskState] = {}

    def tried(self, node: int, tried: Tried) -> None:
        assert node not in self.closed
        self.attempts[node] = self.attempts.get(node, 0) + 1

    def rests(self, node: int, delay_seconds: float) -> None:
        assert delay_seconds > 0

    def ended(self, node: int, state: TaskState, result: bytes | None) -> None:
        assert node not in self.closed, "a task is closed once"
        self.closed[node] = state


@st.composite
def dags(draw: st.DrawFn) -> DagSpec:
    size = draw(st.integers(1, 8))
    pairs = [(before, after) for after in range(size) for before in range(after)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    tasks = tuple(
        TaskSpec(
            name=f"t{number}",
            entry=f"m:t{number}",
            priority=draw(st.integers(0, 9)),
            retry=RetrySpec(attempts=draw(st.integers(1, 3)), first_seconds=2.0),
        )
        for number in range(size)
    )
    limit = draw(st.none() | st.floats(0.5, 20.0))
    return DagSpec("d", tasks, tuple(sorted(edges)), timeout_seconds=limit)


@given(dags(), st.booleans(), st.data())
def test_every_task_is_closed_once_and_runs_only_after_all_its_parents(
    spec: DagSpec, side_by_side: bool, data: st.DataObject
) -> None:
    notes = Notes()
    trial = Trial(
        spec,
        {},
        notes,
        run_id=1,
        due_at=datetime(2026, 11, 15, tzinfo=UTC),
        random=lambda: 0.0,
        side_by_side=side_by_side,
    )
    parents = parents_of(spec)
    now = 0.0
    while due := trial.next():
        assert {notes.closed.get(before) for before in parents[due.node]} <= {TaskState.SUCCEEDED}
        assert due.node not in notes.closed
        assert due.at_seconds >= now, "time does not go back"
        now = due.at_seconds
        trial.ended(due, data.draw(st.sampled_from(ENDS)), data.draw(st.floats(0.0, 10.0)))
    assert set(notes.closed) == set(range(len(spec.tasks)))
    bad = {TaskState.FAILED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED}
    failed = bool(bad & set(notes.closed.values()))
    assert trial.verdict is (RunState.FAILED if failed else RunState.SUCCEEDED)
    for node, state in notes.closed.items():
        before = {notes.closed[parent] for parent in parents[node]}
        match state:
            case TaskState.SUCCEEDED | TaskState.FAILED:
                assert notes.attempts[node] >= 1
            case TaskState.UPSTREAM_FAILED:
                assert before & bad
                assert node not in notes.attempts
            case TaskState.SKIPPED if node not in notes.attempts:
                assert TaskState.SKIPPED in before
            case TaskState.CANCELLED:
                assert side_by_side
                assert spec.timeout_seconds == trial.now_seconds
