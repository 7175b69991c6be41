"""Every metric there is, with what it means. `docs/reference/metrics.md` is made of these.

A process counts what it does itself; what is true of the whole, such as the depth of a queue, is
read from the database when somebody asks. Names end in their unit, or in `_total` if they only
grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Kind = Literal["counter", "gauge", "histogram"]


class Metric(msgspec.Struct, frozen=True):
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


CATALOGUE: Mapping[str, Metric] = {
    # --- this server
    "mainspring_http_requests_total": Metric(
        "counter", "requests that were answered", ("method", "route", "status")
    ),
    "mainspring_http_request_seconds": Metric(
        "histogram", "how long requests took, by route", ("method", "route")
    ),
    "mainspring_http_requests_running": Metric("gauge", "requests that are worked at now"),
    "mainspring_stream_listeners": Metric("gauge", "those who listen to `/stream`"),
    "mainspring_stream_events_total": Metric(
        "counter", "events of the stream; each counts once, however many listen"
    ),
    "mainspring_stream_resyncs_total": Metric("counter", "how often listeners had to begin anew"),
    # --- the whole, from the database
    "mainspring_database_up": Metric("gauge", "1 if the database answered, 0 if not"),
    "mainspring_queue_ready_tasks": Metric(
        "gauge", "tasks that wait for a worker, counted up to 100,000", ("queue", "kind")
    ),
    "mainspring_queue_oldest_seconds": Metric(
        "gauge", "how long the first task of a queue has waited", ("queue", "kind")
    ),
    "mainspring_queue_running_tasks": Metric(
        "gauge", "tasks that workers have in hand", ("queue", "kind")
    ),
    "mainspring_queue_aside_tasks": Metric(
        "gauge", "ready tasks of paused dags, counted up to 100,000", ("queue", "kind")
    ),
    "mainspring_queue_paused": Metric("gauge", "1 if the queue is paused", ("queue",)),
    "mainspring_workers": Metric("gauge", "living workers"),
    "mainspring_workers_overdue": Metric("gauge", "workers whose lease has run out"),
    "mainspring_worker_slots": Metric("gauge", "slots of living workers", ("kind",)),
    "mainspring_engine_silent_seconds": Metric(
        "gauge", "since when the engine that does the single duties has given no sign of life"
    ),
    "mainspring_schedule_lag_seconds": Metric(
        "gauge", "by how much the most overdue schedule is late"
    ),
    "mainspring_failed_tasks_recent": Metric(
        "gauge", "tasks that failed for good in the last hour, among the newest 1,000"
    ),
}
