"""T1, T3: illegal moves, moves that nobody saw, and what starts after a stop are caught."""

from __future__ import annotations

from mainspring.domain.outcomes import HandedBack
from mainspring.store.runs import stop_runs
from tests.checker.case import Case
from tests.checker.conftest import DIAMOND, Surgery
from tests.checker.promises import PROMISES
from tests.checker.states import TASK_MOVES, task_may_move

# --- T1 -----------------------------------------------------------------------------------------


async def test_a_move_that_is_not_in_the_table_is_caught(surgery: Surgery) -> None:
    run = await surgery.does(surgery.scene.trigger(DIAMOND))
    await surgery.sql(f"update mainspring.task set state = 'parked' where id = {run + 1}")
    await surgery.finds("T1", f"task {run + 1} (`t1` of run {run}", "from waiting to parked")


async def test_a_closed_task_that_changes_is_caught(surgery: Surgery) -> None:
    run = await surgery.connection.fetchval("select min(id) from mainspring.run")
    await surgery.sql(f"update mainspring.task set attempt = attempt where id = {run}")
    await surgery.finds("T1", f"task {run} ", "was succeeded and was changed")


async def test_a_task_that_is_opened_under_its_old_generation_is_caught(surgery: Surgery) -> None:
    run = await surgery.connection.fetchval("select min(id) from mainspring.run")
    await surgery.sql(
        "update mainspring.task set state = 'waiting', term = term + 1, finished_at = null"
        f" where id = {run}"
    )
    await surgery.finds("T1", f"task {run} ", "was succeeded and was changed")


async def test_a_generation_that_rises_while_open_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(f"update mainspring.task set generation = 2 where id = {held.task_id}")
    await surgery.finds("T1", f"task {held.task_id} ", "generation 1 to 2 while ready")


async def test_a_task_that_is_made_closed_is_caught(surgery: Surgery) -> None:
    await surgery.sql(
        "insert into mainspring.task (id, run_id, due_at, tenant_id, version_id, node, lane, unmet,"
        " state, priority, finished_at)"
        " select 90, 90, now(), 1, version_id, 0, lane, 0, 'skipped', 5, now()"
        " from mainspring.task limit 1"
    )
    await surgery.finds("T1", "task 90 ", "was made as skipped")


async def test_an_open_task_that_is_deleted_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(f"delete from mainspring.task where id = {held.task_id}")
    await surgery.finds("T1", f"task {held.task_id} ", "deleted while ready")


async def test_a_task_that_does_not_arrive_in_history_is_caught(surgery: Surgery) -> None:
    run = await surgery.connection.fetchval("select min(id) from mainspring.run")
    await surgery.sql(f"delete from mainspring.task where id = {run}")
    await surgery.finds("T1", f"task {run} ", "arrived nowhere")
    await surgery.sql(f"delete from mainspring.run where id = {run}")
    await surgery.finds("T1", f"run {run} left table run and arrived nowhere")


async def test_history_that_is_rewritten_is_caught(surgery: Surgery) -> None:
    past = await surgery.connection.fetchval("select min(id) from mainspring.task_history")
    await surgery.sql(f"update mainspring.task_history set lost = 2 where id = {past}")
    await surgery.finds("T1", f"task_history {past} was changed")


async def test_a_record_of_an_attempt_that_is_rewritten_is_caught(surgery: Surgery) -> None:
    task = await surgery.connection.fetchval("select min(task_id) from mainspring.attempt")
    await surgery.sql(f"update mainspring.attempt set state = 'lost' where task_id = {task}")
    await surgery.finds("T1", f"task {task} ", "record of its attempt", "was changed")


async def test_a_run_that_is_opened_without_its_tasks_is_caught(surgery: Surgery) -> None:
    run = await surgery.connection.fetchval(
        "select max(id) from mainspring.run where open_tasks is not null"
    )
    await surgery.sql(f"update mainspring.run set state = 'running' where id = {run}")
    await surgery.finds("T1", f"run {run} was opened again", "with none of its tasks")


async def test_a_closed_run_that_changes_is_caught(surgery: Surgery) -> None:
    run = await surgery.connection.fetchval(
        "select max(id) from mainspring.run where open_tasks is not null"
    )
    await surgery.sql(f"update mainspring.run set stop = 'cancel' where id = {run}")
    await surgery.finds("T1", f"run {run} was succeeded and was changed")


async def test_a_change_that_the_journal_did_not_see_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(
        "alter table mainspring.task disable trigger checker_update",
        f"update mainspring.task set lost = 1 where id = {held.task_id}",
    )
    await surgery.finds("T1", f"task {held.task_id} is not what the journal says")
    await surgery.sql(
        "alter table mainspring.task enable trigger checker_update",
        f"update mainspring.task set started_at = now() where id = {held.task_id}",
    )
    await surgery.finds("T1", f"task {held.task_id} was changed unseen before")


async def test_a_row_that_the_journal_did_not_see_is_caught(surgery: Surgery) -> None:
    await surgery.sql(
        "alter table mainspring.claim disable trigger checker_delete",
    )
    held = await surgery.hold()
    await surgery.sql("delete from mainspring.claim")
    await surgery.finds("T1", f"claim {held.claim_id} is in the journal only")


def test_every_state_of_the_table_has_its_moves_and_no_others(case: Case) -> None:
    assert sum(len(moves) for moves in TASK_MOVES.values()) == 22
    assert task_may_move("waiting", "running"), "a granted child"
    assert not task_may_move("ready", "succeeded")
    assert PROMISES["T1"](case).exercised > 50


# --- T3 -----------------------------------------------------------------------------------------


async def test_a_task_that_is_queued_after_a_stop_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.does(stop_runs(surgery.connection, [held.run_id], "cancel"))
    await surgery.sql(
        "insert into mainspring.ready (position, task_id, lane, term, priority)"
        " select nextval('mainspring.position'), id, lane, term, priority"
        f" from mainspring.task where id = {held.task_id}"
    )
    await surgery.finds("T3", f"task {held.task_id} ", "in a queue although it was stopped")
    await surgery.sql("delete from mainspring.claim")
    await surgery.does(surgery.worker.take())
    await surgery.finds("T3", f"task {held.task_id} ", "was granted to", "after it had been")


async def test_a_claimed_task_that_is_not_told_to_stop_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(DIAMOND)
    await surgery.does(stop_runs(surgery.connection, [held.run_id], "cancel"))
    assert not PROMISES["T3"](await surgery.case()).violations
    await surgery.sql(f"update mainspring.task set stop = null where id = {held.task_id}")
    await surgery.finds("T3", f"task {held.task_id} ", "was not told to stop")


async def test_what_is_handed_back_after_a_stop_is_closed(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.does(stop_runs(surgery.connection, [held.run_id], "cancel"))
    await surgery.does(surgery.worker.report(held, HandedBack("no")))
    assert not PROMISES["T3"](await surgery.case()).violations
