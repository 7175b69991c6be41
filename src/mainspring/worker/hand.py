"""What a worker has in hand: its tasks, and the claims that they came with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

import msgspec

from mainspring.domain.lanes import SlotKind
from mainspring.store.attempts import Claimed


class Holding(msgspec.Struct, frozen=True):
    claimed: Claimed
    kind: SlotKind
    links: int = 0
    """How many times in a row its chain was granted on without going through the queue."""


class Hand:
    """Tasks by (task, term), and how many of each claim are still open."""

    def __init__(self) -> None:
        self._holdings: dict[tuple[int, int], Holding] = {}
        self._open: dict[UUID, int] = {}

    def take(self, holdings: Sequence[Holding]) -> None:
        for holding in holdings:
            claimed = holding.claimed
            self._holdings[claimed.task_id, claimed.term] = holding
            self._open[claimed.claim_id] = self._open.get(claimed.claim_id, 0) + 1

    def already_there(self, holdings: Sequence[Holding]) -> list[Holding]:
        """Those of which the same (task, term) is in hand, under another claim."""
        there = self._holdings
        return [h for h in holdings if (h.claimed.task_id, h.claimed.term) in there]

    def get(self, task_id: int, term: int) -> Holding | None:
        return self._holdings.get((task_id, term))

    def emptied_by(self, holdings: Iterable[Holding]) -> list[UUID]:
        """The claims of which nothing will be left when these are reported."""
        left: dict[UUID, int] = {}
        for holding in holdings:
            claim_id = holding.claimed.claim_id
            left[claim_id] = left.get(claim_id, self._open[claim_id]) - 1
        return [claim_id for claim_id, count in left.items() if count == 0]

    def let_go(self, holdings: Iterable[Holding]) -> None:
        """Their ends have been reported."""
        for holding in holdings:
            claimed = holding.claimed
            del self._holdings[claimed.task_id, claimed.term]
            self._open[claimed.claim_id] -= 1
            if self._open[claimed.claim_id] == 0:
                del self._open[claimed.claim_id]

    @property
    def claims(self) -> list[UUID]:
        return list(self._open)

    def __len__(self) -> int:
        return len(self._holdings)

    def __iter__(self) -> Iterator[Holding]:
        return iter(list(self._holdings.values()))
