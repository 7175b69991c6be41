"""Medians, ratios, falls and plots."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.bench import plot
from mainspring.bench.baseline import Baseline, compare, ratios
from mainspring.bench.figures import FIGURES
from mainspring.bench.load import _made_by
from mainspring.bench.numbers import median_of, percentile

RESULTS: dict[str, dict[str, Any]] = {
    "throughput": {
        "saturated_per_s": 20_000,
        "ceiling_inserts_per_s": 100_000,
        "saturated_cpu_us": {"all": 60.0, "worker": 10.0},
        "insert_cpu_us": 3.0,
    },
    "latency": {"pickup_p50_ms": 2.0, "commit_ms": 0.5},
}


def test_percentiles_lie_between_neighbours() -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert percentile([1.0], 0.99) == 1.0
    assert percentile([float(n) for n in range(101)], 0.99) == 99.0


def test_medians_are_taken_number_by_number() -> None:
    merged = median_of([{"a": n, "in": {"b": 10 * n}, "series": [n]} for n in (3, 1, 2)])
    assert merged == {"a": 2, "in": {"b": 20}, "series": [3]}
    assert median_of([{"a": None}, {"a": 1}])["a"] is None


def test_ratios_are_shares_of_the_ceiling_and_multiples_of_times() -> None:
    assert ratios(RESULTS) == {
        "throughput.saturated_per_s": 0.2,
        "throughput.saturated_cpu_us.all": 20.0,
        "latency.pickup_p50_ms": 4.0,
    }


@pytest.mark.parametrize(
    ("rate", "pickup", "fell"),
    [
        (0.2, 4.0, set()),
        (0.29, 2.0, set()),
        (0.15, 5.0, set()),
        (0.13, 4.0, {"throughput.saturated_per_s"}),
        (0.2, 6.0, {"latency.pickup_p50_ms"}),
    ],
)
def test_less_of_a_rate_and_more_of_a_time_is_a_fall(
    rate: float, pickup: float, fell: set[str]
) -> None:
    baseline = Baseline({"throughput.saturated_per_s": 0.2, "latency.pickup_p50_ms": 4.0})
    found = {"throughput.saturated_per_s": rate, "latency.pickup_p50_ms": pickup, "other": 1.0}
    comparisons = compare(baseline, found)
    assert len(comparisons) == 2
    assert {c.figure.name for c in comparisons if c.fell} == fell


def test_figures_have_one_name_each() -> None:
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)


@pytest.mark.parametrize("rate", [1, 7, 100, 9_999, 10_000])
def test_ticks_add_up_to_the_rate(rate: int) -> None:
    assert _made_by(100, rate) == rate
    assert all(_made_by(tick, rate) <= _made_by(tick + 1, rate) for tick in range(100))


def test_an_area_fills_from_the_bottom() -> None:
    assert plot.area([0.5, 1.0], width=2, height=2, top=1.0) == ["\u2800\u28ff", "\u28ff\u28ff"]
    assert plot.area([None, 0.0], width=2, height=1, top=1.0) == ["\u2800\u28c0"]
    assert plot.area([], width=3, height=1, top=1.0) == ["\u2800" * 3]


@pytest.mark.parametrize(
    ("highest", "top"), [(0.0, 1.0), (0.7, 0.8), (1.0, 1.0), (11_900.0, 15_000.0), (99.0, 100.0)]
)
def test_the_top_of_a_plot_is_a_round_number(highest: float, top: float) -> None:
    assert plot.nice_top([None, highest]) == pytest.approx(top)
