"""Claims that wait for tasks, served in turn.

One loop goes from lane to lane, where somebody waits and something may be ready, with one
statement in flight. In a lane everybody who waits has one task before anybody has a second, and who
has waited longest comes first. Whoever is served is answered at once, with what there was.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from uuid import UUID

import asyncpg
import structlog

from mainspring.api.gateway.hands import Member
from mainspring.domain.lanes import Lane, SlotKind
from mainspring.patience import set_within
from mainspring.store.attempts import Claimed, Reaped
from mainspring.store.connection import Line
from mainspring.store.floors import Floors
from mainspring.store.gateway import Seat, Served, claim_together

log = structlog.get_logger(__name__)

_POLL_SECONDS = 0.25
_SEATS_MAX = 500
_FAILED_SECONDS = 1.0
_DRAINED_SECONDS = 1.0
"""Who drains and waits nevertheless has no seat for so long; it may have been resumed by then."""


class _Waiter:
    """A worker that waits under one claim."""

    def __init__(
        self, member: Member, claim_id: UUID, slots: Mapping[SlotKind, int], token: int
    ) -> None:
        self.member = member
        self.token = token
        self.claim_id = claim_id
        self.slots = slots
        self.served: asyncio.Future[Sequence[Claimed]] = asyncio.get_running_loop().create_future()
        self.in_statement = False
        self.over = False
        """Whoever asked has waited long enough, or is gone."""
        self.seated_from = 0.0
        """By the monotonic clock."""

    def answer(self, tasks: Sequence[Claimed]) -> None:
        if not self.served.done():
            self.served.set_result(tasks)


class Waiting:
    def __init__(self, line: Line) -> None:
        self._line = line
        self._waiters: dict[UUID, _Waiter] = {}
        """By claim, in the order in which they came."""
        self._at: dict[int, dict[UUID, _Waiter]] = {}
        """The same by lane."""
        self._floors: dict[int, Floors] = {}
        self._promising: set[int] = set()
        """Lanes in which the next claim may find something."""
        self._wanted = asyncio.Event()
        self._stopped = False

    @property
    def tokens(self) -> set[int]:
        """Those by which the server knows who waits."""
        return {waiter.token for waiter in self._waiters.values()}

    async def claim(
        self,
        member: Member,
        claim_id: UUID,
        slots: Mapping[SlotKind, int],
        lanes: Mapping[int, SlotKind],
        wait_seconds: float,
        token: int,
    ) -> Sequence[Claimed]:
        """Tasks for free slots, as soon as there are any; none if there were none so long."""
        if before := self._waiters.get(claim_id):
            # Asked again, as its answer got lost: who asked first is not there any more.
            self._leave(before)
        waiter = _Waiter(member, claim_id, slots, token)
        self._waiters[claim_id] = waiter
        for lane, kind in lanes.items():
            if slots.get(kind):
                self._at.setdefault(lane, {})[claim_id] = waiter
                if lane not in self._floors:
                    self._floors[lane] = Floors()
                    self._promising.add(lane)
        self._wanted.set()
        if self._stopped:
            wait_seconds = 0.0
        timer = asyncio.get_running_loop().call_later(wait_seconds, self._leave, waiter)
        try:
            return await asyncio.shield(waiter.served)
        finally:
            timer.cancel()
            self._leave(waiter)

    def ready(self, lanes: set[int]) -> None:
        """These lanes have got tasks."""
        self._promising |= lanes & self._floors.keys()
        self._wanted.set()

    def drop(self, member: Member) -> None:
        """The worker leaves: nothing is claimed for it any more."""
        for waiter in [w for w in self._waiters.values() if w.member is member]:
            self._leave(waiter)

    def end(self, tokens: Collection[int]) -> None:
        """These are not good any more: who has one gets nothing."""
        for waiter in [w for w in self._waiters.values() if w.token in tokens]:
            self._leave(waiter)

    def stop(self) -> None:
        """Nobody waits any more."""
        self._stopped = True
        for waiter in list(self._waiters.values()):
            self._leave(waiter)

    async def run(self) -> None:
        polled_at = time.monotonic()
        while True:
            if (now := time.monotonic()) >= polled_at + _POLL_SECONDS:
                # Also while claims keep coming: a lane may be ready whose notification got lost.
                polled_at = now
                self._promising = {lane for lane, waiters in self._at.items() if waiters}
            served_any = False
            for lane in self._next_lanes():
                try:
                    served_any |= await self._serve(lane)
                except asyncpg.UniqueViolationError:
                    # A worker asked here and elsewhere at once; the other's claim is there by now.
                    served_any = True
                except Exception:
                    # Whatever it was: the others go on waiting, and are asked for again.
                    log.exception("claims failed", lane=lane)
                    await asyncio.sleep(_FAILED_SECONDS)
            if not served_any:
                await set_within(self._wanted, polled_at + _POLL_SECONDS - time.monotonic())
                self._wanted.clear()

    def _next_lanes(self) -> list[int]:
        """In random order, so that no queue comes first."""
        lanes = [lane for lane in self._promising if self._at.get(lane)]
        random.shuffle(lanes)
        return lanes

    async def _serve(self, lane: int) -> bool:
        kind = Lane.of(lane).kind
        waiters = _first(self._at.get(lane, {}).values(), kind)
        if not waiters:
            return False
        seats = list(islice(_seats(waiters, kind), _SEATS_MAX))
        for waiter in waiters:
            waiter.in_statement = True
        floors = self._floors[lane]
        try:
            served = await self._line.call(
                claim_together, seats, lane, floors.next(time.monotonic())
            )
        except BaseException:
            for waiter in waiters:
                waiter.in_statement = False
                if waiter.over:
                    self._leave(waiter)
            raise
        self._learn(lane, floors, served, sum(s.worker_id not in served.drained for s in seats))
        for waiter in waiters:
            waiter.in_statement = False
            if tasks := served.tasks.get(waiter.claim_id):
                waiter.member.take(tasks)
                self._remove(waiter)
                waiter.answer(tasks)
            elif waiter.member.id in served.reaped:
                self._remove(waiter)
                if waiter.over:
                    waiter.answer([])  # An error that nobody waits for would be told as one.
                elif not waiter.served.done():
                    waiter.served.set_exception(Reaped())
            elif waiter.over:
                self._leave(waiter)
            elif waiter.member.id in served.drained:
                waiter.seated_from = time.monotonic() + _DRAINED_SECONDS
        return bool(served.tasks or served.drained)

    def _learn(self, lane: int, floors: Floors, served: Served, seats: int) -> None:
        batch = [task for tasks in served.tasks.values() for task in tasks]
        short = len(batch) < seats
        floors.learn([t for t in batch if t.position], time.monotonic(), short=short)
        if short:
            self._promising.discard(lane)

    def _leave(self, waiter: _Waiter) -> None:
        waiter.over = True
        if not waiter.in_statement:
            self._remove(waiter)
            waiter.answer([])

    def _remove(self, waiter: _Waiter) -> None:
        if self._waiters.get(waiter.claim_id) is waiter:
            del self._waiters[waiter.claim_id]
        for waiters in self._at.values():
            if waiters.get(waiter.claim_id) is waiter:
                del waiters[waiter.claim_id]


def _first(waiting: Iterable[_Waiter], kind: SlotKind) -> list[_Waiter]:
    """Who has waited longest: as many as one statement can give all that they wish for.

    Were there fewer seats than wishes, everybody would be given a little, again and again.
    """
    first: list[_Waiter] = []
    wished, now = 0, time.monotonic()
    for waiter in waiting:
        if not waiter.over and waiter.seated_from <= now:
            if wished >= _SEATS_MAX:
                break
            first.append(waiter)
            wished += waiter.slots[kind]
    return first


def _seats(waiters: Sequence[_Waiter], kind: SlotKind) -> Iterator[Seat]:
    """One seat for each in turn, until nobody has a free slot left."""
    left = [(waiter, waiter.slots[kind]) for waiter in waiters]
    while left:
        for waiter, _ in left:
            yield Seat(waiter.claim_id, waiter.member.id)
        left = [(waiter, count - 1) for waiter, count in left if count > 1]
