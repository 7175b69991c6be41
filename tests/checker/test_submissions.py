"""N1, N2: what was lost, and what nobody asked for, is caught."""

from __future__ import annotations

import msgspec

from tests.checker.case import Case
from tests.checker.conftest import ONE, Surgery, assert_found
from tests.checker.evidence import Answered, Asked
from tests.checker.promises import PROMISES

# --- N1 -----------------------------------------------------------------------------------------


def test_an_accepted_run_that_is_not_there_is_caught(case: Case) -> None:
    case.client += [Asked(900, 1.0, "trigger", "one"), Answered(900, 2.0, "ok", 12345)]
    assert_found(case, "N1", "run 12345 of `one` was accepted (request 900) and is not there")


def test_a_request_that_was_refused_needs_no_run(case: Case) -> None:
    case.client += [Asked(900, 1.0, "trigger", "one"), Answered(900, 2.0, "failed", 12345)]
    assert not PROMISES["N1"](case).violations


async def test_a_run_that_never_ends_is_caught_unless_it_may_wait(surgery: Surgery) -> None:
    held = await surgery.hold()
    case = await surgery.case()
    assert_found(case, "N1", f"run {held.run_id} is open: `t0` is ready under term 1")
    case.may_wait = lambda run: run.id == held.run_id
    assert not PROMISES["N1"](case).violations


async def test_a_cancelled_run_that_is_still_open_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    case = await surgery.case()
    case.client += [
        Asked(900, 1.0, "cancel", run=held.run_id),
        Answered(900, 2.0, "ok"),
    ]
    assert_found(case, "N1", f"run {held.run_id} was cancelled (request 900) and is still open")


def test_a_rerun_that_never_happened_is_caught(case: Case) -> None:
    run = min(case.tables.past_runs)
    case.client += [Asked(900, 1.0, "rerun", run=run), Answered(900, 2.0, "ok")]
    assert_found(case, "N1", f"run {run} was to run again (request 900) and never did")


def test_a_success_that_the_sink_does_not_know_of_is_caught(case: Case) -> None:
    run = case.effects[0].run
    case.effects[:] = [effect for effect in case.effects if effect.task != "t0"]
    assert_found(case, "N1", f"(`t0` of run {run}", "succeeded under term 1 and was never begun")


def test_a_success_that_never_came_to_its_end_is_caught(case: Case) -> None:
    run = case.effects[0].run
    case.effects[:] = [effect for effect in case.effects if effect.phase == "begin"]
    assert_found(case, "N1", f"(`t0` of run {run}", "was begun and not ended")


def test_dags_that_tell_no_sink_are_left_out_if_they_are_named(case: Case) -> None:
    case.effects.clear()
    case.silent = frozenset({"diamond", "one", "urgent", "calm"})
    assert not PROMISES["N1"](case).violations


async def test_history_that_lost_a_task_is_caught(surgery: Surgery) -> None:
    run = await surgery.connection.fetchval("select min(id) from mainspring.run_history")
    await surgery.sql(f"delete from mainspring.task_history where id = {run + 1}")
    await surgery.finds("N1", f"run {run} has 3 of its 4 tasks in history")


# --- N2 -----------------------------------------------------------------------------------------


def test_a_run_that_nobody_asked_for_is_caught(case: Case) -> None:
    urgent = _asked(case, "urgent")
    case.client[:] = [record for record in case.client if record.number != urgent.number]
    assert_found(case, "N2", "of `urgent` was asked for by nobody")


def test_a_run_of_a_request_that_was_refused_is_caught(case: Case) -> None:
    urgent = _asked(case, "urgent")
    place = _answer(case, urgent)
    case.client[place] = Answered(urgent.number, 1.0, "failed")
    assert_found(case, "N2", "of `urgent` was asked for by nobody")


