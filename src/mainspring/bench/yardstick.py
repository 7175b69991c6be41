"""What the machine can do without us, measured while nothing else runs.

The ceiling is the driver's own batched insert of the bare record of a run, 500 rows a statement
over one connection into a table with a primary key: what it costs to write down that something is
to be done, and nothing else. The commit is one row inserted and on disk: what the shortest durable
answer takes. Rates are told as a share of the first, lengths of time as a multiple of the second,
CPU time as a multiple of what the inserted row took.

A round trip that commits nothing is measured too, but is no yardstick: how long the disk takes
varies most between machines and between moments, and it would leave that out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from mainspring.bench.numbers import percentile
from mainspring.bench.server import backend_seconds
from mainspring.store.connection import Connection, connect, fetch

_ROWS = 500
_TRIPS = 300
_SCHEMA = "mainspring_bench"


class Yardstick(msgspec.Struct, frozen=True):
    ceiling_inserts_per_s: float
    commit_ms: float
    """One row inserted and on disk; the median."""
    round_trip_ms: float
    """`begin`, `select 1`, `commit`; the median."""
    insert_cpu_us: float | None
    """What an inserted row took of the processors, client and server together."""


async def measure_yardstick(url: str, seconds: float) -> Yardstick:
    connection = await connect(url, name="bench yardstick")
    try:
        await connection.execute(
            f"set client_min_messages = warning; drop schema if exists {_SCHEMA} cascade;"
            f" create schema {_SCHEMA};"
            f" create table {_SCHEMA}.scratch"
            " (id bigint primary key, created_at timestamptz, due_at timestamptz, tenant_id int,"
            " dag_id int, version_id int, snapshot_id int, parameters bytea)"
        )
        try:
            round_trip_ms = await _round_trip_ms(connection)
            commit_ms = await _commit_ms(connection)
            rows_per_s, cpu_us = await _inserts(url, connection, seconds)
            return Yardstick(rows_per_s, commit_ms, round_trip_ms, cpu_us)
        finally:
            await connection.execute(f"drop schema {_SCHEMA} cascade")
    finally:
        connection.terminate()


def mean_of(yardsticks: Sequence[Yardstick]) -> Yardstick:
    """Of before and after: neighbours come and go in between."""

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    cpu_us = [each.insert_cpu_us for each in yardsticks if each.insert_cpu_us is not None]
    return Yardstick(
        round(mean([each.ceiling_inserts_per_s for each in yardsticks])),
        round(mean([each.commit_ms for each in yardsticks]), 3),
        round(mean([each.round_trip_ms for each in yardsticks]), 3),
        round(mean(cpu_us), 2) if cpu_us else None,
    )


async def _inserts(url: str, connection: Connection, seconds: float) -> tuple[float, float | None]:
    """Rows a second, and CPU microseconds a row."""
    sql = (
        f"insert into {_SCHEMA}.scratch select * from unnest($1::bigint[], $2::timestamptz[],"
        " $3::timestamptz[], $4::int[], $5::int[], $6::int[], $7::int[], $8::bytea[])"
    )
    now, ones = [datetime.now(UTC)] * _ROWS, [1] * _ROWS
    parameters = [b'{"x":%d}' % number for number in range(_ROWS)]

    async def insert(first: int) -> None:
        ids = list(range(first, first + _ROWS))
        await fetch(connection, sql, ids, now, now, ones, ones, ones, ones, parameters)

    first = _TRIPS
    await insert(first)
    server_before, client_before = await backend_seconds(url, connection), time.process_time()
    rows, began = 0, time.monotonic()
    while (elapsed := time.monotonic() - began) < seconds:
        rows += _ROWS
        await insert(first + rows)
    client_seconds = time.process_time() - client_before
    server_after = await backend_seconds(url, connection)
    if server_before is None or server_after is None:
        return rows / elapsed, None
    return rows / elapsed, (client_seconds + server_after - server_before) * 1e6 / rows


async def _round_trip_ms(connection: Connection) -> float:
    times = []
    for _ in range(_TRIPS):
        began = time.perf_counter()
        async with connection.transaction():
            await fetch(connection, "select 1")
        times.append(time.perf_counter() - began)
    return 1000 * percentile(times, 0.5)


async def _commit_ms(connection: Connection) -> float:
    times = []
    for number in range(_TRIPS):
        began = time.perf_counter()
        await fetch(connection, f"insert into {_SCHEMA}.scratch (id) values ($1)", number)
        times.append(time.perf_counter() - began)
    return 1000 * percentile(times, 0.5)
