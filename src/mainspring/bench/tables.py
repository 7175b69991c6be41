"""All SQL of the benchmark: what is read off the tables, and how history is filled in.

Figures come from the rows themselves, after the fact, through the views that people see: nothing
is counted while it is measured, so the measuring costs nothing and cannot miscount.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import asyncpg
import msgspec

from mainspring.domain.lanes import Lane, SlotKind
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import DagRow
from mainspring.store.filling import reserve_stretch, settle_history
from mainspring.store.runs import DEFAULT_TENANT


class Window(msgspec.Struct, frozen=True):
    """A stretch of time by the database's clock, and the first id that belongs to the load."""

    begin: datetime
    end: datetime
    first_id: int

    @property
    def seconds(self) -> float:
        return (self.end - self.begin).total_seconds()


class Lag(msgspec.Struct, frozen=True):
    """How long tasks that fell due in a window waited for their start."""

    p50_ms: float
    p99_ms: float
    max_ms: float
    made_p99_ms: float
    """How late the load generator was: due to stored."""


class Bin(msgspec.Struct, frozen=True):
    """One step of a plot."""

    at_seconds: float
    done: int
    lag_p50_ms: float | None
    lag_p99_ms: float | None


async def now(connection: Connection) -> datetime:
    instant: datetime = await connection.fetchval("select clock_timestamp()")
    return instant


# --- while it runs ------------------------------------------------------------------------


async def closed_runs(connection: Connection, run_ids: Sequence[int]) -> set[int]:
    """Those of these runs that have ended: lookups by id, whatever the size of the tables.

    Not through `run_view`: asked for several ids at once, it reads every task there is.
    """
    rows = await fetch(
        connection,
        "select u.id from unnest($1::bigint[]) as u (id) where not exists ("
        " select 1 from mainspring.run r where r.id = u.id and coalesce(r.open_tasks > 0, exists ("
        "  select 1 from mainspring.task t where t.id = r.id and t.finished_at is null)))",
        list(run_ids),
    )
    return {row["id"] for row in rows}


async def is_quiet(connection: Connection, queue: str) -> bool:
    """Whether nothing waits in the benchmark's queue and nothing is claimed by its workers."""
    queue_id = await connection.fetchval("select id from mainspring.queue where name = $1", queue)
    if queue_id is None:
        return True
    quiet: bool = await connection.fetchval(
        "select not exists (select 1 from mainspring.ready where lane = any($1::int[]))"
        " and not exists (select 1 from mainspring.claim c"
        "  join mainspring.worker w on w.id = c.worker_id where w.name like 'bench-%')",
        [Lane(queue_id, kind).number for kind in SlotKind],
    )
    return quiet


async def living_workers(connection: Connection) -> int:
    count: int = await connection.fetchval(
        "select count(*) from mainspring.lease l join mainspring.worker w on w.id = l.worker_id"
        " where w.name like 'bench-%'"
    )
    return count


async def oldest_beat_seconds(connection: Connection) -> float:
    """The age of the lease that was renewed longest ago."""
    age: float = await connection.fetchval(
        "select coalesce(max(extract(epoch from clock_timestamp() - renewed_at)), 0)::float8"
        " from mainspring.lease l join mainspring.worker w on w.id = l.worker_id"
        " where w.name like 'bench-%'"
    )
    return age


async def reaped_workers(connection: Connection) -> int:
    count: int = await connection.fetchval(
        "select count(*) from mainspring.worker where ending = 'reaped' and name like 'bench-%'"
    )
    return count


async def backends(connection: Connection) -> dict[int, str]:
    """Server processes of ours, by what they are for."""
    rows = await fetch(
        connection,
        "select pid, application_name as name from pg_stat_activity"
        " where application_name like 'mainspring %' and datname = current_database()",
    )
    return {row["pid"]: _part(row["name"].removeprefix("mainspring ")) for row in rows}


def _part(name: str) -> str:
    who, _, what = name.partition(" ")
    if who.startswith("bench-"):
        return what if what in ("claim", "complete") else "worker's other"
    if name == "bench load":
        return "enqueue"
    return name if who == "engine" else "benchmark"