async def test_two_runs_of_one_lost_answer_are_caught(surgery: Surgery) -> None:
    """Two requests have no answer, and one of them made its run; two more are too many."""
    await surgery.does(surgery.scene.trigger(ONE))
    assert not PROMISES["N2"](await surgery.case()).violations
    run = await surgery.does(surgery.scene.trigger(ONE))
    await surgery.finds("N2", f"run {run} of `one` was asked for by nobody", "2 requests")


def test_a_run_that_was_made_before_it_was_asked_for_is_caught(case: Case) -> None:
    for place, record in enumerate(case.client):
        if isinstance(record, Asked) and record.what == "trigger" and record.dag == "one":
            case.client[place] = msgspec.structs.replace(record, at=record.at + 1000)
    assert_found(case, "N2", "of `one` was asked for by nobody", "0 requests had no answer")


async def test_a_key_with_two_runs_is_caught(surgery: Surgery) -> None:
    await surgery.sql("update mainspring.idempotency set run_id = 7777")
    await surgery.finds("N2", "key `wish` has 2 runs", "7777")
    await surgery.finds("N2", "key `wish` stands for run 7777, which never was")


def test_an_answer_with_another_run_than_the_keys_is_caught(case: Case) -> None:
    asked = next(r for r in case.client if isinstance(r, Asked) and r.key == "wish")
    other = max(case.tables.runs)
    case.client[_answer(case, asked)] = Answered(asked.number, 1.0, "ok", other)
    assert_found(case, "N2", f"with key `wish` was answered with run {other}")


def test_a_key_that_was_never_asked_for_is_caught(case: Case) -> None:
    case.client[:] = [r for r in case.client if not (isinstance(r, Asked) and r.key == "wish")]
    assert_found(case, "N2", "key `wish` has run", "was never asked for")


def test_two_requests_with_one_run_are_caught(case: Case) -> None:
    urgent = _asked(case, "urgent")
    answer = case.client[_answer(case, urgent)]
    assert isinstance(answer, Answered)
    case.client += [Asked(900, 1.0, "trigger", "urgent"), Answered(900, 2.0, "ok", answer.run)]
    assert_found(case, "N2", f"requests {urgent.number} and 900", f"one run, {answer.run}")


def test_an_answer_with_a_run_of_another_dag_is_caught(case: Case) -> None:
    urgent = _asked(case, "urgent")
    case.client[case.client.index(urgent)] = msgspec.structs.replace(urgent, dag="calm")
    assert_found(case, "N2", f"request {urgent.number} for `calm`", "of `urgent`")


def test_a_run_that_was_opened_again_unasked_is_caught(case: Case) -> None:
    reruns = [r for r in case.client if isinstance(r, Asked) and r.what == "rerun"]
    case.client.remove(reruns[0])
    assert_found(case, "N2", f"run {reruns[0].run} was opened again 1 times, and 0 times")


def test_work_for_a_run_that_is_not_there_is_caught(case: Case) -> None:
    case.effects.append(msgspec.structs.replace(case.effects[0], run=4444))
    assert_found(case, "N2", "`t0` of run 4444 was at work", "no such task")


def test_an_end_without_a_beginning_is_caught(case: Case) -> None:
    end = next(effect for effect in case.effects if effect.phase == "end")
    case.effects.append(msgspec.structs.replace(end, token=end.token + 5))
    assert_found(case, "N2", f"`t0` of run {end.run} ended 1 times more than it began")


def test_more_executions_than_grants_are_caught(case: Case) -> None:
    begin = case.effects[0]
    case.effects.append(msgspec.structs.replace(begin, token=begin.token + 5))
    assert_found(case, "N2", f"of run {begin.run}", "begun 2 times and granted 1 times")


def _asked(case: Case, dag: str) -> Asked:
    return next(r for r in case.client if isinstance(r, Asked) and r.dag == dag)


def _answer(case: Case, asked: Asked) -> int:
    """Where its answer stands."""
    return next(
        place
        for place, record in enumerate(case.client)
        if isinstance(record, Answered) and record.number == asked.number
    )
