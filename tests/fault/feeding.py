"""What an engine finds to do when it starts, so that it comes to all its points by itself.

Chance would bring most of it sooner or later. But a point that is waited for costs seconds, and
one that does not come costs the test; so before each life of an engine there is a new dag in the
folder, a backfill to step, a worker that is gone with what it had in hand, a run whose time is
up, one whose start is due, and a dag that was paused and resumed. What callers could have asked for
is asked for in the books of the storm, so that the checker finds nothing invented.
"""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from mainspring import Client
from mainspring.domain.lanes import Lane, SlotKind
from mainspring.schedule.backfilling import Reprocess
from mainspring.schedule.specs import IntervalSpec, ScheduleSpec
from mainspring.store.attempts import claim_attempts, register_worker
from mainspring.store.backfill_orders import BackfillOrder, create_backfill, reserve_backfill
from mainspring.store.connection import Connection
from mainspring.store.dags import ensure_queues
from tests.checker.evidence import Asked, Fault, now
from tests.fault.cluster import Cluster
from tests.fault.workload import Books

NOWHERE = "nowhere"
"""The queue of the dag `forsaken`, which no other worker serves."""

_FIRST_GHOST = 2**30
"""Above all pids that a machine gives."""
_GHOST_LEASE_SECONDS = 0.1


class Feeder:
    def __init__(self, cluster: Cluster, books: Books, client: Client) -> None:
        self._cluster = cluster
        self._books = books
        self._client = client
        self._numbers = itertools.count(1)

    async def feed(self) -> None:
        number = next(self._numbers)
        # The dag of before is gone with that.
        self._cluster.write_dags("fresh.py", _FRESH.format(number=number))
        await self._cluster.line.call(_backfill)
        await self._near_the_end_of_a_period()
        await self._pause_for_a_moment("forsaken")
        await self._trigger("forsaken")
        await self._cluster.line.call(self._take_and_vanish, _FIRST_GHOST + number)
        await self._trigger("overdue")
        await self._trigger("overdue", datetime.now(UTC) + timedelta(seconds=0.1))

    async def _trigger(self, dag: str, run_at: datetime | None = None) -> None:
        await self._books.asking(
            Asked(0, 0.0, "trigger", dag=dag), lambda: self._client.trigger(dag, run_at=run_at)
        )

    async def _pause_for_a_moment(self, dag: str) -> None:
        async def pause() -> None:
            await self._client.pause_dag(dag)

        async def resume() -> None:
            await self._client.resume_dag(dag)

        await self._books.asking(Asked(0, 0.0, "pause_dag", dag), pause)
        await self._books.asking(Asked(0, 0.0, "resume_dag", dag), resume)

    async def _near_the_end_of_a_period(self) -> None:
        """Forward only: ids must never be handed out twice."""
        await self._cluster.rows(
            "select setval('mainspring.id_block',"
            " greatest(nextval('mainspring.id_block'), max(until_id) - 10000000))"
            " from mainspring.period"
        )

    async def _take_and_vanish(self, connection: Connection, pid: int) -> None:
        """A worker joins, takes what there is, and is not heard of again."""
        name = f"worker-{pid}"
        worker_id = await register_worker(
            connection,
            uuid4(),
            name=name,
            host="here",
            pid=pid,
            queues=[NOWHERE],
            slots={SlotKind.ASYNC: 1},
            lease_seconds=_GHOST_LEASE_SECONDS,
        )
        queues = await ensure_queues(connection, [NOWHERE])
        lane = Lane(queues[NOWHERE], SlotKind.ASYNC).number
        await claim_attempts(connection, uuid4(), worker_id, lane, 1)
        at = now()
        self._cluster.faults.write(Fault(at, at, "kill", name.replace("-", " "), pid))


async def _backfill(connection: Connection) -> None:
    """Two runs of the past, one after the other."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    order = BackfillOrder(
        since=begin,
        until=begin + timedelta(hours=2),
        dag="single_async",
        spec=ScheduleSpec(when=(IntervalSpec(3600),)),
        parameters={"seconds": 0.01},
        reprocess=Reprocess.ALL,
        priority=9,
    )
    await create_backfill(connection, await reserve_backfill(connection), order, by="crashes")


_FRESH = """\
from mainspring import dag, task

@task(queue="fresh_{number}")
async def first():
    pass

@task
async def second():
    pass

@dag
def fresh_{number}():
    first() >> second()
"""
