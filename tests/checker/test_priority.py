"""P1: a claim that passes over what is more urgent is caught, unless it had to."""

from __future__ import annotations

from uuid import uuid4

import pytest

from mainspring.domain.lanes import PRIORITY_MAX
from mainspring.store.attempts import Claimed, claim_attempts
from mainspring.store.connection import Connection, connect
from tests.checker.case import Case, read_case
from tests.checker.conftest import CALM, DIAMOND, ONE, URGENT, Player, Scene, assert_found
from tests.checker.finding import Finding
from tests.checker.promises import PROMISES
from tests.support.factory import DEFAULT_LANE


async def _claim_from(worker: Player, floors: dict[int, int]) -> list[Claimed]:
    """One task, by a worker that does not look below these positions."""
    return await claim_attempts(
        worker.connection,
        uuid4(),
        worker.id,
        DEFAULT_LANE,
        1,
        [floors.get(priority, 0) for priority in range(PRIORITY_MAX + 1)],
    )


async def _case(scene: Scene) -> Case:
    return await read_case(scene.folder, scene.connection)


async def _found(scene: Scene) -> Finding:
    return PROMISES["P1"](await _case(scene))


async def test_the_urgent_that_are_passed_over_are_caught(scene: Scene) -> None:
    worker = await scene.join("worker-1", 1)
    await scene.trigger(CALM)
    urgent = await scene.trigger(URGENT)
    await _claim_from(worker, {9: 1000})
    assert_found(
        await _case(scene),
        "P1",
        "(`worker-1`, pid 1) took a task of priority 1",
        f"left task {urgent} (`t0` of run {urgent}, dag `urgent`), priority 9",
    )


async def test_a_claim_in_order_is_no_inversion_and_counts_if_there_was_a_choice(
    scene: Scene,
) -> None:
    worker = await scene.join("worker-1", 1)
    await scene.trigger(ONE)
    await worker.claim(1)
    assert (await _found(scene)).exercised == 0
    await scene.trigger(CALM)
    await scene.trigger(URGENT)
    await worker.claim(1)
    await worker.claim(1)
    assert (await _found(scene)) == Finding(
        "P1",
        "within a lane, the more urgent are claimed first",
        exercised=1,
        notes=["0 inversions excused: behind a mark, or beside a fault"],
    )


async def test_what_was_not_committed_yet_could_not_be_taken(
    scene: Scene, database_url: str
) -> None:
    worker = await scene.join("worker-1", 1)
    await scene.trigger(CALM)
    other = await _another(scene, database_url)
    async with other.connection.transaction():
        await other.trigger(URGENT)
        await worker.claim(1)
    assert not (await _found(scene)).violations
    await other.connection.close()


async def test_what_somebody_else_was_taking_had_to_be_passed_over(
    scene: Scene, database_url: str
) -> None:
    worker = await scene.join("worker-1", 1)
    rival = await scene.join("worker-2", 2)
    await scene.trigger(CALM)
    await scene.trigger(URGENT)
    other = await _another(scene, database_url)
    rival.connection = other.connection
    async with other.connection.transaction():
        await rival.claim(1)
        [taken] = await worker.claim(1)
        assert taken.priority == 1
    assert not (await _found(scene)).violations
    await other.connection.close()


async def test_what_was_taken_later_could_have_been_taken_sooner(
    scene: Scene, database_url: str
) -> None:
    worker = await scene.join("worker-1", 1)
    await scene.trigger(CALM)
    urgent = await scene.trigger(URGENT)
    await _claim_from(worker, {9: 1000})
    await worker.claim(1)
    assert_found(await _case(scene), "P1", f"left task {urgent} ")


async def test_a_child_that_is_granted_before_what_is_more_urgent_is_caught(scene: Scene) -> None:
    """The store looks at the head of the queue; here it is made to look into an empty one."""
    worker = await scene.join("worker-1", 1)
    run = await scene.trigger(DIAMOND)
    first = await worker.take()
    urgent = await scene.trigger(URGENT)
    granted = await worker.work(first, spec=DIAMOND, grant={DEFAULT_LANE: 2})
    assert not granted.grants, "the store does not grant past what is more urgent"
    async with scene.connection.transaction():
        await scene.connection.execute("delete from mainspring.ready where priority < 9")
        await scene.connection.execute(
            "insert into mainspring.claim values"
            f" (gen_random_uuid(), {worker.id}, now(), array[{run + 1}], array[1])"
        )
        case = await _case(scene)
        assert_found(case, "P1", "took a task of priority 5", f"left task {urgent} ")
        await scene.connection.execute("rollback; begin")


@pytest.mark.parametrize("apart", [0.5, 1.5])
async def test_what_came_into_view_behind_the_mark_is_excused_for_a_second(
    scene: Scene, apart: float
) -> None:
    worker = await scene.join("worker-1", 1)
    behind = await scene.trigger(URGENT)
    await scene.trigger(URGENT)
    for _ in range(3):
        await scene.trigger(CALM)
    position = await scene.connection.fetchval("select max(position) from mainspring.ready")
    mark = {9: position - 3}
    [first] = await _claim_from(worker, mark)
    assert first.priority == 9, "it stood above the mark"
    for _ in range(2):
        [calm] = await _claim_from(worker, mark)
        assert calm.priority == 1
    numbers = await scene.connection.fetch(
        "select number from checker.move where relation = 'claim' order by number"
    )
    await scene.connection.execute(
        "update checker.move set at = at + $1 * interval '1 second' where number >= $2",
        apart,
        numbers[1]["number"],
    )
    finding = await _found(scene)
    if apart < 1:
        assert not finding.violations
        assert finding.notes[0].startswith("2 inversions excused")
    else:
        assert len(finding.violations) == 1, "since the claim before, it had looked there"
        assert f"left task {behind} " in finding.violations[0]


async def test_an_inversion_beside_a_fault_that_can_end_a_transaction_is_excused(
    scene: Scene,
) -> None:
    worker = await scene.join("worker-1", 1)
    await scene.trigger(CALM)
    await scene.trigger(URGENT)
    await _claim_from(worker, {9: 1000})
    scene.fault("delay", worker)
    assert (await _found(scene)).violations
    scene.fault("terminate", worker)
    assert not (await _found(scene)).violations


async def _another(scene: Scene, url: str) -> Scene:
    connection: Connection = await connect(url, name="another")
    return Scene(connection, scene.folder)
