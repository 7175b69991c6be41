"""Every metric there is, with what it means. `docs/reference/metrics.md` is made of these.

A process counts what it does itself; what is true of the whole, such as the depth of a queue, is
read from the database by whichever server is asked. Names end in their unit, or in `_total` if they
only grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Kind = Literal["counter", "gauge", "histogram"]
Source = Literal["server", "whole", "engine", "worker"]


class Metric(msgspec.Struct, frozen=True):
    source: Source
    """Who tells it: a server of itself or of the whole, an engine or a worker of itself."""
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


CATALOGUE: Mapping[str, Metric] = {
    # --- this server
    "mainspring_http_requests_total": Metric(
        "server", "counter", "requests that were answered", ("method", "route", "status")
    ),
    "mainspring_http_request_seconds": Metric(
        "server", "histogram", "how long requests took, by route", ("method", "route")
    ),
    "mainspring_http_requests_running": Metric(
        "server", "gauge", "requests that are worked at now"
    ),
    "mainspring_stream_listeners": Metric("server", "gauge", "those who listen to `/stream`"),
    "mainspring_stream_events_total": Metric(
        "server", "counter", "events of the stream; each counts once, however many listen"
    ),
    "mainspring_stream_resyncs_total": Metric(
        "server", "counter", "how often listeners had to begin anew"
    ),
    # --- the whole, from the database
    "mainspring_database_up": Metric("whole", "gauge", "1 if the database answered, 0 if not"),
    "mainspring_database_connections": Metric(
        "whole", "gauge", "connections to this database, whoever made them"
    ),
    "mainspring_database_connections_max": Metric(
        "whole", "gauge", "how many the database takes, for all its databases together"
    ),
    "mainspring_database_oldest_transaction_seconds": Metric(
        "whole",
        "gauge",
        "since when the oldest transaction is open: behind it dead rows cannot be removed",
    ),
    "mainspring_database_bytes": Metric("whole", "gauge", "what the database takes on disk"),
    "mainspring_table_rows": Metric(
        "whole", "gauge", "rows of a table with its partitions, as PostgreSQL estimates", ("table",)
    ),
    "mainspring_table_dead_rows": Metric(
        "whole", "gauge", "dead rows that vacuum has not removed yet, estimated", ("table",)
    ),
    "mainspring_queue_ready_tasks": Metric(
        "whole", "gauge", "tasks that wait for a worker, counted up to 100,000", ("queue", "kind")
    ),
    "mainspring_queue_oldest_seconds": Metric(
        "whole", "gauge", "how long the first task of a queue has waited", ("queue", "kind")
    ),
    "mainspring_queue_running_tasks": Metric(
        "whole", "gauge", "tasks that workers have in hand", ("queue", "kind")
    ),
    "mainspring_queue_aside_tasks": Metric(
        "whole", "gauge", "ready tasks of paused dags, counted up to 100,000", ("queue", "kind")
    ),
    "mainspring_queue_paused": Metric("whole", "gauge", "1 if the queue is paused", ("queue",)),
    "mainspring_timers": Metric(
        "whole",
        "gauge",
        "what waits for its time, counted up to 100,000: the `start` of a run, its `deadline`,"
        " the `backoff` before a retry",
        ("kind",),
    ),
    "mainspring_timers_late_seconds": Metric(
        "whole", "gauge", "by how much the first of them is overdue", ("kind",)
    ),
    "mainspring_workers": Metric("whole", "gauge", "living workers, each with a lease"),
    "mainspring_workers_overdue": Metric("whole", "gauge", "workers whose lease has run out"),
    "mainspring_worker_slots": Metric("whole", "gauge", "slots of living workers", ("kind",)),
    "mainspring_engine_silent_seconds": Metric(
        "whole",
        "gauge",
        "since when the engine that does the single duties has given no sign of life",
    ),
    "mainspring_schedule_lag_seconds": Metric(
        "whole", "gauge", "by how much the most overdue schedule is late"
    ),
    "mainspring_failed_tasks_recent": Metric(
        "whole", "gauge", "tasks that failed for good in the last hour, among the newest 1,000"
    ),
    "mainspring_dead_letters": Metric(
        "whole", "gauge", "tasks that failed for good and wait for somebody, up to 100,000"
    ),
    # --- an engine
    "mainspring_fires_total": Metric(
        "engine", "counter", "schedules that were due and that this engine moved on"
    ),
    "mainspring_fire_late_seconds": Metric(
        "engine", "histogram", "how late that was, from the fire until its run was stored"
    ),
    "mainspring_shards_held": Metric(
        "engine", "gauge", "shards of the schedules that are this engine's"
    ),
    "mainspring_engine_leads": Metric(
        "engine", "gauge", "1 if this engine does the single duties, 0 if it stands by"
    ),
    "mainspring_reaped_workers_total": Metric(
        "engine", "counter", "workers whose lease ran out and was ended"
    ),
    "mainspring_reaped_attempts_total": Metric(
        "engine", "counter", "attempts that were lost with them"
    ),
    # --- a worker
    "mainspring_claim_seconds": Metric(
        "worker",
        "histogram",
        "how long claims took that brought tasks; through a server, the wait for them included",
    ),
    "mainspring_pickup_seconds": Metric(
        "worker",
        "histogram",
        "how long the first task of each claim had waited since it was due; of runs of one task",
    ),
    "mainspring_claimed_tasks_total": Metric("worker", "counter", "tasks that came into hand"),
    "mainspring_retries_total": Metric(
        "worker", "counter", "those among them that had failed before"
    ),
    "mainspring_attempts_total": Metric(
        "worker", "counter", "attempts that ended here", ("outcome",)
    ),
    "mainspring_completion_seconds": Metric(
        "worker",
        "histogram",
        "from the end of an attempt until the database knew it; the longest of each set",
    ),
    "mainspring_tasks_in_hand": Metric("worker", "gauge", "tasks in hand"),
    "mainspring_slots_free": Metric("worker", "gauge", "free slots", ("kind",)),
    "mainspring_lease_renewal_seconds": Metric(
        "worker", "histogram", "how long renewals of the lease took"
    ),
    "mainspring_lease_trusted_seconds": Metric(
        "worker", "gauge", "how long this worker would go on without an answer"
    ),
    "mainspring_leases_lost_total": Metric(
        "worker", "counter", "how often its lease was taken from it"
    ),
}


def metrics_of(*sources: Source) -> dict[str, Metric]:
    return {name: metric for name, metric in CATALOGUE.items() if metric.source in sources}
