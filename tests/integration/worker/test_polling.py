"""What is ready is found without a notification, however busy whoever looks for it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID, uuid4

from mainspring.domain.lanes import SlotKind
from mainspring.store.attempts import Claimed
from mainspring.store.connection import Connection, Line
from mainspring.worker.sql_claims import SqlClaims
from tests.support.factory import BareWorker, dag_of, start_dag


class Taker:
    draining = False
    leaving = False

    def __init__(self) -> None:
        self.taken: list[Claimed] = []

    def free(self, kind: SlotKind) -> int:
        return 1

    def begin_claim(self, kind: SlotKind, count: int) -> UUID:
        return uuid4()

    def end_claim(
        self, claim_id: UUID, kind: SlotKind, count: int, batch: Sequence[Claimed]
    ) -> None:
        self.taken += batch


async def test_a_worker_that_ends_tasks_all_the_time_looks_at_quiet_lanes_too(
    database_url: str, connection: Connection
) -> None:
    worker = await BareWorker.join(connection, dag_of())
    line, taker = Line(database_url, name="test"), Taker()
    claims = SqlClaims(line)
    claims.serve([1], [SlotKind.ASYNC])
    looking = asyncio.create_task(claims.run(taker, worker.id))
    while True:
        await asyncio.sleep(0)
        if not claims._promising:
            break
    run_id = await start_dag(connection, worker.spec)
    while not taker.taken:
        # Slots of other lanes come free, one after the other.
        claims.slots_freed()
        await asyncio.sleep(0.001)
    assert [task.run_id for task in taker.taken] == [run_id]
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    await line.close()
