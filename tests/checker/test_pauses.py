"""T4: what is handed out although it is paused is caught, and so is an answer that is not true."""

from __future__ import annotations

import pytest

from mainspring.store.pauses import pause_dag, pause_queue, resume_dag, shift_slice
from tests.checker.case import Case, read_case
from tests.checker.conftest import CALM, ONE, URGENT, Scene, Surgery, assert_found
from tests.checker.promises import PROMISES

# The product's own claim with the looks at pauses taken out of it.
_UNPAUSE = (
    "alter table mainspring.{what} disable trigger checker_update",
    "update mainspring.{what} set paused_at = null",
    "alter table mainspring.{what} enable trigger checker_update",
)


@pytest.mark.parametrize("what", ["dag", "queue"])
async def test_what_is_handed_out_under_a_pause_is_caught(surgery: Surgery, what: str) -> None:
    task = await surgery.does(surgery.scene.trigger(ONE))
    if what == "dag":
        await surgery.does(pause_dag(surgery.connection, ONE.name))
    else:
        await surgery.does(pause_queue(surgery.connection, "default"))
    for step in _UNPAUSE:
        await surgery.connection.execute(step.format(what=what))
    await surgery.does(surgery.worker.take())
    await surgery.finds("T4", f"task {task} ", "although its dag or queue was paused")


async def test_after_the_resume_it_may_be_handed_out(surgery: Surgery) -> None:
    await surgery.does(surgery.scene.trigger(ONE))
    await surgery.does(pause_dag(surgery.connection, ONE.name))
    await surgery.does(resume_dag(surgery.connection, ONE.name))
    await surgery.does(surgery.worker.take())
    assert not PROMISES["T4"](await surgery.case()).violations


@pytest.mark.parametrize(("what", "name"), [("dag", "one"), ("queue", "default")])
async def test_an_answer_that_was_not_true_is_caught(scene: Scene, what: str, name: str) -> None:
    await scene.trigger(ONE)
    if what == "dag":
        scene.ask("pause_dag", "ok", dag=name)
    else:
        scene.ask("pause_queue", "ok", queue=name)
    case = await read_case(scene.folder, scene.connection)
    assert_found(case, "T4", f"{what} `{name}` was said to be paused")


async def test_an_answer_that_was_lost_promises_nothing(scene: Scene) -> None:
    await scene.trigger(ONE)
    scene.ask("pause_dag", "unknown", dag=ONE.name)
    case = await read_case(scene.folder, scene.connection)
    assert not PROMISES["T4"](case).violations


async def test_the_piece_pauses_and_keeps_the_promise(case: Case) -> None:
    finding = PROMISES["T4"](case)
    assert finding.exercised == 2
    assert not finding.violations


async def test_passing_over_the_urgent_of_a_paused_dag_is_no_inversion(scene: Scene) -> None:
    worker = await scene.join("worker-1", 1)
    await scene.trigger(CALM)
    urgent = await scene.trigger(URGENT)
    paused = await pause_dag(scene.connection, URGENT.name)
    [calm] = await worker.claim(1)
    assert calm.run_id != urgent
    await resume_dag(scene.connection, URGENT.name)
    await shift_slice(scene.connection, paused.id, 0)
    await worker.claim(1)
    finding = PROMISES["P1"](await read_case(scene.folder, scene.connection))
    assert not finding.violations
