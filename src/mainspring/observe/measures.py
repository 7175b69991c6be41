"""What an engine or a worker counts of itself.

Counting is adding to a number in memory, once for each set of tasks. Prometheus is not needed for
that; it is imported when somebody reads.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from mainspring.observe.catalogue import Metric, Source, metrics_of

if TYPE_CHECKING:
    from prometheus_client import Metric as Family

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
"""Upper bounds of the buckets of all our histograms, in seconds."""


class _Times:
    """A histogram."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float, times: int) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += times
        self.seconds += seconds * times


class Measures:
    """Of one process. What the catalogue does not have cannot be counted."""

    def __init__(self, source: Source) -> None:
        self._metrics = metrics_of(source)
        self._counts: dict[str, dict[tuple[str, ...], float]] = {
            name: {} if metric.labels else {(): 0.0}
            for name, metric in self._metrics.items()
            if metric.kind == "counter"
        }
        self._times = {
            name: _Times() for name, metric in self._metrics.items() if metric.kind == "histogram"
        }
        self._shown: dict[str, dict[tuple[str, ...], Callable[[], float]]] = {
            name: {} for name, metric in self._metrics.items() if metric.kind == "gauge"
        }

    def add(self, name: str, count: float = 1, *labels: str) -> None:
        of = self._counts[name]
        of[labels] = of.get(labels, 0.0) + count

    def took(self, name: str, seconds: float, times: int = 1) -> None:
        """So often it took so long. Clocks that are set may make it seem less than nothing."""
        self._times[name].add(max(seconds, 0.0), times)

    def show(self, name: str, read: Callable[[], float], *labels: str) -> None:
        """Whoever reads the metrics is told what `read` says then."""
        self._shown[name][labels] = read

    def text(self) -> bytes:
        """As Prometheus reads it."""
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import generate_latest
        from prometheus_client.registry import Collector

        families = list(self._families())

        class Told(Collector):
            def collect(self) -> list[Family]:
                return families

        registry = CollectorRegistry()
        registry.register(Told())
        return generate_latest(registry)

    def _families(self) -> Iterator[Family]:
        for name, metric in self._metrics.items():
            yield self._family(name, metric)

    def _family(self, name: str, metric: Metric) -> Family:
        from prometheus_client.metrics_core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        if metric.kind == "counter":
            counter = CounterMetricFamily(name, metric.help, labels=metric.labels)
            for labels, count in self._counts[name].items():
                counter.add_metric(labels, count)
            return counter
        if metric.kind == "gauge":
            gauge = GaugeMetricFamily(name, metric.help, labels=metric.labels)
            for labels, read in self._shown[name].items():
                gauge.add_metric(labels, read())
            return gauge
        times = self._times[name]
        names = [*(str(bound) for bound in BOUNDS), "+Inf"]
        buckets = list(zip(names, accumulate(times.counts), strict=True))
        histogram = HistogramMetricFamily(name, metric.help, labels=metric.labels)
        histogram.add_metric((), buckets, times.seconds)
        return histogram
