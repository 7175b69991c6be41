"""D1, D3: children that come too early and verdicts that do not follow are caught."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from mainspring.store.dags import register_dag
from mainspring.store.duties import wake_starts
from mainspring.store.runs import NewRun, create_runs
from tests.checker.case import Case
from tests.checker.conftest import DIAMOND, ONE, Surgery, assert_found
from tests.checker.promises import PROMISES
from tests.support.factory import failure

# --- D1 -----------------------------------------------------------------------------------------


async def test_a_child_that_is_ready_before_its_parents_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(DIAMOND)
    child = held.run_id + 1
    await surgery.sql(f"update mainspring.task set state = 'ready' where id = {child}")
    await surgery.finds(
        "D1", f"task {child} (`t1` of run {held.run_id}", f"while task {held.task_id} ", "was ready"
    )


async def test_a_child_that_waits_for_what_failed_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(DIAMOND)
    await surgery.sql(
        "update mainspring.task set state = 'failed', finished_at = now()"
        f" where id = {held.task_id}"
    )
    await surgery.finds("D1", f"task {held.task_id + 2} ", "still waits for", "which is failed")


def test_a_child_that_begins_before_its_parent_has_ended_is_caught(case: Case) -> None:
    ends = [e for e in case.effects if e.phase == "end" and e.task == "t0" and e.generation == 1]
    parent = ends[0]
    later = msgspec.structs.replace(parent, at=parent.at + 1000)
    case.effects[case.effects.index(parent)] = later
    assert_found(case, "D1", f"`t1` of run {parent.run}", "s before task", "had ended")


async def test_a_run_that_begins_before_its_time_is_caught(surgery: Surgery) -> None:
    dag = await register_dag(surgery.connection, ONE, "snapshot")
    later = datetime.now(UTC) + timedelta(hours=1)
    run = NewRun(99, dag.version_id, dag.snapshot_id, due_at=later)
    await surgery.does(create_runs(surgery.connection, [run]))
    await surgery.does(wake_starts(surgery.connection, later, 10))
    await surgery.finds("D1", "task 99 ", "before its start time")


async def test_a_run_that_failed_keeps_the_promise(surgery: Surgery) -> None:
    held = await surgery.hold(DIAMOND)
    await surgery.does(surgery.worker.report(held, failure(retry=False), spec=DIAMOND))
    case = await surgery.case()
    assert not PROMISES["D1"](case).violations
    assert not PROMISES["D3"](case).violations


# --- D3 -----------------------------------------------------------------------------------------


async def test_a_verdict_that_does_not_follow_is_caught(surgery: Surgery) -> None:
    run = await surgery.connection.fetchval(
        "select max(id) from mainspring.run where open_tasks is not null"
    )
    await surgery.sql(f"update mainspring.run set state = 'failed' where id = {run}")
    await surgery.finds("D3", f"run {run} is failed with tasks that make it succeeded")
    await surgery.finds("D3", f"run {run} is shown as failed; its tasks make it succeeded")


async def test_a_run_that_stays_open_without_an_open_task_is_caught(surgery: Surgery) -> None:
    run = await surgery.connection.fetchval(
        "select max(id) from mainspring.run where open_tasks is not null"
    )
    await surgery.sql(
        f"update mainspring.run set state = 'running', finished_at = null where id = {run}"
    )
    await surgery.finds("D3", f"run {run} is running with tasks that make it succeeded")


async def test_a_run_that_is_closed_with_an_open_task_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(DIAMOND)
    await surgery.sql(
        "update mainspring.run set state = 'succeeded', finished_at = now()"
        f" where id = {held.run_id}"
    )
    await surgery.finds("D3", f"run {held.run_id} is succeeded", "that make it running")
    await surgery.finds("D3", f"run {held.run_id} is shown as succeeded with an open task")


async def test_a_wrong_count_of_open_tasks_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(DIAMOND)
    await surgery.sql(f"update mainspring.run set open_tasks = 3 where id = {held.run_id}")
    await surgery.finds("D3", f"run {held.run_id} counts 3 open tasks and has 4")


async def test_a_run_without_all_its_tasks_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(DIAMOND)
    await surgery.sql(f"delete from mainspring.task where id = {held.run_id + 3}")
    await surgery.finds("D3", f"run {held.run_id} has 3 of its 4 tasks")


async def test_a_run_that_changes_its_version_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(DIAMOND)
    await surgery.sql(
        f"update mainspring.run set snapshot_id = snapshot_id + 1 where id = {held.run_id}"
    )
    await surgery.finds("D3", f"run {held.run_id} went from version", "on snapshot 1", "snapshot 2")


async def test_a_task_of_another_version_than_its_run_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(DIAMOND)
    other = (await register_dag(surgery.connection, ONE, "snapshot")).version_id
    await surgery.sql(f"update mainspring.task set version_id = {other} where id = {held.task_id}")
    await surgery.finds("D3", f"task {held.task_id} ", f"is of version {other}")


async def test_history_with_another_verdict_than_its_tasks_is_caught(surgery: Surgery) -> None:
    run = await surgery.connection.fetchval(
        "select min(id) from mainspring.run_history where state = 'succeeded'"
    )
    await surgery.sql(f"update mainspring.run_history set state = 'failed' where id = {run}")
    await surgery.finds("D3", f"run {run} is shown as failed; its tasks make it succeeded")
