"""Who the remote workers are and what each has in hand.

A memory that can be asked again: of a worker that another server has served so far, or that was
here before a restart, the database knows as much. So nothing that a worker says about its tasks
needs to be believed, and it says no more than which of them it means.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from mainspring.domain.lanes import Lane, SlotKind
from mainspring.store.attempts import Claimed, Reaped
from mainspring.store.connection import Line
from mainspring.store.dags import ensure_queues
from mainspring.store.gateway import Living, find_worker, read_hands

Key = tuple[int, int]
"""(task, term)"""

_FORGOTTEN_SECONDS = 600.0


class Member:
    """One remote worker."""

    def __init__(self, incarnation: UUID, living: Living) -> None:
        self.incarnation = incarnation
        self.id = living.id
        self.queues = living.queues
        self.slots = living.slots
        self.lease_seconds = living.lease_seconds
        self.hand: dict[Key, Claimed] = {}
        self.given_us: dict[Key, int] = {}
        """When each was given to it, for workers that do not tell when they started it."""
        self.lanes: dict[int, SlotKind] = {}
        self.heard_at = time.monotonic()

    @property
    def renew_seconds(self) -> float:
        return self.lease_seconds / 3

    def take(self, tasks: Iterable[Claimed]) -> None:
        now_us = time.time_ns() // 1000
        for task in tasks:
            key = (task.task_id, task.term)
            self.hand[key] = task
            self.given_us.setdefault(key, now_us)

    def emptied_by(self, ended: Collection[Key]) -> list[UUID]:
        """The claims of which nothing is left when these have ended."""
        touched = {self.hand[key].claim_id for key in ended}
        left = {task.claim_id for key, task in self.hand.items() if key not in ended}
        return [claim_id for claim_id in touched if claim_id not in left]

    def let_go(self, ended: Iterable[Key]) -> None:
        for key in ended:
            self.hand.pop(key, None)
            self.given_us.pop(key, None)


class Hands:
    def __init__(self, line: Line) -> None:
        self._line = line
        self._members: dict[UUID, Member] = {}
        self._by_id: dict[int, Member] = {}
        self._queues: dict[str, int] = {}
        self._swept_at = time.monotonic()

    async def member(self, incarnation: UUID) -> Member:
        """Reaped if there is no such worker, or none any more."""
        member = self._members.get(incarnation)
        if member is None:
            living = await self._line.call(find_worker, incarnation)
            if living is None:
                raise Reaped
            member = self._members.get(incarnation) or self._remember(incarnation, living)
        member.heard_at = time.monotonic()
        return member

    def of(self, worker_id: int) -> Member:
        """Reaped if it was found to be, since it asked."""
        if (member := self._by_id.get(worker_id)) is None:
            raise Reaped
        return member

    async def refresh(self, wanted: Sequence[tuple[Member, Collection[Key]]]) -> None:
        """Ask the database what workers hold that mean tasks which nobody here has given them."""
        behind = [member for member, keys in wanted if not all(key in member.hand for key in keys)]
        if behind:
            hands = await self._line.call(read_hands, [member.id for member in behind])
            for member in behind:
                member.hand.clear()
                member.take(hands[member.id])
                member.let_go([key for key in member.given_us if key not in member.hand])

    def meet(self, incarnation: UUID, living: Living) -> Member:
        """A worker that has joined just now, or has asked to again."""
        return self._members.get(incarnation) or self._remember(incarnation, living)

    async def lanes(self, member: Member) -> Mapping[int, SlotKind]:
        """Where the worker's tasks wait."""
        if not member.lanes:
            await self.learn_queues(member.queues)
            member.lanes = {
                Lane(self._queues[name], kind).number: kind
                for name in member.queues
                for kind, count in member.slots.items()
                if count
            }
        return member.lanes

    async def learn_queues(self, names: Collection[str]) -> None:
        """Queues stay, and so do their numbers."""
        if unknown := sorted(set(names) - self._queues.keys()):
            self._queues |= await self._line.call(ensure_queues, unknown)

    def forget(self, member: Member) -> None:
        self._members.pop(member.incarnation, None)
        self._by_id.pop(member.id, None)

    def _remember(self, incarnation: UUID, living: Living) -> Member:
        self._sweep()
        member = Member(incarnation, living)
        self._members[incarnation] = self._by_id[living.id] = member
        return member

    def _sweep(self) -> None:
        """Let go of those that were not heard of for long: they are gone, or elsewhere."""
        now = time.monotonic()
        if now - self._swept_at > _FORGOTTEN_SECONDS / 10:
            self._swept_at = now
            for member in list(self._members.values()):
                if now - member.heard_at > _FORGOTTEN_SECONDS:
                    self.forget(member)
