"""What is true of all processes together, as Prometheus reads it from any server.

However many ask however often, one reading of the database answers all who come within two seconds.
If the database does not answer, that is what is told.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mainspring.domain.errors import UnavailableError
from mainspring.observe.catalogue import CATALOGUE
from mainspring.store.connection import GONE, Connection
from mainspring.store.figures import (
    DatabaseLine,
    TableLine,
    TimerLine,
    count_dead_letters,
    measure_database,
    measure_tables,
    measure_timers,
)
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

KEPT_SECONDS = 2.0


class Whole(msgspec.Struct, frozen=True):
    database: DatabaseLine
    tables: list[TableLine]
    lanes: list[LaneLine]
    timers: list[TimerLine]
    workers: list[WorkerLine]
    engine: EngineLine
    shards: list[ShardStanding]
    failed: int
    dead_letters: int


async def read_whole(connection: Connection) -> Whole:
    return Whole(
        await measure_database(connection),
        await measure_tables(connection),
        await list_lanes(connection),
        await measure_timers(connection),
        await list_workers(connection),
        await read_engine(connection),
        await list_shards(connection),
        await count_recent_problems(connection, seconds=3600),
        await count_dead_letters(connection),
    )


class WholeText:
    """The last reading, for as long as it is fresh."""

    def __init__(self, read: Callable[[], Awaitable[Whole]]) -> None:
        self._read = read
        self._one_at_a_time = asyncio.Lock()
        self._text = b""
        self._fresh_until = 0.0

    async def text(self) -> bytes:
        async with self._one_at_a_time:
            if time.monotonic() >= self._fresh_until:
                self._text = _text(await self._ask())
                self._fresh_until = time.monotonic() + KEPT_SECONDS
            return self._text

    async def _ask(self) -> Whole | None:
        try:
            return await self._read()
        except (UnavailableError, *GONE):
            return None


def _text(whole: Whole | None) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Seen(whole))
    return generate_latest(registry)


class _Seen(Collector):
    def __init__(self, whole: Whole | None) -> None:
        self._whole = whole

    def collect(self) -> list[GaugeMetricFamily]:
        up = _gauge("mainspring_database_up", [([], 0 if self._whole is None else 1)])
        return [up] if self._whole is None else [up, *_families(self._whole)]


def _families(whole: Whole) -> list[GaugeMetricFamily]:
    return [*_lanes(whole.lanes), *_database(whole), *_singles(whole)]


def _lanes(lanes: list[LaneLine]) -> list[GaugeMetricFamily]:
    def by_lane(name: str, value: Callable[[LaneLine], float]) -> GaugeMetricFamily:
        return _gauge(name, [([lane.queue, lane.kind.value], value(lane)) for lane in lanes])

    paused = {lane.queue: lane.pause is not None for lane in lanes}
    return [
        by_lane("mainspring_queue_ready_tasks", lambda lane: lane.ready),
        by_lane("mainspring_queue_oldest_seconds", lambda lane: lane.oldest_seconds or 0.0),
        by_lane("mainspring_queue_running_tasks", lambda lane: lane.running),
        by_lane("mainspring_queue_aside_tasks", lambda lane: lane.aside),
        _gauge("mainspring_queue_paused", [([queue], int(is_)) for queue, is_ in paused.items()]),
    ]


def _database(whole: Whole) -> list[GaugeMetricFamily]:
    tables, timers = whole.tables, whole.timers
    return [
        _gauge("mainspring_table_rows", [([table.name], table.rows) for table in tables]),
        _gauge("mainspring_table_dead_rows", [([table.name], table.dead) for table in tables]),
        _gauge("mainspring_timers", [([timer.kind], timer.count) for timer in timers]),
        _gauge("mainspring_timers_late_seconds", [([t.kind], t.late_seconds) for t in timers]),
    ]


def _singles(whole: Whole) -> list[GaugeMetricFamily]:
    slots: dict[str, int] = {}
    for worker in whole.workers:
        for kind, count in worker.slots.items():
            slots[kind] = slots.get(kind, 0) + count
    database = whole.database
    values = {
        "mainspring_database_connections": database.connections,
        "mainspring_database_connections_max": database.connections_max,
        "mainspring_database_oldest_transaction_seconds": database.oldest_transaction_seconds,
        "mainspring_database_bytes": database.bytes,
        "mainspring_workers": len(whole.workers),
        "mainspring_workers_overdue": sum(worker.overdue for worker in whole.workers),
        "mainspring_engine_silent_seconds": whole.engine.silent_seconds,
        "mainspring_schedule_lag_seconds": max(
            (shard.lag_seconds for shard in whole.shards), default=0.0
        ),
        "mainspring_failed_tasks_recent": whole.failed,
        "mainspring_dead_letters": whole.dead_letters,
    }
    return [
        _gauge("mainspring_worker_slots", [([kind], count) for kind, count in slots.items()]),
        *(_gauge(name, [([], value)]) for name, value in values.items()),
    ]


def _gauge(name: str, values: Iterable[tuple[list[str], float]]) -> GaugeMetricFamily:
    metric = CATALOGUE[name]
    assert metric.kind == "gauge"
    family = GaugeMetricFamily(name, metric.help, labels=metric.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family
