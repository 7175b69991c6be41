"""Schedules: a tick with nothing due, 10,000 due at once, and a steady stream out of a million.

Lag is from the nominal instant of a fire to the start of its task: the engine makes the run, a
worker claims it, a host calls the function. Cron knows whole seconds only, so what comes at 10,000
a second comes as 10,000 at the beginning of each.
"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import datetime, timedelta
from typing import Any

from mainspring.bench import cpu, tables
from mainspring.bench import stored_schedules as schedules
from mainspring.bench.lines import Line, lines_for
from mainspring.bench.numbers import percentile
from mainspring.bench.place import patient_connection
from mainspring.bench.stage import Stage
from mainspring.bench.stored_schedules import Stored
from mainspring.bench.tables import Window
from mainspring.domain.errors import UnavailableError
from mainspring.store.connection import Connection
from mainspring.store.dags import DagRow
from mainspring.store.schedules import due_schedules, next_due
from mainspring.store.shards import ALL_SHARDS

AT_ONCE = 10_000
_BURSTS = 4
"""Of which the first warms up."""
_BURST_SECONDS = 5
_IDLE_TICKS = 300
_OFFERED_SECONDS = 60.0
_BACKLOG_SECONDS = 2.0
"""What has been due for longer and is not done has piled up; the rest is merely under way."""
_LOOK_SECONDS = 0.5
_LATE_SECONDS = 120.0
_FAR = timedelta(days=1)


async def measure_tick(stage: Stage) -> dict[str, Any]:
    dag = await stage.dag("bench_one")
    connection = await patient_connection(stage.url, "bench schedules")
    try:
        count, rate = stage.settings.schedules, stage.settings.rate
        lines = lines_for(count, rate)
        stage.watcher.phase(f"storing {count:,} schedules")
        far = (await tables.now(connection)).replace(microsecond=0) + _FAR
        stored = await schedules.store_schedules(connection, dag, lines, far)
        await _written()
        idle = await _idle(stage, far)
        at_once = await _at_once(stage, connection, dag)
        offered = await _offer(stage, connection, stored, lines)
    finally:
        connection.terminate()
    return {**idle, **at_once, "schedules": count, **offered}


# --- nothing due --------------------------------------------------------------------------


async def _idle(stage: Stage, until: datetime) -> dict[str, Any]:
    """What a tick asks when nothing is due, as the engine asks it."""
    stage.watcher.phase("ticks with nothing due")
    shards, begin = list(ALL_SHARDS), await tables.now(stage.glance)
    times = []
    for _ in range(_IDLE_TICKS):
        began = time.perf_counter()
        due = await due_schedules(stage.glance, None, shards, begin - timedelta(seconds=2), 500)
        _, next_fire_at = await next_due(stage.glance, None)
        times.append(1000 * (time.perf_counter() - began))
        assert not due
        assert next_fire_at is not None
        assert next_fire_at >= until
    return {
        "idle_tick_ms": round(percentile(times, 0.5), 3),
        "idle_tick_p99_ms": round(percentile(times, 0.99), 3),
    }


# --- all at once --------------------------------------------------------------------------


async def _at_once(stage: Stage, connection: Connection, dag: DagRow) -> dict[str, Any]:
    """Bursts of schedules that have the same line."""
    count = min(AT_ONCE, stage.settings.schedules)
    stage.watcher.phase(f"{count:,} schedules due in the same second", _BURSTS * _BURST_SECONDS)
    line = Line(f"*/{_BURST_SECONDS} * * * * *", count)
    margin = timedelta(seconds=2 + 5e-5 * count)
    begin = line.next_fire((await tables.now(connection)).replace(microsecond=0) + margin)
    stored = await schedules.store_schedules(connection, dag, [line], begin)
    end = begin + timedelta(seconds=_BURSTS * _BURST_SECONDS)
    await _until(stage, end - timedelta(seconds=0.5))
    await _fired(stage, stored, end - timedelta(seconds=_BURST_SECONDS - 1))
    await schedules.rest(connection, stored)
    await stage.drain()
    _check(stage, await _missing(connection, stored, [line], begin, end))
    warm = begin + timedelta(seconds=_BURST_SECONDS)
    lag = await schedules.fire_lag(connection, stored, warm, end)
    return {
        "due_at_once": count,
        "due_10k_lag_p50_ms": None if lag is None else round(lag.p50_ms, 2),
        "due_10k_lag_p99_ms": None if lag is None else round(lag.p99_ms, 2),
        "due_10k_lag_max_ms": None if lag is None else round(lag.max_ms, 2),
        "due_10k_made_p99_ms": None if lag is None else round(lag.made_p99_ms, 2),
    }


# --- a steady stream ----------------------------------------------------------------------


async def _offer(
    stage: Stage, connection: Connection, stored: Stored, lines: list[Line]
) -> dict[str, Any]:
    seconds = stage.settings.length(_OFFERED_SECONDS)
    words = f"{stage.settings.rate:,} fires a second"
    stage.watcher.phase(f"{words}: setting {stored.count:,} schedules going")
    start = await _set_going(stage, connection, stored, lines)
    await _until(stage, start)
    warm_up = stage.begin_load()
    stage.watcher.phase(f"{words}: warming up", warm_up)
    begin = (start + timedelta(seconds=warm_up)).replace(microsecond=0)
    await _until(stage, begin)
    stage.watcher.phase(words, seconds)
    cpu_before = await stage.read_cpu()
    end = begin + timedelta(seconds=seconds)
    await _until(stage, end)
    cpu_after = await stage.read_cpu()
    overdue = await schedules.count_overdue(
        stage.glance, stored, end - timedelta(seconds=_BACKLOG_SECONDS)
    )
    stage.end_load()
    stage.watcher.phase(f"{words}: running the queue empty")
    await _fired(stage, stored, end)
    await schedules.rest(connection, stored)
    await stage.drain()
    _check(stage, await _missing(connection, stored, lines, start, end))
    window = Window(begin, end, stage.first_id)
    fired = await schedules.count_fires(connection, stored, begin, end)
    done = await tables.done_in(connection, window)
    lag = await schedules.fire_lag(connection, stored, begin, end)
    spent = cpu.spent(cpu_before, cpu_after)
    waiting = await tables.open_at_end(connection, window, _BACKLOG_SECONDS)
    return {
        "offered_per_s": round(sum(line.fires(begin, end) for line in lines) / window.seconds),
        "fired_per_s": round(fired / window.seconds),
        "done_per_s": round(done / window.seconds),
        "backlog_end": overdue + waiting,
        "lag_p50_ms": None if lag is None else round(lag.p50_ms, 2),
        "lag_p99_ms": None if lag is None else round(lag.p99_ms, 2),
        "lag_max_ms": None if lag is None else round(lag.max_ms, 2),
        "made_p99_ms": None if lag is None else round(lag.made_p99_ms, 2),
        "cores": None if spent.cores is None else round(spent.cores, 2),
        "cpu_us": spent.each_us(done),
        "series": await tables.bins_of(connection, window, max(1, min(60, round(seconds)))),
    }


async def _set_going(
    stage: Stage, connection: Connection, stored: Stored, lines: list[Line]
) -> datetime:
    """From when on they fire. If that instant is over before all of it is stored: once more."""
    margin_seconds = 3 + 3e-5 * stored.count
    while True:
        start = await tables.now(connection) + timedelta(seconds=margin_seconds)
        start = start.replace(microsecond=0)
        await schedules.set_going(connection, stored, lines, start)
        await connection.execute("vacuum (analyze) mainspring.schedule_state")
        await _written()
        if await tables.now(connection) < start:
            return start
        margin_seconds *= 2


# --- waiting ------------------------------------------------------------------------------


async def _until(stage: Stage, instant: datetime) -> None:
    while (left := (instant - await tables.now(stage.glance)).total_seconds()) > 0:
        stage.team.check()
        stage.watcher.live(f"{left:.0f} s left")
        await asyncio.sleep(min(_LOOK_SECONDS, left))


async def _written() -> None:
    """Until the disk has what this machine's processes have written. A million schedules are much,
    and half a minute later the system would write them in the middle of what is measured."""
    await asyncio.to_thread(os.sync)


async def _fired(stage: Stage, stored: Stored, instant: datetime) -> None:
    """Until all of them have fired for what lies before this instant."""
    deadline = time.monotonic() + _LATE_SECONDS
    while await schedules.are_behind(stage.glance, stored, instant):
        stage.team.check()
        if time.monotonic() > deadline:
            raise UnavailableError(
                f"schedules were more than {_LATE_SECONDS:g} s late; last words of\n"
                + stage.team.last_words(),
                hint="give less load (`--rate`)",
            )
        await asyncio.sleep(_LOOK_SECONDS / 5)


async def _missing(
    connection: Connection, stored: Stored, lines: list[Line], begin: datetime, end: datetime
) -> int:
    """By how many the ledger differs from what the lines say."""
    wanted = sum(line.fires(begin, end) for line in lines)
    return abs(wanted - await schedules.count_fires(connection, stored, begin, end))


def _check(stage: Stage, missing: int) -> None:
    if missing:
        stage.broken["every_fire_of_the_benchmark_is_there_once"] = missing
