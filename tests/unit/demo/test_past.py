"""The made-up past: as many runs as asked for, the same for the same seed, a gapless ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.demo.past import (
    Dag,
    Happening,
    Scheduled,
    Teller,
    Told,
    Version,
    happenings,
    nodes_of,
)
from mainspring.domain.specs import DagSpec, RetrySpec, TaskSpec
from mainspring.schedule.parsing import schedule_from
from mainspring.schedule.timetable import Timetable

UNTIL = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
NAMES = ("prices_eu", "stock_sync", "report_sales", "order_placed")
CRONS = ("*/15 6-21 * * *", "*/5 * * * *", "0 7 * * *", None)


def dag(number: int) -> Dag:
    name, cron = NAMES[number], CRONS[number]
    tasks = tuple(
        TaskSpec(name=each, entry=f"m:{each}", retry=RetrySpec(attempts=2)) for each in "abcd"
    )
    spec = DagSpec(name=name, tasks=tasks, edges=((0, 1), (0, 2), (1, 3), (2, 3)))
    nodes, order = nodes_of(spec, [8, 8, 8, 8])
    version = Version(number, 1, UNTIL - timedelta(days=99), nodes, order)
    if cron is None:
        return Dag(number, name, (version,))
    timetable = Timetable(schedule_from(cron), name)
    return Dag(number, name, (version,), (Scheduled(number, 1, timetable, None, number == 1),))


DAGS = [dag(number) for number in range(len(NAMES))]


def told(seed: int, runs: int) -> list[tuple[Happening, Told | None]]:
    teller = Teller(seed=seed, until=UNTIL, workers=[1, 2])
    number, found = 1, []
    for each in happenings(DAGS, runs=runs, seed=seed, until=UNTIL):
        found.append((each, None if each.reason else teller.tell(each, number)))
        number += each.tasks
    return found


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), runs=st.integers(50, 2000))
def test_there_are_as_many_runs_as_asked_for_and_each_is_over(seed: int, runs: int) -> None:
    found = told(seed, runs)
    made = [run for _, run in found if run is not None]
    assert len(made) == runs
    assert [each.at for each, _ in found] == sorted(each.at for each, _ in found)
    for each, run in found:
        if run is not None:
            assert each.due_at <= each.at <= run.started_at <= run.finished_at <= UNTIL
            _check_states([str(task[10]) for task in run.tasks], run)


def _check_states(states: list[str], run: Told) -> None:
    """Nothing runs after what did not succeed, and the verdict is a function of the tasks."""
    for before, after in ((0, 1), (0, 2), (1, 3), (2, 3)):
        if states[before] != "succeeded":
            assert run.tasks[after][3] is None, states
    failed = sum(state in ("failed", "upstream_failed") for state in states)
    assert run.failed_tasks == failed
    cancelled = "cancelled" in states
    assert run.state == ("failed" if failed else "cancelled" if cancelled else "succeeded")
    assert len(run.letters) == states.count("failed")


def test_each_fire_in_the_ledger_is_followed_by_the_next() -> None:
    for number in range(3):
        fires = [each for each, _ in told(3, 2_000) if each.schedule and each.schedule.id == number]
        fires.sort(key=lambda each: each.fire_at or UNTIL)
        assert len(fires) > 50
        for before, after in pairwise(fires):
            assert before.next_at == after.fire_at
        [following] = (
            DAGS[number]
            .schedules[0]
            .timetable.fires_between(UNTIL, UNTIL + timedelta(days=2), limit=1)
        )
        assert fires[-1].next_at == following.at


def test_an_outage_leaves_missed_fires_and_one_run_that_is_late() -> None:
    found = happenings(DAGS, runs=20_000, seed=1, until=UNTIL)
    [missed] = [each for each in found if each.reason == "misfire" and each.dag is DAGS[1]]
    assert missed.count == 35  # of the 36 in three hours
    [late] = [each for each in found if each.fire_at == missed.next_at and each.dag is DAGS[1]]
    assert late.reason is None
    assert late.at > late.due_at + timedelta(minutes=1)


def test_the_same_seed_tells_the_same_and_another_seed_something_else() -> None:
    assert [run for _, run in told(5, 300)] == [run for _, run in told(5, 300)]
    assert [run for _, run in told(5, 300)] != [run for _, run in told(6, 300)]
