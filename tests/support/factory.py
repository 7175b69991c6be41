"""Small dags and a bare worker, for tests that speak to the store directly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID, uuid4

from mainspring.domain.lanes import Lane, SlotKind
from mainspring.domain.outcomes import Decision, Error, Failed, Outcome, Succeeded, decide
from mainspring.domain.specs import DagSpec, RetrySpec, TaskSpec
from mainspring.store.attempts import (
    Claimed,
    Completed,
    Completion,
    claim_attempts,
    complete_attempts,
    register_worker,
)
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import Registered, register_dag
from mainspring.store.ids import Ids
from mainspring.store.runs import NewRun, create_runs

DEFAULT_LANE = Lane(1, SlotKind.ASYNC).number
"""The lane of the queue `default`, which the first migration makes."""

NOW_US = 1_700_000_000_000_000


def dag_of(
    edges: Iterable[tuple[int, int]] = (),
    *,
    tasks: int = 1,
    name: str = "sample",
    retry: RetrySpec | None = None,
    timeout_seconds: float | None = None,
) -> DagSpec:
    """A dag of `tasks` async tasks named t0, t1, … with these edges."""
    return DagSpec(
        name=name,
        tasks=tuple(
            TaskSpec(
                name=f"t{number}",
                entry="sample:task",
                kind=SlotKind.ASYNC,
                retry=retry or RetrySpec(),
            )
            for number in range(tasks)
        ),
        edges=tuple(sorted(edges)),
        timeout_seconds=timeout_seconds,
    )


async def start_run(
    connection: Connection, dag: Registered, tasks: int = 1, **options: object
) -> int:
    run_id = await Ids().take(connection, tasks)
    run = NewRun(run_id, dag.version_id, dag.snapshot_id, **options)  # type: ignore[arg-type]
    return (await create_runs(connection, [run])).ids[0]


async def start_dag(connection: Connection, spec: DagSpec, **options: object) -> int:
    dag = await register_dag(connection, spec, "snapshot")
    return await start_run(connection, dag, len(spec.tasks), **options)


class BareWorker:
    """The calls of a worker without the worker: claims and reports as a test tells it to."""

    def __init__(self, connection: Connection, worker_id: int, spec: DagSpec) -> None:
        self.connection = connection
        self.id = worker_id
        self.spec = spec

    @classmethod
    async def join(cls, connection: Connection, spec: DagSpec) -> BareWorker:
        worker_id = await register_worker(
            connection,
            uuid4(),
            name="bare",
            host="here",
            pid=1,
            queues=["default"],
            slots={SlotKind.ASYNC: 10},
            lease_seconds=15,
        )
        return cls(connection, worker_id, spec)

    async def claim(
        self, limit: int = 100, *, claim_id: UUID | None = None, lane: int = DEFAULT_LANE
    ) -> list[Claimed]:
        return await claim_attempts(self.connection, claim_id or uuid4(), self.id, lane, limit)

    async def end(
        self,
        claimed: Claimed,
        outcome: Outcome | None = None,
        *,
        grant: Mapping[int, int] | None = None,
        grant_claim: UUID | None = None,
    ) -> Completed:
        return await self.end_all([(claimed, outcome)], grant=grant, grant_claim=grant_claim)

    async def end_all(
        self,
        ends: Sequence[tuple[Claimed, Outcome | None]],
        *,
        grant: Mapping[int, int] | None = None,
        grant_claim: UUID | None = None,
    ) -> Completed:
        return await complete_attempts(
            self.connection,
            self.id,
            [self.completion(claimed, outcome) for claimed, outcome in ends],
            grant_claim=grant_claim or uuid4(),
            grant_slots=grant,
        )

    def completion(self, claimed: Claimed, outcome: Outcome | None = None) -> Completion:
        decision: Decision = decide(
            outcome or Succeeded(),
            self.spec.tasks[claimed.node],
            claimed.attempt,
            claimed.lost,
            0.0,
        )
        return Completion(
            claimed.task_id,
            claimed.term,
            claimed.claim_id,
            claimed.run_id if claimed.many else None,
            decision,
            NOW_US,
            NOW_US + 1000,
            chained=True,
        )


def failure(message: str = "no", *, retry: bool = True) -> Failed:
    return Failed(Error("ValueError", message), retry=retry)


async def task_states(connection: Connection, run_id: int) -> dict[str, str]:
    rows = await fetch(
        connection,
        "select name, state from mainspring.task_view where run_id = $1 order by node",
        run_id,
    )
    return {row["name"]: row["state"] for row in rows}


async def run_state(connection: Connection, run_id: int) -> str:
    rows = await fetch(connection, "select state from mainspring.run_view where id = $1", run_id)
    state: str = rows[0]["state"]
    return state