# --- afterwards ---------------------------------------------------------------------------


async def done_in(connection: Connection, window: Window) -> int:
    """Tasks that ended in the window."""
    count: int = await connection.fetchval(
        "select count(*) from mainspring.task_view"
        " where id >= $3 and finished_at >= $1 and finished_at < $2",
        window.begin,
        window.end,
        window.first_id,
    )
    return count


async def open_at_end(connection: Connection, window: Window, overdue_seconds: float = 0.0) -> int:
    """Tasks that had been due for so long when the window ended, and had not."""
    count: int = await connection.fetchval(
        "select count(*) from mainspring.task_view where id >= $3 and due_at >= $1"
        " and due_at < $2::timestamptz - $4::float8 * interval '1 second'"
        " and (finished_at is null or finished_at >= $2)",
        window.begin,
        window.end,
        window.first_id,
        overdue_seconds,
    )
    return count


async def lag_in(connection: Connection, window: Window) -> Lag | None:
    rows = await fetch(
        connection,
        "with created as (select id, created_at from mainspring.run where id >= $3"
        "  union all select id, created_at from mainspring.run_history where id >= $3)"
        " select percentile_cont(array[0.5, 0.99, 1]) within group (order by lag) as lag,"
        "  percentile_cont(0.99) within group (order by made) as made"
        " from (select extract(epoch from t.started_at - t.due_at) * 1000 as lag,"
        "    extract(epoch from r.created_at - t.due_at) * 1000 as made"
        "  from mainspring.task_view t join created r on r.id = t.run_id"
        "  where t.id >= $3 and t.due_at >= $1 and t.due_at < $2"
        "    and t.started_at is not null) as started",
        window.begin,
        window.end,
        window.first_id,
    )
    if rows[0]["lag"] is None:
        return None
    p50, p99, most = (float(value) for value in rows[0]["lag"])
    return Lag(p50, p99, most, float(rows[0]["made"]))


async def bins_of(connection: Connection, window: Window, count: int) -> list[Bin]:
    """The window in `count` equal steps: what ended in each, and the lag of what fell due."""
    width = window.seconds / count
    rows = await fetch(
        connection,
        "select n, coalesce(d.done, 0) as done, l.lag"
        " from generate_series(0, $4 - 1) as n"
        " left join (select floor(extract(epoch from finished_at - $1) / $5)::int as n,"
        "    count(*) as done from mainspring.task_view"
        "  where id >= $3 and finished_at >= $1 and finished_at < $2 group by 1) as d using (n)"
        " left join (select floor(extract(epoch from due_at - $1) / $5)::int as n,"
        "    percentile_cont(array[0.5, 0.99]) within group"
        "      (order by extract(epoch from started_at - due_at) * 1000) as lag"
        "  from mainspring.task_view"
        "  where id >= $3 and due_at >= $1 and due_at < $2 and started_at is not null"
        "  group by 1) as l using (n) order by n",
        window.begin,
        window.end,
        window.first_id,
        count,
        width,
    )
    return [
        Bin(
            round((row["n"] + 1) * width, 3),
            row["done"],
            None if row["lag"] is None else round(float(row["lag"][0]), 2),
            None if row["lag"] is None else round(float(row["lag"][1]), 2),
        )
        for row in rows
    ]


async def pickups_ms(connection: Connection, run_ids: Sequence[int]) -> list[float]:
    """Due to started, of the first task of each of these runs."""
    rows = await fetch(
        connection,
        "select extract(epoch from started_at - due_at)::float8 * 1000 as ms"
        " from mainspring.task_view where id = any($1::bigint[])",
        list(run_ids),
    )
    return [row["ms"] for row in rows]


async def steps_ms(connection: Connection, run_ids: Sequence[int]) -> list[float]:
    """The end of a task to the start of the next, in runs that are chains."""
    rows = await fetch(
        connection,
        "select extract(epoch from t.started_at - p.finished_at)::float8 * 1000 as ms"
        " from mainspring.task_view p join mainspring.task_view t"
        "  on t.id = p.id + 1 and t.run_id = p.run_id"
        " where p.run_id = any($1::bigint[])",
        list(run_ids),
    )
    return [row["ms"] for row in rows]


