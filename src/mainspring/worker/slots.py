"""A worker's capacity: how many tasks of each kind it may hold, and how many it does.

A slot is taken before a claim is made and given back when the task has ended. A worker holds no
more than it can run, or, where tasks are short, than it can run within a moment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from mainspring.domain.errors import InputError
from mainspring.domain.lanes import SlotKind
from mainspring.domain.names import listed, shown

SLOTS_MAX = 100_000


def default_slots() -> dict[SlotKind, int]:
    cores = os.cpu_count() or 1
    return {
        SlotKind.ASYNC: 1000,
        SlotKind.THREAD: 32,
        SlotKind.PROCESS: cores,
        SlotKind.COMMAND: 4 * cores,
    }


def parse_slots(text: str) -> dict[SlotKind, int]:
    """`async=1000,process=2`; kinds that are not named get no slots."""
    slots: dict[SlotKind, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        kind, _, count = (piece.strip() for piece in part.partition("="))
        if kind not in set(SlotKind):
            raise InputError(
                f"{shown(kind)} is no kind of slot", hint=f"there is {listed(SlotKind)}"
            )
        if not (count.isascii() and count.isdigit() and int(count) <= SLOTS_MAX):
            raise InputError(
                f"`--slots`: {shown(part)} gives no number of slots from 0 to {SLOTS_MAX:,}",
                hint="write it like `--slots async=1000,process=2`",
            )
        if SlotKind(kind) in slots:
            raise InputError(f"`--slots` names `{kind}` twice")
        slots[SlotKind(kind)] = int(count)
    if not any(slots.values()):
        raise InputError(
            "`--slots` gives no slots", hint="write it like `--slots async=1000,process=2`"
        )
    return slots


_HELD_AHEAD = (SlotKind.PROCESS, SlotKind.COMMAND)
"""Kinds with few slots; the others have so many that nothing needs to be held ahead."""

_BLOCKED_SECONDS = 0.25
_SHORT_SECONDS = 0.02
_AHEAD_SECONDS = 0.05
_AHEAD_PER_SLOT_MAX = 32


class Pace:
    """How long the tasks of a kind take lately, and how many to hold ahead of their slots.

    With few slots and tasks of a fraction of a millisecond, the way to the database and back is
    longer than the work. So a worker may hold some 50 ms of work beyond its slots, as long as
    tasks are short. What then waits behind a long one after all is handed back.
    """

    def __init__(self) -> None:
        self._seconds: float | None = None
        self.moved_at = 0.0
        """When one of them ended last, or the first was held that has no slot."""

    def learn(self, seconds: float, now: float) -> None:
        self.moved_at = now
        known = seconds if self._seconds is None else self._seconds
        # A long task is believed at once, short ones have to prove themselves.
        self._seconds = max(seconds, known + (seconds - known) * 0.1)

    def expect_long(self) -> None:
        """One that has not ended takes long: there is nothing to hold ahead until others end."""
        self._seconds = max(self._seconds or 0.0, _BLOCKED_SECONDS)

    def ahead(self, slots: int) -> int:
        if self._seconds is None or self._seconds > _SHORT_SECONDS:
            return 0
        wanted = int(slots * _AHEAD_SECONDS / max(self._seconds, 1e-6))
        return min(wanted, slots * _AHEAD_PER_SLOT_MAX)


class Slots:
    """Counts what is held against what may be."""

    def __init__(self, size: Mapping[SlotKind, int]) -> None:
        self._size = dict(size)
        self._taken = dict.fromkeys(SlotKind, 0)
        self._pace = {kind: Pace() for kind in _HELD_AHEAD}

    def free(self, kind: SlotKind) -> int:
        size = self._size.get(kind, 0)
        ahead = self._pace[kind].ahead(size) if kind in self._pace else 0
        return max(size + ahead - self._taken[kind], 0)

    @property
    def taken(self) -> int:
        return sum(self._taken.values())

    def take(self, kind: SlotKind, count: int, now: float) -> None:
        assert count <= self.free(kind), f"more {kind} tasks than slots"
        before = self._taken[kind]
        self._taken[kind] = before + count
        if before <= self._size.get(kind, 0) < before + count:
            self._pace[kind].moved_at = now

    def give_back(self, kind: SlotKind, count: int = 1) -> None:
        self._taken[kind] -= count
        assert self._taken[kind] >= 0, f"a slot of kind {kind} was given back twice"

    def learn(self, kind: SlotKind, seconds: float, now: float) -> None:
        """A task of this kind has ended after so many seconds."""
        if kind in self._pace:
            self._pace[kind].learn(seconds, now)

    def expect_long(self, kind: SlotKind) -> None:
        """Some were handed back since a long task was in their way: claim no others for there."""
        self._pace[kind].expect_long()

    def blocked(self, now: float) -> list[SlotKind]:
        """Kinds that hold more than they have slots for, while none of theirs ends."""
        return [
            kind
            for kind, pace in self._pace.items()
            if self._taken[kind] > self._size.get(kind, 0)
            and now - pace.moved_at > _BLOCKED_SECONDS
        ]
