"""O1: a log that is not what was printed is caught, and one that is short without saying so."""

from __future__ import annotations

import pytest

from mainspring.domain.outcomes import Error, Lost
from mainspring.store.attempts import Claimed
from mainspring.store.logs import append_log
from tests.checker.case import Case, read_case
from tests.checker.conftest import ONE, Player, Scene, assert_found
from tests.checker.promises import PROMISES


def test_the_piece_prints_and_all_of_it_is_kept(case: Case) -> None:
    finding = PROMISES["O1"](case)
    assert finding.exercised == 2
    assert finding.notes == ["2 of the logs had to be complete"]
    assert not finding.violations


async def test_a_complete_log_that_lacks_its_end_is_caught(scene: Scene) -> None:
    worker, claimed = await _at_work(scene)
    await worker.print(claimed, 5, kept=3)
    await worker.report(claimed)
    case = await read_case(scene.folder, scene.connection)
    assert_found(case, "O1", f"task {claimed.task_id} ", "is complete with", "and it had printed")


@pytest.mark.parametrize("how", ["other", "changed", "twice"])
async def test_a_log_with_something_else_in_it_is_caught(scene: Scene, how: str) -> None:
    worker, claimed = await _at_work(scene)
    await worker.print(claimed, 5)
    change = {
        "other": "convert_to('not printed', 'UTF8') || content",
        "changed": "set_byte(content, 40, 0)",
        "twice": "content || content",
    }[how]
    await scene.connection.execute(f"update mainspring.log set content = {change}")
    await worker.report(claimed)
    case = await read_case(scene.folder, scene.connection)
    assert_found(case, "O1", f"task {claimed.task_id} ", "has something that it did not print")


async def test_what_a_lost_attempt_had_to_say_may_be_lost(scene: Scene) -> None:
    worker, claimed = await _at_work(scene)
    await worker.print(claimed, 5, kept=3)
    await worker.report(claimed, Lost(Error("WorkerLost", "it was killed")))
    finding = PROMISES["O1"](await read_case(scene.folder, scene.connection))
    assert (finding.exercised, finding.violations) == (1, [])


async def test_a_log_that_says_itself_that_it_is_cut_may_be_short(scene: Scene) -> None:
    worker, claimed = await _at_work(scene)
    await worker.print(claimed, 5, kept=3)
    size = await scene.connection.fetchval("select octet_length(content) from mainspring.log")
    await append_log(scene.connection, [(claimed.task_id, claimed.term, size, b"")])
    await worker.report(claimed)
    finding = PROMISES["O1"](await read_case(scene.folder, scene.connection))
    assert (finding.exercised, finding.violations) == (1, [])


async def _at_work(scene: Scene) -> tuple[Player, Claimed]:
    worker = await scene.join("worker-1", 1)
    await scene.trigger(ONE)
    return worker, await worker.take()
