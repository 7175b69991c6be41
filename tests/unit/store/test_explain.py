"""Why things stand where they stand: facts in, sentences out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from mainspring.domain.draining import Drain
from mainspring.domain.lanes import Lane, SlotKind
from mainspring.domain.outcomes import Error
from mainspring.domain.specs import DagSpec, RetrySpec
from mainspring.domain.states import AttemptState, RunState, TaskState
from mainspring.domain.words import clock
from mainspring.store.dags import APP_SNAPSHOT
from mainspring.store.drains import Draining
from mainspring.store.explain import Cause, explain, roots, told
from mainspring.store.pauses import Pause
from mainspring.store.reading import (
    AttemptLine,
    DagStanding,
    EngineLine,
    QueueLine,
    RunLine,
    Situation,
    TaskLine,
    WorkerLine,
)
from mainspring.store.standing import Reason
from tests.support.factory import dag_of

NOW = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)
RUN_ID = 100
NOTHING_WRONG = DagStanding()
CHAIN = dag_of([(0, 1), (1, 2)], tasks=3, retry=RetrySpec(attempts=5))


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def a_task(node: int, state: TaskState, **fields: Any) -> TaskLine:
    line = TaskLine(
        id=RUN_ID + node,
        node=node,
        name=f"t{node}",
        lane=Lane(1, SlotKind.ASYNC).number,
        priority=5,
        state=state,
        term=1,
        attempt=1,
        lost=0,
        generation=1,
        unmet=0,
        stop=None,
        due_at=at(-10),
        started_at=None,
        finished_at=None,
        worker=None,
        result=None,
        result_bytes=None,
    )
    return msgspec.structs.replace(line, **fields)


def a_worker(**fields: Any) -> WorkerLine:
    line = WorkerLine(
        id=1,
        name="w1",
        host="box",
        pid=1,
        queues=["default"],
        slots={SlotKind.ASYNC: 2},
        running={},
        started_at=at(-1000),
        renewed_at=at(-2),
        lease_seconds=15,
        draining=False,
        drain=None,
        rates={},
        read_at=NOW,
    )
    return msgspec.structs.replace(line, **fields)


def a_situation(
    tasks: Sequence[TaskLine],
    *,
    spec: DagSpec = CHAIN,
    state: RunState = RunState.RUNNING,
    workers: Sequence[WorkerLine] = (),
    engine: EngineLine | None = None,
    dag: DagStanding = NOTHING_WRONG,
    queue_pause: Pause | None = None,
    **run: Any,
) -> Situation:
    line = RunLine(
        id=RUN_ID,
        dag=spec.name,
        version=1,
        version_id=1,
        snapshot="abc",
        trigger="manual",
        created_at=at(-60),
        created_by=None,
        due_at=at(-60),
        rerun_of=None,
        tasks=len(tasks),
        state=state,
        stop=None,
        open_tasks=sum(task.finished_at is None for task in tasks),
        failed_tasks=0,
        started_at=at(-50),
        finished_at=None,
        read_at=NOW,
    )
    return Situation(
        run=msgspec.structs.replace(line, **run),
        spec=spec,
        tasks=list(tasks),
        queues={1: QueueLine(1, "default", queue_pause), 2: QueueLine(2, "io", None)},
        workers=list(workers),
        engine=engine or EngineLine(name="e1", held=True, renewed_at=at(-0.2), read_at=NOW),
        dag=dag,
    )


def an_attempt(
    node: int,
    state: AttemptState = AttemptState.FAILED,
    *,
    attempt: int = 1,
    error: str = "refused",
) -> AttemptLine:
    return AttemptLine(
        task_id=RUN_ID + node,
        term=attempt,
        attempt=attempt,
        state=state,
        started_at=at(-20),
        finished_at=at(-10),
        worker="w1",
        error=Error("ConnectionError", error),
    )


def headline(
    situation: Situation,
    node: int | None,
    attempts: Sequence[AttemptLine] = (),
    ahead: dict[int, int] | None = None,
) -> str:
    by_task = {attempt.task_id: attempt for attempt in attempts}
    return explain(situation, node, by_task, ahead or {}).headline


def waiting(node: int) -> TaskLine:
    return a_task(node, TaskState.WAITING, unmet=1)


def test_a_task_waits_for_the_backoff_of_the_one_before_it() -> None:
    situation = a_situation(
        [a_task(0, TaskState.BACKOFF, attempt=3, term=3, due_at=at(38)), waiting(1), waiting(2)]
    )
    assert headline(situation, 1, [an_attempt(0, attempt=2)]) == (
        "t1 waits: t0 is in backoff after attempt 2 of 5 (ConnectionError: refused),"
        f" next try in 38 s, at {clock(at(38))}"
    )


def test_the_root_cause_is_found_through_other_waiting_tasks() -> None:
    situation = a_situation([a_task(0, TaskState.BACKOFF, due_at=at(5)), waiting(1), waiting(2)])
    assert headline(situation, 2, [an_attempt(0)]).startswith(
        "t2 waits for t1: t0 is in backoff after attempt 1 of 5"
    )


def test_a_run_is_explained_by_what_holds_it_back() -> None:
    situation = a_situation([a_task(0, TaskState.BACKOFF, due_at=at(5)), waiting(1), waiting(2)])
    explanation = explain(situation, None, {RUN_ID: an_attempt(0)}, {})
    assert explanation.headline == "run 100 of sample is running, 0 of 3 tasks done"
    assert [cause.task for cause in explanation.causes] == ["t0"]


def test_a_start_that_a_schedule_puts_off_is_told_with_its_fire() -> None:
    tasks = [a_task(0, TaskState.WAITING, due_at=at(120)), waiting(1), waiting(2)]
    situation = a_situation(tasks, trigger="schedule", schedule="nightly", fire_at=at(-60))
    assert headline(situation, 0) == (
        f"t0 starts in 2 min, at {clock(at(120))}: schedule `nightly` fired at {clock(at(-60))},"
        " and its jitter lets runs start later"
    )
    [cause] = explain(situation, None, {}, {}).causes
    assert cause.reason == "jitter"
    # A run that is late for another reason is not told so.
    assert "jitter" not in headline(a_situation(tasks), 0)


def test_a_start_time_is_told() -> None:
    situation = a_situation([a_task(0, TaskState.WAITING, due_at=at(300)), waiting(1), waiting(2)])
    assert headline(situation, 0).startswith("t0 starts in 5 min, at 2026-11-15")


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (EngineLine(None, False, at(-90), NOW), "no engine runs"),
        (EngineLine("e1", True, at(-90), NOW), "the engine was not heard of for 1 min"),
        (EngineLine("e1", True, at(-0.1), NOW), "the engine is late"),
    ],
)
@pytest.mark.parametrize("state", [TaskState.WAITING, TaskState.BACKOFF])
def test_an_overdue_timer_points_at_the_engine(
    engine: EngineLine, words: str, state: TaskState
) -> None:
    tasks = [a_task(0, state, due_at=at(-30)), waiting(1), waiting(2)]
    assert words in headline(a_situation(tasks, engine=engine), 0, [an_attempt(0)])


@pytest.mark.parametrize(
    ("workers", "words"),
    [
        ([], "no worker lives"),
        ([a_worker(queues=["io"])], "no live worker serves the queue `default`"),
        ([a_worker(slots={SlotKind.PROCESS: 2})], "has slots of kind `async`"),
        ([a_worker(draining=True)], "every worker of the queue `default` is draining"),
        ([a_worker(renewed_at=at(-40))], "no worker of the queue `default` was heard of for 40 s"),
        ([a_worker()], "a worker with free `async` slots should take it any moment"),
        (
            [a_worker(running={SlotKind.ASYNC: 2})],
            "all 2 `async` slots in the queue `default` are busy and 7 tasks are ahead of it",
        ),
    ],
)
def test_a_ready_task_says_what_it_lacks(workers: list[WorkerLine], words: str) -> None:
    situation = a_situation([a_task(0, TaskState.READY), waiting(1), waiting(2)], workers=workers)
    busy = any(worker.running for worker in workers)
    assert words in headline(situation, 0, ahead={RUN_ID: 7} if busy else {})


def test_a_ready_task_after_a_loss_says_so() -> None:
    situation = a_situation([a_task(0, TaskState.READY, term=2, lost=1), waiting(1), waiting(2)])
    told_words = headline(situation, 0, [an_attempt(0, AttemptState.LOST)])
    assert "is ready again after a lost attempt for 10 s" in told_words


def test_a_running_task_names_its_worker_and_when_it_was_heard_of() -> None:
    running = a_task(0, TaskState.RUNNING, worker="w1", started_at=at(-90))
    situation = a_situation([running, waiting(1), waiting(2)], workers=[a_worker()])
    assert headline(situation, 0) == (
        "t0 runs on worker `w1` for 1 min 30 s, attempt 1 of 5; its worker was heard of 2 s ago"
    )


def test_a_running_task_of_a_silent_worker_says_what_will_happen() -> None:
    running = a_task(0, TaskState.RUNNING, worker="w1", started_at=at(-90), stop="cancel")
    situation = a_situation(
        [running, waiting(1), waiting(2)], workers=[a_worker(renewed_at=at(-60))]
    )
    words = headline(situation, 0)
    assert "its worker was not heard of for 1 min" in words
    assert "the engine will hand its tasks to others" in words
    assert words.endswith("it was asked to stop")


def closed(node: int, state: TaskState, **fields: Any) -> TaskLine:
    return a_task(node, state, started_at=at(-21), finished_at=at(-20), **fields)


def test_what_never_ran_names_the_failure_above_it() -> None:
    tasks = [
        closed(0, TaskState.FAILED, attempt=5, worker="w1"),
        a_task(1, TaskState.UPSTREAM_FAILED, finished_at=at(-20)),
        a_task(2, TaskState.UPSTREAM_FAILED, finished_at=at(-20)),
    ]
    situation = a_situation(tasks, state=RunState.FAILED, finished_at=at(-20))
    assert headline(situation, 2, [an_attempt(0, attempt=5)]) == (
        "t2 never ran: t0 failed 20 s ago in attempt 5 of 5 (ConnectionError: refused);"
        " no attempt is left"
    )
    assert headline(situation, 0, [an_attempt(0, attempt=2)]).endswith(
        "in attempt 2 of 5 (ConnectionError: refused); this error is not tried again"
    )
    assert headline(situation, None) == "run 100 of sample failed 20 s ago after 30 s"


def test_what_was_skipped_names_the_one_that_wished_it() -> None:
    tasks = [
        closed(0, TaskState.SKIPPED),
        a_task(1, TaskState.SKIPPED, finished_at=at(-20)),
        a_task(2, TaskState.SKIPPED, finished_at=at(-20)),
    ]
    situation = a_situation(tasks, state=RunState.SUCCEEDED, finished_at=at(-20))
    last = an_attempt(0, AttemptState.SUCCEEDED, error="nothing to do")
    assert headline(situation, 2, [last]) == (
        "t2 was skipped: t0 was skipped 20 s ago after 1 s: nothing to do"
    )


def test_a_cancelled_run_says_when() -> None:
    tasks = [a_task(n, TaskState.CANCELLED, finished_at=at(-20)) for n in range(3)]
    situation = a_situation(
        tasks, state=RunState.CANCELLED, started_at=None, finished_at=at(-20), stop="cancel"
    )
    assert headline(situation, None) == "run 100 of sample was cancelled 20 s ago"
    assert headline(situation, 0) == "t0 was cancelled 20 s ago, by request"


def test_a_crowd_is_told_by_a_few_of_each_sort() -> None:
    spec = dag_of(tasks=1000)
    tasks = [
        *(a_task(n, TaskState.READY) for n in range(990)),
        a_task(990, TaskState.BACKOFF, due_at=at(5)),
        *(a_task(n, TaskState.RUNNING, worker="w1") for n in range(991, 1000)),
    ]
    situation = a_situation(tasks, spec=spec, workers=[a_worker()])
    assert told(situation, roots(situation, None)) == [0, 990, 991, 992, 993]
    assert explain(situation, None, {}, {}).more == 995


def test_control_characters_of_users_do_not_reach_the_screen() -> None:
    situation = a_situation([a_task(0, TaskState.BACKOFF, due_at=at(5)), waiting(1), waiting(2)])
    assert "\x1b" not in headline(situation, 0, [an_attempt(0, error="\x1b[31mred")])


# --- what would unblock it ------------------------------------------------------------------

PAUSE = Pause(at(-300), "ada@box", "bad data")
NO_ENGINE = EngineLine(None, False, at(-90), NOW)


def the_cause(
    task: TaskLine, last: AttemptLine | None = None, ahead: int = 0, **situation: Any
) -> Cause:
    tasks = [task, waiting(1), waiting(2)]
    attempts = {RUN_ID: last} if last else {}
    [cause] = explain(
        a_situation(tasks, **situation), 0, attempts, {RUN_ID: ahead} if ahead else {}
    ).causes
    return cause


def ready(**fields: Any) -> TaskLine:
    return a_task(0, TaskState.READY, **fields)


WORKER = "mainspring worker --queues default"


@pytest.mark.parametrize(
    ("task", "facts", "reason", "commands"),
    [
        (ready(), {"dag": DagStanding(PAUSE)}, "dag_paused", ["mainspring dag resume sample"]),
        (ready(), {"queue_pause": PAUSE}, "queue_paused", ["mainspring queue resume default"]),
        (
            ready(),
            {"dag": DagStanding(PAUSE), "queue_pause": PAUSE},
            "dag_paused",
            ["mainspring dag resume sample", "mainspring queue resume default"],
        ),
        (ready(), {}, "no_worker", ["mainspring worker"]),
        (ready(), {"workers": [a_worker(queues=["io"])]}, "no_worker_for_queue", [WORKER]),
        (
            ready(),
            {"workers": [a_worker(slots={SlotKind.PROCESS: 2})]},
            "no_worker_for_kind",
            [f"{WORKER} --slots async=1"],
        ),
        (ready(), {"workers": [a_worker(draining=True)]}, "workers_draining", [WORKER]),
        (
            ready(),
            {"workers": [a_worker(draining=True, drain=Draining(Drain.STAY, NOW, None, None))]},
            "workers_draining",
            ["mainspring worker resume 1", WORKER],
        ),
        (ready(), {"workers": [a_worker(renewed_at=at(-40))]}, "workers_silent", [WORKER]),
        (
            ready(),
            {"workers": [a_worker(running={SlotKind.ASYNC: 2})], "ahead": 3},
            "slots_busy",
            [WORKER, f"mainspring run priority {RUN_ID} 9"],
        ),
        (
            ready(),
            {"workers": [a_worker()], "ahead": 3},
            "others_first",
            [f"mainspring run priority {RUN_ID} 9"],
        ),
        (ready(), {"workers": [a_worker()]}, "any_moment", []),
        (a_task(0, TaskState.WAITING, due_at=at(60)), {}, "start_time", [None]),
        (
            a_task(0, TaskState.WAITING, due_at=at(-60)),
            {"engine": NO_ENGINE},
            "no_engine",
            ["mainspring engine"],
        ),
        (a_task(0, TaskState.BACKOFF, due_at=at(60)), {"last": an_attempt(0)}, "backoff", [None]),
        (
            a_task(0, TaskState.BACKOFF, due_at=at(60)),
            {"last": an_attempt(0, AttemptState.YIELDED, error="no app"), "snapshot": APP_SNAPSHOT},
            "handed_back",
            ["mainspring worker --app sample"],
        ),
        (
            a_task(0, TaskState.BACKOFF, due_at=at(60)),
            {"last": an_attempt(0, AttemptState.YIELDED, error="no code of snapshot 12")},
            "handed_back",
            [None],
        ),
        (
            a_task(0, TaskState.BACKOFF, due_at=at(-60)),
            {"engine": NO_ENGINE},
            "no_engine",
            ["mainspring engine"],
        ),
        (
            a_task(0, TaskState.RUNNING, worker="w1"),
            {"workers": [a_worker()]},
            "running",
            [f"mainspring run logs {RUN_ID} t0"],
        ),
        (
            a_task(0, TaskState.RUNNING, worker="w1", stop="cancel"),
            {"workers": [a_worker()]},
            "stopping",
            [f"mainspring run logs {RUN_ID} t0"],
        ),
        (
            a_task(0, TaskState.RUNNING, worker="w1"),
            {"workers": [a_worker(renewed_at=at(-60))]},
            "worker_lost",
            [None],
        ),
        (
            a_task(0, TaskState.RUNNING, worker="w1"),
            {"engine": NO_ENGINE},
            "worker_lost",
            ["mainspring engine"],
        ),
        (
            a_task(0, TaskState.FAILED, finished_at=at(-20)),
            {},
            "failed",
            [f"mainspring run rerun {RUN_ID}"],
        ),
    ],
)
def test_each_reason_names_what_unblocks_it(
    task: TaskLine, facts: dict[str, Any], reason: str, commands: list[str | None]
) -> None:
    cause = the_cause(task, **facts)
    assert cause.reason is Reason(reason)
    assert [step.command for step in cause.unblocks] == commands
    assert all(step.text for step in cause.unblocks)


def test_a_pause_says_when_by_whom_and_why() -> None:
    cause = the_cause(ready(aside=True), dag=DagStanding(PAUSE), workers=[a_worker()])
    assert cause.text == (
        "t0 is ready for 10 s, but its dag was paused 5 min ago by ada@box: bad data"
    )


def test_a_pause_is_told_also_while_something_of_the_run_still_runs() -> None:
    running = a_task(0, TaskState.RUNNING, worker="w1")
    situation = a_situation(
        [running, waiting(1), waiting(2)], dag=DagStanding(PAUSE), workers=[a_worker()]
    )
    for node in (None, 0, 1):
        assert "its dag was paused 5 min ago by ada@box: bad data" in headline(situation, node)


def test_a_run_whose_dag_is_gone_says_so() -> None:
    situation = a_situation(
        [ready(), waiting(1), waiting(2)], dag=DagStanding(gone_at=at(-60)), workers=[a_worker()]
    )
    assert "its dag is gone" in headline(situation, None)
