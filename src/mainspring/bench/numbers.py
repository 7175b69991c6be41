"""Percentiles, and the median of nested figures."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie, between neighbours by proportion."""
    assert values
    assert 0 <= share <= 1
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median_of(figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Number by number; what is no number is taken from the first."""
    first = figures[0]
    merged: dict[str, Any] = {}
    for key, value in first.items():
        others = [figure.get(key) for figure in figures]
        numbers = [n for n in others if isinstance(n, (int, float)) and not isinstance(n, bool)]
        if isinstance(value, Mapping):
            merged[key] = median_of([each for each in others if isinstance(each, Mapping)])
        elif numbers and len(numbers) == len(others):
            merged[key] = statistics.median(numbers)
        else:
            merged[key] = value
    return merged
