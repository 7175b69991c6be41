"""Whether the past slows the present: finished runs by the million, and an open snapshot.

A snapshot that somebody holds open keeps the dead rows of the queue alive. The one held here is
as long as the measurement, so a rate that falls while it lasts is seen in the figure.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mainspring.bench import tables
from mainspring.bench.place import patient_connection
from mainspring.bench.stage import Saturated, Stage
from mainspring.store.dags import DagRow

_SECONDS = 10.0
_MILLION = 1_000_000


async def measure_history(stage: Stage) -> dict[str, Any]:
    dag = await stage.dag("bench_one")
    seconds = stage.settings.length(_SECONDS)
    none = await stage.saturate([dag], seconds, words="no history")
    async with _snapshot(stage.url):
        snapshot = await stage.saturate([dag], seconds, words="a snapshot held open")
    await _fill(stage, dag, 1)
    one = await stage.saturate([dag], seconds, words="1 million finished runs")
    await _fill(stage, dag, 4)
    five = await stage.saturate([dag], seconds, words="5 million finished runs")
    return {
        "rate_0": round(none.per_s),
        "rate_1m": round(one.per_s),
        "rate_5m": round(five.per_s),
        "rate_snapshot": round(snapshot.per_s),
        "snapshot_halves": await _halves(stage, snapshot),
        "server_us_0": _server_us(none),
        "server_us_1m": _server_us(one),
        "server_us_5m": _server_us(five),
        "server_us_snapshot": _server_us(snapshot),
    }


async def _fill(stage: Stage, dag: DagRow, millions: int) -> None:
    stage.watcher.phase(f"filling in {millions} million finished runs")
    connection = await patient_connection(stage.url, "bench history")
    try:
        await tables.fill_history(connection, dag, millions * _MILLION)
    finally:
        connection.terminate()


@asynccontextmanager
async def _snapshot(url: str) -> AsyncIterator[None]:
    """A transaction that has read something and does not end."""
    connection = await patient_connection(url, "bench snapshot")
    try:
        await connection.execute("set idle_in_transaction_session_timeout = 0")
        transaction = connection.transaction(isolation="repeatable_read", readonly=True)
        await transaction.start()
        await connection.fetchval("select count(*) from mainspring.dag")
        yield
    finally:
        connection.terminate()


async def _halves(stage: Stage, saturated: Saturated) -> list[int]:
    """The rate in the first half and in the second: a fall goes on."""
    halves = await tables.bins_of(stage.watch, saturated.window, 2)
    return [round(half.done / (saturated.window.seconds / 2)) for half in halves]


def _server_us(saturated: Saturated) -> float | None:
    return saturated.cpu_us.get("postgresql")
