"""The server: jobs that are made, lists that are looked at, and one large run.

Jobs are made while their queue is paused, so that it is making them that is measured, and run
afterwards: that each came to a good end is one of the promises. Lists are asked for with millions
of runs stored: the newest page, which is what most people look at.
"""

from __future__ import annotations

import itertools
from typing import Any

import msgspec

from mainspring.bench import tables
from mainspring.bench.http_load import Asked, Next, ask_for, ask_one, request
from mainspring.bench.place import patient_connection
from mainspring.bench.scenarios.gateway import (
    HOLD_SECONDS,
    WORKERS,
    GatewayFigures,
    measure_gateway,
)
from mainspring.bench.stage import Stage
from mainspring.bench.team import QUEUE
from mainspring.domain.roles import Role
from mainspring.store.connection import connect
from mainspring.store.tokens import create_token, new_secret

_SECONDS = 10.0
_WARM_UP_SHARE = 0.2
_ONE_BY_ONE = 64
"""Callers that make one job after another."""
_BULK = 2
_BULK_JOBS = 2_000
_LOOKING = 16
_DETAILS = 40
"""How often the large run is looked at, one after another."""


async def measure_api(stage: Stage) -> dict[str, Any]:
    server = await _Server.meet(stage)
    await stage.dag("bench_one")
    made = await _make_jobs(server)
    remote = await _serve_workers(server)
    detail_ms = await _look_at_large_run(server)
    listed = await _list_runs(server)
    return {
        **made,
        "runs_list_per_s": round(listed.per_s),
        "runs_list_p99_ms": round(listed.p_ms(0.99), 2),
        "run_detail_1000_ms": round(detail_ms, 2),
        "gateway_tasks_per_s": round(remote.tasks_per_s),
        "gateway_beat_late_p99_ms": round(remote.beat_late_p99_ms, 1),
        "gateway_late_beats": remote.late_beats,
        "gateway_connections": remote.connections,
        "stored_runs": stage.settings.stored_runs,
    }


class _Server:
    """The server on the stage, and a token for it."""

    def __init__(self, stage: Stage, port: int, token: str) -> None:
        self.stage = stage
        self.port = port
        self.token = token

    @classmethod
    async def meet(cls, stage: Stage) -> _Server:
        secret = new_secret()
        connection = await connect(stage.url, name="bench token")
        try:
            await create_token(
                connection, secret, name=f"bench-{stage.first_id}", role=Role.OPERATOR
            )
        finally:
            await connection.close()
        return cls(stage, await stage.server_port(), secret)

    def request(self, method: str, path: str, body: Any = None) -> bytes:
        content = None if body is None else msgspec.json.encode(body)
        return request(method, f"/api/v1{path}", token=self.token, body=content)

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        return msgspec.json.decode(await ask_one(self.port, self.request(method, path, body)))

    async def measure(self, words: str, connections: int, next_request: Next) -> Asked:
        seconds = self.stage.settings.length(_SECONDS)
        warm_up = _WARM_UP_SHARE * seconds
        self.stage.watcher.phase(f"{words}: warming up", warm_up)
        await ask_for(self.port, connections, warm_up, next_request)
        self.stage.watcher.phase(words, seconds)
        return await ask_for(self.port, connections, seconds, next_request)


# --- remote workers ----------------------------------------------------------------------


async def _serve_workers(server: _Server) -> GatewayFigures:
    stage = server.stage
    # A task is held for a while: in less than this none would begin and end.
    seconds = max(stage.settings.length(_SECONDS), 3 * HOLD_SECONDS)
    # To bring in a thousand takes longer than a short measurement.
    workers = WORKERS if seconds >= _SECONDS else WORKERS // 20
    stage.watcher.phase(f"{workers:,} remote workers", seconds)
    warm_up = _WARM_UP_SHARE * seconds
    return await measure_gateway(
        stage.url, server.port, seconds=seconds, warm_up_seconds=warm_up, workers=workers
    )


# --- made ---------------------------------------------------------------------------------


async def _make_jobs(server: _Server) -> dict[str, Any]:
    job = {"task": "bench_one", "parameters": {"x": 1}}
    one = server.request("POST", "/jobs", job)
    many = server.request("POST", "/jobs/bulk", {"jobs": [job] * _BULK_JOBS})
    await server.ask("POST", f"/queues/{QUEUE}/pause", {"note": "jobs are made, not run"})
    count = _Count()
    singles = await server.measure("jobs, one by one", _ONE_BY_ONE, count.each(one, 1))
    bulks = await server.measure("jobs in bulk", _BULK, count.each(many, _BULK_JOBS))
    await server.ask("POST", f"/queues/{QUEUE}/resume", {})
    server.stage.watcher.phase(f"running {count.asked:,} jobs")
    server.stage.triggered += count.asked
    await server.stage.drain()
    return {
        "jobs_per_s": round(singles.per_s),
        "jobs_bulk_per_s": round(bulks.per_s * _BULK_JOBS),
    }


class _Count:
    """How many jobs were asked for; each has to be there, and to succeed."""

    def __init__(self) -> None:
        self.asked = 0

    def each(self, content: bytes, jobs: int) -> Next:
        def next_request() -> bytes:
            self.asked += jobs
            return content

        return next_request


# --- looked at ----------------------------------------------------------------------------


async def _look_at_large_run(server: _Server) -> float:
    stage = server.stage
    dag = await stage.dag("bench_fan_1000")
    run_id = await stage.trigger(dag.name)
    await stage.finish(run_id)
    stage.watcher.phase("a run of 1,002 tasks")
    content = server.request("GET", f"/runs/{run_id}")
    asked = itertools.repeat(content, _DETAILS)
    times = await ask_for(server.port, 1, float("inf"), lambda: next(asked, None))
    return times.p_ms(0.5)


async def _list_runs(server: _Server) -> Asked:
    stage = server.stage
    dag = await stage.dag("bench_one")
    count = stage.settings.stored_runs
    stage.watcher.phase(f"filling in {count:,} finished runs")
    connection = await patient_connection(stage.url, "bench history")
    try:
        await tables.fill_history(connection, dag, count)
    finally:
        connection.terminate()
    newest = server.request("GET", "/runs?limit=50")
    return await server.measure("lists of runs", _LOOKING, lambda: newest)
