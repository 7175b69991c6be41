"""Histograms: how many of many durations lie between which powers of two.

A histogram has a fixed size however much it counts, those of neighbouring times add up to that
of both, and a quantile read from it is wrong by less than a factor of two. The first place counts
what is below 1 ms, each further one up to twice as much, the last one all above about 19 hours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

PLACES = 28


def bounds_seconds(place: int) -> tuple[float, float]:
    """What the place counts: from, and below; the last has no end."""
    low = 0.0 if place == 0 else 2 ** (place - 1) / 1000
    return low, float("inf") if place == PLACES - 1 else 2**place / 1000


def quantile_seconds(
    counts: Sequence[int], fraction: float, *, longest_seconds: float
) -> float | None:
    """Below this lies that fraction of all; None if nothing was counted.

    Within a place all is taken to lie evenly.
    """
    rank = fraction * sum(counts)
    passed = 0
    for place, count in enumerate(counts):
        if count and passed + count >= rank:
            low, high = bounds_seconds(place)
            high = min(high, longest_seconds)
            return min(low + max(high - low, 0.0) * (rank - passed) / count, high)
        passed += count
    return None


def added(histograms: Iterable[Sequence[int]]) -> list[int]:
    """The histogram of all together."""
    total = [0] * PLACES
    for histogram in histograms:
        total = [a + b for a, b in zip(total, histogram, strict=True)]
    return total
