"""T2: too many attempts, gaps in their numbers and rests cut short are caught."""

from __future__ import annotations

import msgspec

from mainspring.domain.outcomes import Error, HandedBack, Lost
from mainspring.domain.specs import DagSpec, RetrySpec
from mainspring.store.duties import wake_backoff
from tests.checker.case import Case, read_case
from tests.checker.conftest import ONE, PATIENT, Surgery, assert_found
from tests.checker.definitions import RetryRule
from tests.checker.promises import PROMISES
from tests.support.factory import dag_of, failure

SLOW = dag_of(name="slow", retry=RetrySpec(attempts=3, first_seconds=60))
ONCE = DagSpec(
    name="once", tasks=(msgspec.structs.replace(ONE.tasks[0], on_lost="fail", retry=PATIENT),)
)
TRIED_THREE_TIMES = dag_of(retry=PATIENT)
LOST = Lost(Error("HostDied", "gone"))


async def test_a_second_attempt_that_the_policy_does_not_allow_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    # The worker follows another policy than the one that the version has.
    await surgery.does(surgery.worker.report(held, failure(), spec=TRIED_THREE_TIMES))
    await surgery.finds("T2", f"task {held.task_id} ", "came to attempt 2; its policy allows 1")


async def test_what_a_run_says_of_attempts_goes_before_the_policy(surgery: Surgery) -> None:
    held = await surgery.hold(SLOW)
    set_options = "update mainspring.run set options = row(null, null, {}, null) where id = {}"
    await surgery.sql(set_options.format(2, held.run_id))
    await surgery.does(surgery.worker.report(held, failure(), spec=SLOW))
    assert not PROMISES["T2"](await surgery.case()).violations
    await surgery.sql(set_options.format(1, held.run_id))
    await surgery.finds("T2", f"task {held.task_id} ", "came to attempt 2; its policy allows 1")


async def test_a_gap_in_the_numbers_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(SLOW)
    await surgery.sql(f"update mainspring.task set attempt = 2 where id = {held.task_id}")
    await surgery.does(surgery.worker.report(held, failure(), spec=SLOW))
    await surgery.finds("T2", f"task {held.task_id} ", "under term 1 is number 2, not 1")


async def test_an_attempt_that_was_not_counted_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(SLOW)
    await surgery.does(surgery.worker.report(held, failure(), spec=SLOW))
    await surgery.sql(f"update mainspring.task set attempt = 1 where id = {held.task_id}")
    await surgery.finds("T2", f"task {held.task_id} ", "is at attempt 1 and not 2")


async def test_a_loss_that_was_to_be_the_last_and_is_not_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(ONCE)
    await surgery.does(surgery.worker.report(held, LOST, spec=ONE))
    await surgery.finds("T2", f"task {held.task_id} ", "went on after it had been lost")


async def test_losses_beyond_the_policy_are_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    for _ in range(4):
        generous = DagSpec(name="one", tasks=(msgspec.structs.replace(ONE.tasks[0], max_lost=9),))
        await surgery.does(surgery.worker.report(held, LOST, spec=generous))
        held = await surgery.does(surgery.worker.take())
    await surgery.finds("T2", f"task {held.task_id} ", "was lost 4 times; its policy allows 3")


async def test_a_loss_that_was_not_counted_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.does(surgery.worker.report(held, LOST))
    await surgery.sql(f"update mainspring.task set lost = 0 where id = {held.task_id}")
    await surgery.finds("T2", f"task {held.task_id} ", "counts 0 losses and has 1 on record")


async def test_a_rest_that_is_shorter_than_the_policy_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(SLOW)
    await surgery.does(surgery.worker.report(held, failure(), spec=TRIED_THREE_TIMES))
    await surgery.finds("T2", f"task {held.task_id} ", "rest after attempt 1", "policy's 60 s")


async def test_a_rest_that_the_author_chose_is_right(surgery: Surgery) -> None:
    held = await surgery.hold(SLOW)
    chosen = failure()
    chosen = msgspec.structs.replace(chosen, error=Error("Retry", "soon"), delay_seconds=0.0)
    await surgery.does(surgery.worker.report(held, chosen, spec=SLOW))
    assert not PROMISES["T2"](await surgery.case()).violations


async def test_a_task_that_is_woken_too_early_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold()
    await surgery.does(surgery.worker.report(held, HandedBack("no", delay_seconds=60)))
    later = await surgery.connection.fetchval("select now() + interval '1 hour'")
    await surgery.does(wake_backoff(surgery.connection, later, 10))
    await surgery.finds("T2", f"task {held.task_id} ", "was woken", "before its rest was over")


def test_an_attempt_that_begins_in_its_rest_is_caught(case: Case) -> None:
    [place] = [
        place
        for place, effect in enumerate(case.effects)
        if effect.attempt == 2 and effect.phase == "begin"
    ]
    effect = case.effects[place]
    case.effects[place] = msgspec.structs.replace(effect, at=effect.at - 5)
    assert_found(case, "T2", f"of run {effect.run}", "began under term 2", "before its rest")


async def test_what_is_to_begin_at_most_once_and_begins_twice_is_caught(surgery: Surgery) -> None:
    held = await surgery.hold(ONCE)
    for term in range(1, 5):
        surgery.worker.tell(msgspec.structs.replace(held, term=term), "begin")
    case = await read_case(surgery.scene.folder, surgery.connection)
    assert_found(case, "T2", f"task {held.task_id} ", "begun 4 times", "a loss ends it")


def test_rests_are_as_the_policies_say() -> None:
    assert RetryRule(first_seconds=3.0).least_rest_seconds(2) == 3.0
    growing = RetryRule(backoff="exponential", first_seconds=2.0, factor=3.0, cap_seconds=50.0)
    assert [growing.least_rest_seconds(n) for n in (1, 2, 3, 4, 9999)] == [2, 6, 18, 50, 50]
    listed = RetryRule(backoff="delays", delays_seconds=(1.0, 5.0), jitter=0.5)
    assert [listed.least_rest_seconds(n) for n in (1, 2, 3)] == [0.5, 2.5, 2.5]
    assert RetryRule(backoff="function").least_rest_seconds(1) is None
