"""Counting what this server does, and the text that Prometheus reads."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mainspring.observe.catalogue import CATALOGUE
from mainspring.store.connection import Connection
from mainspring.store.reading import (
    EngineLine,
    LaneLine,
    WorkerLine,
    count_recent_problems,
    list_lanes,
    list_workers,
    read_engine,
)
from mainspring.store.schedule_reading import ShardStanding, list_shards

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Of one server; a registry of its own, so that two servers in one process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(*_named("mainspring_http_requests_total"), registry=self.registry)
        self._seconds = Histogram(
            *_named("mainspring_http_request_seconds"), buckets=_SECONDS, registry=self.registry
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

    def text(self, whole: Whole | None) -> bytes:
        """All of it; without what is in the database, if that does not answer."""
        seen = CollectorRegistry()
        seen.register(_Seen(whole))
        return generate_latest(self.registry) + generate_latest(seen)


class Whole:
    """What is true of all processes together."""

    def __init__(
        self,
        lanes: list[LaneLine],
        workers: list[WorkerLine],
        engine: EngineLine,
        shards: list[ShardStanding],
        failed: int,
    ) -> None:
        self.lanes = lanes
        self.workers = workers
        self.engine = engine
        self.shards = shards
        self.failed = failed


async def read_whole(connection: Connection) -> Whole:
    return Whole(
        await list_lanes(connection),
        await list_workers(connection),
        await read_engine(connection),
        await list_shards(connection),
        await count_recent_problems(connection, seconds=3600),
    )


class _Seen(Collector):
    def __init__(self, whole: Whole | None) -> None:
        self._whole = whole

    def collect(self) -> list[GaugeMetricFamily]:
        up = _gauge("mainspring_database_up")
        up.add_metric([], 0 if self._whole is None else 1)
        return [up] if self._whole is None else [up, *_families(self._whole)]


def _families(whole: Whole) -> list[GaugeMetricFamily]:
    ready = _gauge("mainspring_queue_ready_tasks")
    oldest = _gauge("mainspring_queue_oldest_seconds")
    running = _gauge("mainspring_queue_running_tasks")
    aside = _gauge("mainspring_queue_aside_tasks")
    paused = _gauge("mainspring_queue_paused")
    for lane in whole.lanes:
        labels = [lane.queue, lane.kind.value]
        ready.add_metric(labels, lane.ready)
        oldest.add_metric(labels, lane.oldest_seconds or 0.0)
        running.add_metric(labels, lane.running)
        aside.add_metric(labels, lane.aside)
    for queue, is_paused in {lane.queue: lane.pause is not None for lane in whole.lanes}.items():
        paused.add_metric([queue], int(is_paused))
    slots: dict[str, int] = {}
    for worker in whole.workers:
        for slot, count in worker.slots.items():
            slots[slot] = slots.get(slot, 0) + count
    of_kind = _gauge("mainspring_worker_slots")
    for kind, count in slots.items():
        of_kind.add_metric([kind], count)
    singles = {
        "mainspring_workers": len(whole.workers),
        "mainspring_workers_overdue": sum(worker.overdue for worker in whole.workers),
        "mainspring_engine_silent_seconds": whole.engine.silent_seconds,
        "mainspring_schedule_lag_seconds": max(
            (shard.lag_seconds for shard in whole.shards), default=0.0
        ),
        "mainspring_failed_tasks_recent": whole.failed,
    }
    families = [ready, oldest, running, aside, paused, of_kind]
    for name, value in singles.items():
        family = _gauge(name)
        family.add_metric([], value)
        families.append(family)
    return families


def _named(name: str) -> tuple[str, str, tuple[str, ...]]:
    metric = CATALOGUE[name]
    return name, metric.help, metric.labels


def _gauge(name: str) -> GaugeMetricFamily:
    metric = CATALOGUE[name]
    assert metric.kind == "gauge"
    return GaugeMetricFamily(name, metric.help, labels=metric.labels)
