"""C1, X1: too much at once, slots that do not come back, and what had to be mended are caught."""

from __future__ import annotations

import msgspec
import pytest

from mainspring.domain.lanes import Lane, SlotKind
from mainspring.domain.specs import DagSpec, TaskSpec
from mainspring.store.attempts import complete_attempts
from mainspring.store.duties import audit_open, mend_stuck
from tests.checker.case import Case, read_case
from tests.checker.conftest import DIAMOND, ONE, Player, Scene, Surgery, assert_found
from tests.checker.promises import PROMISES
from tests.checker.promises.slots import most_at_once

PROCESS = DagSpec(name="process", tasks=(TaskSpec(name="t0", entry="sample:task"),))


async def _case(scene: Scene) -> Case:
    return await read_case(scene.folder, scene.connection)


async def _work_at_once(scene: Scene, worker: Player, count: int) -> None:
    for _ in range(count):
        await scene.trigger(ONE)
    claimed = await worker.claim(count)
    for item in claimed:
        worker.tell(item, "begin")
    for item in claimed:
        worker.tell(item, "end")
        await worker.report(item)


# --- C1 -----------------------------------------------------------------------------------------


async def test_more_executions_than_slots_are_caught(scene: Scene) -> None:
    worker = await scene.join("worker-1", 1, slots=2)
    await _work_at_once(scene, worker, 2)
    assert not PROMISES["C1"](await _case(scene)).violations
    await _work_at_once(scene, worker, 3)
    case = await _case(scene)
    assert_found(case, "C1", "(`worker-1`, pid 1) ran 3 tasks of kind async at once; it has 2")


async def test_tasks_that_are_claimed_while_slots_are_taken_are_caught(scene: Scene) -> None:
    """One after the other they run, but they were held at once."""
    worker = await scene.join("worker-1", 1, slots=1)
    await scene.trigger(ONE)
    await scene.trigger(ONE)
    for item in await worker.claim(2):
        await worker.work(item)
    case = await _case(scene)
    for place, effect in enumerate(case.effects):
        # Long enough to be told from each other on two clocks.
        case.effects[place] = msgspec.structs.replace(effect, at=effect.at + place)
    [said] = PROMISES["C1"](case).violations
    assert "held 2 tasks of kind async at once; it may hold 1" in said


async def test_processes_may_be_held_ahead_and_not_run(scene: Scene) -> None:
    worker = await scene.join("worker-1", 1, slots=0)
    await scene.connection.execute("update mainspring.worker set slots = '{\"process\": 1}'")
    lane = Lane(1, SlotKind.PROCESS).number
    for _ in range(2):
        await scene.trigger(PROCESS)
    for item in await worker.claim(2, lane=lane):
        await worker.work(item)
    assert not PROMISES["C1"](await _case(scene)).violations
    case = await _case(scene)
    case.effects.sort(key=lambda effect: effect.phase)
    for place, effect in enumerate(case.effects):
        case.effects[place] = msgspec.structs.replace(effect, at=effect.at + place)
    [said] = PROMISES["C1"](case).violations
    assert "ran 2 tasks of kind process at once; it has 1 slots" in said


async def test_a_claim_that_holds_nothing_and_stays_is_caught(scene: Scene) -> None:
    worker = await scene.join("worker-1", 1)
    await scene.trigger(ONE)
    held = await worker.take()
    await complete_attempts(scene.connection, worker.id, [worker.completion(held)])
    assert_found(await _case(scene), "C1", f"claim {held.claim_id} of worker", "holds nothing")


async def test_a_worker_that_stands_still_beside_its_queue_is_caught(scene: Scene) -> None:
    await scene.join("worker-1", 1, slots=3)
    run = await scene.trigger(ONE)
    assert_found(
        await _case(scene), "C1", f"task {run} ", "waits in queue `default`", "3 free slots"
    )


async def test_a_worker_that_is_full_may_leave_its_queue_alone(scene: Scene) -> None:
    worker = await scene.join("worker-1", 1, slots=1)
    await scene.trigger(ONE)
    await scene.trigger(ONE)
    await worker.take()
    assert not PROMISES["C1"](await _case(scene)).violations


def test_an_end_and_a_beginning_at_the_same_moment_are_not_at_once() -> None:
    assert most_at_once([(0.0, 1.0), (1.0, 2.0)]) == 1
    assert most_at_once([(0.0, 1.5), (1.0, 2.0), (1.2, 1.3)]) == 3
    assert most_at_once([(1.0, 1.0)]) == 0


# --- X1 -----------------------------------------------------------------------------------------


async def test_a_task_that_had_to_be_mended_is_caught(surgery: Surgery) -> None:
    run = await surgery.does(surgery.scene.trigger(ONE))
    await surgery.sql("delete from mainspring.ready")
    await surgery.finds("X1", f"task {run} ", "nothing will move it on")
    stuck = (await audit_open(surgery.connection, 0, 1000)).stuck
    await surgery.does(mend_stuck(surgery.connection, stuck))
    await surgery.finds("X1", f"task {run} ", "stuck as ready under term 1 and was mended")


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("delete from mainspring.claim", "ready"),
        ("update mainspring.task set state = 'backoff' where id = {task}", "backoff"),
        ("update mainspring.task set state = 'waiting' where id = {task}", "waiting"),
    ],
)
async def test_what_nothing_will_move_on_is_caught(surgery: Surgery, sql: str, state: str) -> None:
    held = await surgery.hold(DIAMOND)
    await surgery.sql(sql.format(task=held.task_id))
    await surgery.finds("X1", f"task {held.task_id} ", f"is {state} under term 1, and nothing")


async def test_without_an_engine_the_net_was_not_exercised(scene: Scene) -> None:
    assert PROMISES["X1"](await _case(scene)).verdict == "not exercised"