async def lengths_ms(connection: Connection, run_ids: Sequence[int]) -> list[float]:
    """Created to finished, of each of these runs."""
    rows = await fetch(
        connection,
        "select extract(epoch from finished_at - created_at)::float8 * 1000 as ms"
        " from mainspring.run_view where id = any($1::bigint[])",
        list(run_ids),
    )
    return [row["ms"] for row in rows]


async def at_the_same_time(connection: Connection, run_ids: Sequence[int]) -> int:
    """How many of these one-task runs were under way when the last of them started."""
    count: int = await connection.fetchval(
        "with mine as materialized (select started_at, finished_at from mainspring.task_view"
        "  where id = any($1::bigint[]) and started_at is not null)"
        " select count(*) from mine where finished_at > (select max(started_at) from mine)",
        list(run_ids),
    )
    return count


async def hot_runs(connection: Connection) -> int:
    """Runs, open or closed, that have not moved to history."""
    count: int = await connection.fetchval("select count(*) from mainspring.run")
    return count


async def lost_attempts(connection: Connection, first_id: int) -> int:
    count: int = await connection.fetchval(
        "select count(*) from mainspring.attempt where state = 'lost' and task_id >= $1", first_id
    )
    return count


async def unsuccessful_runs(connection: Connection, first_id: int) -> list[asyncpg.Record]:
    """Runs of the benchmark that did not come to a good end; some of them."""
    return await fetch(
        connection,
        "select id, state from mainspring.run_view where id >= $1 and state <> 'succeeded'"
        " limit 1000",
        first_id,
    )


async def count_runs(connection: Connection, first_id: int) -> int:
    count: int = await connection.fetchval(
        "select count(*) from mainspring.run_view where id >= $1", first_id
    )
    return count


# --- history ------------------------------------------------------------------------------

_FILL_BATCH = 250_000


async def fill_history(connection: Connection, dag: DagRow, count: int) -> None:
    """`count` finished runs of a one-task dag, as a system that has run for long would hold them.

    They get ids of their own from the sequence, an even spread over the past day, and tables that
    were vacuumed since: what is left is their sheer number.
    """
    assert len(dag.spec.tasks) == 1
    first = await reserve_stretch(connection, count)
    for start in range(first, first + count, _FILL_BATCH):
        end = min(start + _FILL_BATCH, first + count) - 1
        age_seconds = 86_400 * (1 - (start - first) / count) + 3_600
        await fetch(
            connection,
            _FILL,
            *(start, end, DEFAULT_TENANT, dag.id, dag.version_id, dag.snapshot_id, age_seconds),
        )
    await settle_history(connection)


# $1 first id  $2 last id  $3 tenant  $4 dag  $5 version  $6 snapshot  $7 how long ago, seconds
_FILL = """
with finished as materialized (
  select n as id, clock_timestamp() - $7::float8 * interval '1 second' as at
  from generate_series($1::bigint, $2::bigint) as n),
runs as (
  insert into mainspring.run_history (id, created_at, due_at, started_at, finished_at, tenant_id,
    dag_id, version_id, snapshot_id, trigger, state, tasks, failed_tasks, parameters)
  select id, at, at, at, at + interval '1 ms', $3, $4, $5, $6, 'manual', 'succeeded', 1, 0,
    convert_to('{"x":' || id % 1000 || '}', 'UTF8')
  from finished)
insert into mainspring.task_history (id, run_id, due_at, started_at, finished_at, tenant_id,
  version_id, node, index, lane, term, state, priority, attempt, lost, generation, result)
select f.id, f.id, at, at, at + interval '1 ms', $3, $5, n.number, 0, n.lane, 1, 'succeeded',
  n.priority, 1, 0, 1, convert_to((f.id % 1000)::text, 'UTF8')
from finished f join mainspring.node n on n.version_id = $5
"""
