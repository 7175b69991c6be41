"""A quantile read from a histogram lies in the place where the true one lies."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.histograms import PLACES, added, bounds_seconds, quantile_seconds

SECONDS = st.floats(0.0, 1_000_000.0) | st.integers(0, 27).map(lambda n: 2**n / 1000)
MANY = st.lists(SECONDS, min_size=1, max_size=50)


def histogram_of(seconds: Sequence[float]) -> list[int]:
    bounds = [bounds_seconds(place) for place in range(PLACES)]
    return [sum(low <= each < high for each in seconds) for low, high in bounds]


@given(MANY, st.sampled_from([0.01, 0.5, 0.95, 0.99, 1.0]))
def test_a_quantile_is_wrong_by_less_than_its_place_is_wide(
    seconds: list[float], fraction: float
) -> None:
    histogram = histogram_of(seconds)
    assert sum(histogram) == len(seconds)
    true = sorted(seconds)[math.ceil(fraction * len(seconds)) - 1]
    told = quantile_seconds(histogram, fraction, longest_seconds=max(seconds))
    assert told is not None
    low, high = next(
        bounds for bounds in map(bounds_seconds, range(PLACES)) if bounds[0] <= true < bounds[1]
    )
    assert low <= told <= high
    assert told <= max(seconds)


@given(MANY, MANY)
def test_histograms_add_up(one: list[float], other: list[float]) -> None:
    assert added([histogram_of(one), histogram_of(other)]) == histogram_of(one + other)


def test_nothing_has_no_quantile() -> None:
    assert quantile_seconds([0] * PLACES, 0.5, longest_seconds=0.0) is None
