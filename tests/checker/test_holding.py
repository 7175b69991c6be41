"""L1, L2, L3: two holders, falling terms and strangers at work are caught."""

from __future__ import annotations

import msgspec

from mainspring.domain.outcomes import HandedBack
from mainspring.store.attempts import mark_started
from mainspring.store.runs import stop_runs
from tests.checker.case import Case
from tests.checker.conftest import DIAMOND, Surgery, assert_found
from tests.checker.evidence import Effect
from tests.checker.promises import PROMISES
from tests.checker.sinks import FencedEffect

AGAIN = (
    "insert into mainspring.claim (id, worker_id, claimed_at, task_ids, terms)"
    " select gen_random_uuid(), worker_id, clock_timestamp(), array[{task}], array[{term}]"
    " from mainspring.lease"
)
QUEUE = (
    "insert into mainspring.ready (position, task_id, lane, term, priority)"
    " select nextval('mainspring.position'), id, lane, term, priority"
    " from mainspring.task where id = {task}"
)


# --- L1 -----------------------------------------------------------------------------------------


async def test_a_task_that_two_claims_hold_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(AGAIN.format(task=held.task_id, term=held.term))
    await surgery.finds("L1", f"task {held.task_id} ", "2 claims at once")
    await surgery.finds("L1", f"task {held.task_id} ", "while worker", "(`worker-1`", "held it")


async def test_a_task_that_is_held_and_queued_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(QUEUE.format(task=held.task_id))
    await surgery.finds("L1", f"task {held.task_id} ", "and in a queue")


async def test_a_task_that_is_queued_twice_is_caught(surgery: Surgery) -> None:
    run = await surgery.does(surgery.scene.trigger(DIAMOND))
    await surgery.sql(QUEUE.format(task=run))
    await surgery.finds("L1", f"task {run} (`t0` of run {run}, dag `diamond`)", "2 times")


async def test_a_claim_of_what_cannot_be_claimed_is_caught(surgery: Surgery) -> None:
    run = await surgery.connection.fetchval("select min(id) from mainspring.run")
    await surgery.sql(AGAIN.format(task=run, term=1))
    await surgery.finds("L1", f"task {run} ", "under term 1", "not there to be claimed")


# --- L2 -----------------------------------------------------------------------------------------


async def test_a_term_that_falls_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.does(surgery.worker.report(held, HandedBack("no")))
    await surgery.sql(f"update mainspring.task set term = 1 where id = {held.task_id}")
    await surgery.finds("L2", f"task {held.task_id} ", "from term 2 to 1")


async def test_a_term_that_is_granted_twice_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(
        f"delete from mainspring.claim where id = '{held.claim_id}'",
        AGAIN.format(task=held.task_id, term=held.term),
    )
    await surgery.finds("L2", f"task {held.task_id} ", "under term 1 after", "under term 1 (")


def test_a_token_that_nobody_was_given_is_caught(case: Case) -> None:
    effect = case.effects[0]
    case.effects.append(_with(effect, token=effect.token + 70))
    assert_found(case, "L2", f"of run {effect.run}", "term 71", "never granted")


def test_a_token_of_an_epoch_that_never_was_is_caught(case: Case) -> None:
    effect = case.effects[0]
    case.effects.append(_with(effect, token=effect.token + 2**32))
    assert_found(case, "L2", f"of run {effect.run}", "epoch 2", "never granted")


def test_two_executions_under_one_token_are_caught(case: Case) -> None:
    effect = case.effects[0]
    case.effects.append(_with(effect, pid=effect.pid + 1))
    assert_found(case, "L2", f"of run {effect.run}", f"2 times under token {effect.token}")


def test_a_token_given_to_another_attempt_is_caught(case: Case) -> None:
    case.effects[0] = effect = _with(case.effects[0], attempt=4)
    assert_found(case, "L2", f"of run {effect.run}", "attempt 4", "granted was attempt 1")


