"""Where claims begin to look: low-water marks that skip the dead rows of `ready`.

A long snapshot elsewhere (a report, a dump) keeps deleted rows of `ready` from being removed, and
a claim that reads its lane from the start would wade through all of them. Positions rise, so a
claim may begin where earlier ones ended. That is a hint and nothing more: rows commit out of
order and may appear behind the mark. So the mark follows some distance behind, a claim looks from
the start again when one came back short, and at least once a second, and the mark goes back to what
was found behind it: more may lie there. Never stored.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mainspring.domain.lanes import PRIORITY_MAX
from mainspring.store.attempts import Claimed

_BEHIND_SECONDS = 0.2
_SHORT_SECONDS = 0.25
_RESCAN_SECONDS = 1.0

FROM_THE_START = (0,) * (PRIORITY_MAX + 1)


class _Mark(msgspec.Struct):
    """Of one priority: what is skipped, and what will be when it is old enough."""

    floor: int = 0
    rising: int = 0
    since: float = 0.0


class Floors:
    """The marks of one lane, by priority."""

    def __init__(self) -> None:
        self._marks = [_Mark() for _ in FROM_THE_START]
        self._scanned_at = 0.0
        self._short = False

    def next(self, now: float) -> Sequence[int]:
        """Positions to begin at, by priority."""
        rest = _SHORT_SECONDS if self._short else _RESCAN_SECONDS
        if now - self._scanned_at >= rest:
            self._scanned_at = now
            return FROM_THE_START
        return [mark.floor for mark in self._marks]

    def learn(self, batch: Sequence[Claimed], now: float, *, short: bool) -> None:
        self._short = short
        ends: dict[int, tuple[int, int]] = {}
        for claimed in batch:
            position = claimed.position
            low, high = ends.get(claimed.priority, (position, position))
            ends[claimed.priority] = (min(low, position), max(high, position))
        for priority, (low, high) in ends.items():
            mark = self._marks[priority]
            if low < mark.floor:
                mark.floor, mark.rising, mark.since = low, high, now
            elif now - mark.since >= _BEHIND_SECONDS:
                mark.floor, mark.since = mark.rising, now
            mark.rising = max(mark.rising, high)
