"""Reap: the tasks of workers that are gone go back to work.

The reaper is patient. It counts, per lease, how long *it* has watched the same heartbeat on its
own monotonic clock, in steps that it really made: time in which the engine stood still, or in
which the database was out of reach, counts for nobody. So a database restart, a suspended
machine or a step of the wall clock reaps no one, and no clock is compared with another.

A reaped attempt goes through the one door that all attempts leave by, `complete_attempts`, as
lost, in the name of the worker that held it. What has moved on meanwhile is refused there, and
what is left raises its term, which fences the old holder. The lease goes last, when its claims
are gone; its foreign key keeps a reaped worker from claiming again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec
import structlog

from mainspring.domain.outcomes import Error, Lost, decide
from mainspring.domain.specs import DagSpec
from mainspring.observe.measures import Measures
from mainspring.store.attempts import (
    Completion,
    Held,
    complete_attempts,
    drop_claims,
    end_worker,
    read_claims,
)
from mainspring.store.connection import Connection
from mainspring.store.dags import read_versions
from mainspring.store.duties import Lease, lock_lease, read_leases
from mainspring.store.wakeups import Bell

log = structlog.get_logger(__name__)


class Watch(msgspec.Struct):
    """One lease as the reaper has seen it."""

    beat: int
    seconds: float = 0.0
    """How long this beat has been watched."""


def observe(
    watches: dict[int, Watch], leases: Sequence[Lease], elapsed_seconds: float
) -> list[Lease]:
    """Bring the watches up to date; the leases that have stood still for their whole length."""
    for gone in watches.keys() - {lease.worker_id for lease in leases}:
        del watches[gone]
    still = []
    for lease in leases:
        watch = watches.get(lease.worker_id)
        if watch is None or watch.beat != lease.beat:
            watches[lease.worker_id] = Watch(lease.beat)
            continue
        watch.seconds += elapsed_seconds
        if watch.seconds > lease.seconds:
            still.append(lease)
    return still


class Reap:
    name = "reap"
    limit = 1000

    def __init__(
        self,
        bell: Bell,
        *,
        rest_seconds: float = 0.5,
        connection_losses: Callable[[], int] = lambda: 0,
        measures: Measures | None = None,
    ) -> None:
        self.rest_seconds = rest_seconds
        self._bell = bell
        self._connection_losses = connection_losses
        self._losses_seen = 0
        self._watches: dict[int, Watch] = {}
        self._looked_at: float | None = None
        self._specs: dict[int, DagSpec] = {}
        self._lanes: set[int] = set()
        self._measures = measures or Measures("engine")
        self._reaped = (0, 0)
        """Workers and attempts of this step."""

    async def step(self, tx: Connection, now: datetime | None, limit: int) -> int:
        self._lanes = set()
        self._reaped = (0, 0)
        dead = observe(self._watches, await read_leases(tx), self._elapsed())
        if not dead:
            return 0
        # One at a time: a second lease would be locked after the first one's runs and tasks.
        done = await self._reap(tx, dead[0], now, limit)
        return limit if dead[1:] else done

    def settle(self) -> None:
        self._bell.ready(self._lanes)
        workers, attempts = self._reaped
        self._measures.add("mainspring_reaped_workers_total", workers)
        self._measures.add("mainspring_reaped_attempts_total", attempts)

    def _elapsed(self) -> float:
        """Connected time since the last step, never more than two steps' worth."""
        losses, looked_at = self._connection_losses(), time.monotonic()
        connected = losses == self._losses_seen and self._looked_at is not None
        elapsed = looked_at - self._looked_at if connected and self._looked_at else 0.0
        if not connected:
            self._watches.clear()
        self._losses_seen, self._looked_at = losses, looked_at
        return min(elapsed, 2 * self.rest_seconds)

    async def _reap(self, tx: Connection, lease: Lease, now: datetime | None, limit: int) -> int:
        if not await lock_lease(tx, lease.worker_id, lease.beat):
            return 0  # It beat while we looked.
        held = await read_claims(tx, lease.worker_id, None, limit)
        await self._learn(tx, held)
        completed = await complete_attempts(
            tx, lease.worker_id, [self._lost(item) for item in held], now=now
        )
        self._lanes |= completed.lanes
        self._reaped = (int(len(held) < limit), len(held))
        if len(held) < limit:
            await drop_claims(tx, lease.worker_id, None)
            await end_worker(tx, lease.worker_id, "reaped")
            self._watches.pop(lease.worker_id, None)
        log.warning("worker reaped", worker=lease.name, attempts=len(held))
        return len(held)

    async def _learn(self, tx: Connection, held: Sequence[Held]) -> None:
        """The specs that say how often each of these tasks may be lost."""
        if unknown := {item.version_id for item in held} - self._specs.keys():
            self._specs |= await read_versions(tx, sorted(unknown))

    def _lost(self, held: Held) -> Completion:
        task = self._specs[held.version_id].tasks[held.node]
        error = Error("WorkerLost", "the worker was not heard of again")
        started_at = held.started_at
        return Completion(
            held.task_id,
            held.term,
            held.claim_id,
            held.run_id if held.many else None,
            decide(Lost(error), task, held.attempt, held.lost, 0.0),
            None if started_at is None else round(started_at.timestamp() * 1_000_000),
            time.time_ns() // 1000,
        )