# --- L3 -----------------------------------------------------------------------------------------

END = (
    "update mainspring.task set state = '{state}', worker_id = {worker}, finished_at = now()"
    " where id = {task}"
)


async def test_an_end_by_another_worker_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(END.format(state="succeeded", worker=77, task=held.task_id))
    await surgery.finds("L3", f"task {held.task_id} ", "by worker 77 while", "`worker-1`")


async def test_a_claimed_task_that_a_stop_closes_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(
        "update mainspring.task set state = 'cancelled', stop = 'cancel', term = term + 1,"
        f" finished_at = now() where id = {held.task_id}"
    )
    await surgery.finds("L3", f"task {held.task_id} ", "over the head of", "`worker-1`")


async def test_a_success_of_nobody_is_caught(surgery: Surgery) -> None:
    run = await surgery.does(surgery.scene.trigger(DIAMOND))
    await surgery.sql(END.format(state="succeeded", worker=1, task=run))
    await surgery.finds("L3", f"task {run} ", "from ready to succeeded", "nobody held")


async def test_a_stop_of_what_is_queued_is_nobodys_end(surgery: Surgery) -> None:
    run = await surgery.does(surgery.scene.trigger(DIAMOND))
    await surgery.does(stop_runs(surgery.connection, [run], "cancel"))
    assert not PROMISES["L3"](await surgery.case()).violations


ATTEMPT = (
    "insert into mainspring.attempt (task_id, term, attempt, generation, worker_id, state,"
    " finished_at) values ({task}, {term}, 1, 1, {worker}, '{state}', now())"
)


async def test_an_attempt_on_record_that_nobody_held_is_caught(surgery: Surgery) -> None:
    run = await surgery.does(surgery.scene.trigger(DIAMOND))
    await surgery.sql(ATTEMPT.format(task=run, term=1, worker=1, state="failed"))
    await surgery.finds("L3", f"task {run} ", "under term 1, which nobody held")


async def test_an_attempt_on_record_that_still_goes_on_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(ATTEMPT.format(task=held.task_id, term=1, worker=1, state="failed"))
    await surgery.finds("L3", f"task {held.task_id} ", "as failed that still goes on")


async def test_an_end_that_leaves_no_record_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(END.format(state="failed", worker=surgery.worker.id, task=held.task_id))
    await surgery.finds("L3", f"task {held.task_id} ", "with 0 attempts put on record instead of 1")


async def test_a_start_marked_by_another_worker_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    mark = mark_started(surgery.connection, 77, [(held.task_id, held.term, 5)])
    await surgery.does(mark)
    await surgery.finds("L3", f"task {held.task_id} ", "marked as started by worker 77")


async def test_a_log_under_a_term_that_nobody_held_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.sql(
        "insert into mainspring.log (task_id, term, start, written_at, content)"
        f" values ({held.task_id}, 9, 1, now(), 'x')"
    )
    await surgery.finds("L3", f"task {held.task_id} ", "a log under term 9")


def test_an_effect_that_the_fence_should_have_refused_is_caught(case: Case) -> None:
    refused = next(effect for effect in case.fenced if not effect.accepted)
    place = case.fenced.index(refused)
    case.fenced[place] = _fenced(refused, accepted=True)
    assert_found(case, "L3", f"of run {refused.run}", f"took `t0` of run {refused.run}")


def test_an_effect_that_the_fence_refused_without_reason_is_caught(case: Case) -> None:
    taken = next(effect for effect in case.fenced if effect.accepted)
    case.fenced[case.fenced.index(taken)] = _fenced(taken, accepted=False)
    assert_found(case, "L3", f"refused `t0` of run {taken.run}", "was the highest")


def _with(effect: Effect, **changes: int) -> Effect:
    return msgspec.structs.replace(effect, **changes)


def _fenced(effect: FencedEffect, *, accepted: bool) -> FencedEffect:
    return msgspec.structs.replace(effect, accepted=accepted)
