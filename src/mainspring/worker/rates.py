"""How many attempts of each lane end per second, as a worker tells it with its beats."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping

WINDOW_SECONDS = 10.0
LANES_MAX = 100
"""The busiest; what is told goes into the worker's lease, which is to stay small."""


class Rates:
    def __init__(self, now: float) -> None:
        self._counts: Counter[int] = Counter()
        """Since the last time it was told."""
        self._stretches: deque[tuple[float, Counter[int]]] = deque()
        """What ended since an instant, until the next one."""
        self._begun_at = now

    def ended(self, lanes: Iterable[int]) -> None:
        self._counts.update(lanes)

    def tell(self, now: float) -> Mapping[int, float]:
        """By lane, over some ten seconds; lanes in which nothing ended are left out."""
        self._stretches.append((self._begun_at, self._counts))
        self._begun_at, self._counts = now, Counter()
        # The oldest may have begun earlier: a window has to hold one whole stretch at least.
        while len(self._stretches) > 1 and self._stretches[1][0] <= now - WINDOW_SECONDS:
            self._stretches.popleft()
        seconds = max(now - self._stretches[0][0], 0.001)
        total: Counter[int] = Counter()
        for _, counts in self._stretches:
            total.update(counts)
        return {lane: round(count / seconds, 3) for lane, count in total.most_common(LANES_MAX)}
