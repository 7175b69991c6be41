"""H1 and its neighbours catch what is done by hand in the wrong way."""

from __future__ import annotations

from mainspring.store.marks import mark_task
from mainspring.store.runs import Deed
from tests.checker.case import Case
from tests.checker.conftest import Surgery
from tests.checker.promises import PROMISES


def test_the_piece_has_tasks_that_were_closed_by_hand(case: Case) -> None:
    finding = PROMISES["H1"](case)
    assert finding.exercised == 4
    assert not finding.violations


async def test_a_remark_without_a_move_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(
        "insert into mainspring.remark (task_id, term, deed, at, who, note)"
        f" values ({held.task_id}, {held.term}, 'succeeded', now(), 'me', '')"
    )
    await surgery.finds("H1", f"task {held.task_id} ", "and did not move")


async def test_a_remark_that_is_changed_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.does(
        mark_task(surgery.connection, held.run_id, 0, held.term, "succeeded", Deed("me"))
    )
    await surgery.sql(
        "update mainspring.remark set note = 'another'",
    )
    await surgery.finds("H1", "a remark was changed")


async def test_a_mark_that_nobody_asked_for_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.does(
        mark_task(surgery.connection, held.run_id, 0, held.term, "succeeded", Deed("me"))
    )
    await surgery.finds("H1", f"run {held.run_id} were closed by hand, and 0 times")


async def test_a_mark_that_leaves_the_term_to_its_holder_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(
        "with mark as (insert into mainspring.remark (task_id, term, deed, at, who, note)"
        f" values ({held.task_id}, {held.term}, 'succeeded', now(), 'me', ''))"
        f" update mainspring.task set state = 'succeeded', finished_at = now()"
        f" where id = {held.task_id}"
    )
    await surgery.finds("H1", f"task {held.task_id} ", "and did not move")
    await surgery.finds("L3", f"task {held.task_id} ", "was closed by hand under term")
    await surgery.finds("L3", f"task {held.task_id} ", "attempts [] put on record instead of")


async def test_a_task_that_is_closed_from_its_queue_without_a_word_is_caught(
    surgery: Surgery,
) -> None:
    held = await surgery.hold()
    await surgery.sql(
        "delete from mainspring.claim",
        "update mainspring.task set state = 'succeeded', term = term + 1, finished_at = now()"
        f" where id = {held.task_id}",
    )
    await surgery.finds("L3", f"task {held.task_id} ", "which nobody held")


async def test_a_task_that_had_succeeded_cannot_be_marked_as_skipped(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.does(surgery.worker.work(held))
    await surgery.sql("alter table mainspring.task disable trigger task_moves")
    await surgery.sql(
        "with mark as (insert into mainspring.remark (task_id, term, deed, at, who, note)"
        f" values ({held.task_id}, {held.term}, 'skipped', now(), 'me', ''))"
        f" update mainspring.task set state = 'skipped', term = term + 1 where id = {held.task_id}"
    )
    await surgery.finds("T1", f"task {held.task_id} ", "moved from succeeded to skipped")
