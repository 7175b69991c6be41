"""Counting what this server does, and the text that Prometheus reads."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from mainspring.observe.catalogue import CATALOGUE
from mainspring.observe.measures import BOUNDS


class Metrics:
    """Of one server; a registry of its own, so that two servers in one process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(*_named("mainspring_http_requests_total"), registry=self.registry)
        self._seconds = Histogram(
            *_named("mainspring_http_request_seconds"), buckets=BOUNDS, registry=self.registry
        )
        self.listeners = Gauge(*_named("mainspring_stream_listeners"), registry=self.registry)
        self.events = Counter(*_named("mainspring_stream_events_total"), registry=self.registry)
        self.resyncs = Counter(*_named("mainspring_stream_resyncs_total"), registry=self.registry)
        self.running = Gauge(*_named("mainspring_http_requests_running"), registry=self.registry)
        self._counters: dict[tuple[str, str, int], Counter] = {}
        self._timers: dict[tuple[str, str], Histogram] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Looking up labels costs more than counting, so what was found is remembered."""
        key = (method, route, status)
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = self._requests.labels(method, route, str(status))
        counter.inc()
        timer = self._timers.get(key[:2])
        if timer is None:
            timer = self._timers[key[:2]] = self._seconds.labels(method, route)
        timer.observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self.registry)


def _named(name: str) -> tuple[str, str, tuple[str, ...]]:
    metric = CATALOGUE[name]
    return name, metric.help, metric.labels
