"""Claims of a worker beside the database: one lane after another, while slots are free.

A lane is looked at when a notification says so, or by the poll of 250 ms, and again as long as it
gave as much as was asked for.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterable, Mapping

from mainspring.domain.lanes import Lane, SlotKind
from mainspring.patience import set_within
from mainspring.store.attempts import claim_attempts
from mainspring.store.connection import Line
from mainspring.store.floors import Floors
from mainspring.worker.depot import CLAIM_BATCH, Taker

_POLL_SECONDS = 0.25


class SqlClaims:
    def __init__(self, line: Line) -> None:
        self._line = line
        self._lanes: dict[int, SlotKind] = {}
        self._floors: dict[int, Floors] = {}
        self._promising: set[int] = set()
        """Lanes in which the next claim may find something."""
        self._wanted = asyncio.Event()

    @property
    def lanes(self) -> Mapping[int, SlotKind]:
        return self._lanes

    def serve(self, queue_ids: Iterable[int], kinds: Iterable[SlotKind]) -> None:
        kinds = list(kinds)
        for queue_id in queue_ids:
            for kind in kinds:
                lane = Lane(queue_id, kind).number
                if lane not in self._lanes:
                    self._lanes[lane] = kind
                    self._floors[lane] = Floors()
                    self._promising.add(lane)
                    self._wanted.set()

    def ready(self, lanes: set[int]) -> None:
        """These lanes have got tasks."""
        self._promising |= lanes & self._lanes.keys()
        self._wanted.set()

    def slots_freed(self) -> None:
        self._wanted.set()

    async def run(self, taker: Taker, worker_id: int) -> None:
        polled_at = -_POLL_SECONDS
        while True:
            if (now := time.monotonic()) >= polled_at + _POLL_SECONDS:
                # Also while there is much to do: a lane may be ready whose notification got lost.
                polled_at, self._promising = now, set(self._lanes)
            claimed_any = False
            for lane in self._next_lanes(taker):
                claimed_any |= await self._claim(taker, worker_id, lane)
            if not claimed_any:
                await set_within(self._wanted, polled_at + _POLL_SECONDS - time.monotonic())
                self._wanted.clear()

    def _next_lanes(self, taker: Taker) -> list[int]:
        """Promising lanes with a free slot, in random order so that no queue comes first."""
        if taker.draining:
            return []
        lanes = [lane for lane in self._promising if taker.free(self._lanes[lane]) > 0]
        random.shuffle(lanes)
        return lanes

    async def _claim(self, taker: Taker, worker_id: int, lane: int) -> bool:
        kind = self._lanes[lane]
        rivals = sum(1 for other in self._promising if self._lanes[other] == kind)
        count = min(-(-taker.free(kind) // rivals), CLAIM_BATCH)
        if count <= 0:
            return False
        # One id for all repetitions: after a lost answer the same tasks come again.
        claim_id = taker.begin_claim(kind, count)
        floors = self._floors[lane]
        batch = await self._line.call(
            claim_attempts, claim_id, worker_id, lane, count, floors.next(time.monotonic())
        )
        short = len(batch) < count
        floors.learn(batch, time.monotonic(), short=short)
        if short:
            self._promising.discard(lane)
        taker.end_claim(claim_id, kind, count, batch)
        return bool(batch)
