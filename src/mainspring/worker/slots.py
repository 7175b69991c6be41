"""A worker's capacity: how many tasks of each kind it may hold, and how many it does.

A slot is taken before a claim is made and given back when the task has ended, so a worker never
holds more than it can run.
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


class Slots:
    def __init__(self, size: Mapping[SlotKind, int]) -> None:
        self._size = dict(size)
        self._taken = dict.fromkeys(SlotKind, 0)

    def free(self, kind: SlotKind) -> int:
        return self._size.get(kind, 0) - self._taken[kind]

    @property
    def taken(self) -> int:
        return sum(self._taken.values())

    def take(self, kind: SlotKind, count: int) -> None:
        self._taken[kind] += count
        assert self._taken[kind] <= self._size.get(kind, 0), f"more {kind} tasks than slots"

    def give_back(self, kind: SlotKind, count: int = 1) -> None:
        self._taken[kind] -= count
        assert self._taken[kind] >= 0, f"a slot of kind {kind} was given back twice"
