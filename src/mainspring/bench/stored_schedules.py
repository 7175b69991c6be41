"""Schedules by the million: stored in bulk, set going, stopped, and what became of their fires.

They are what `schedule create` would have made, but copied: with a version, a shard, and a next
fire that lies beyond an instant of the benchmark's choosing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from mainspring.bench.lines import Line, interleaved
from mainspring.store.connection import Connection, fetch
from mainspring.store.dags import DagRow
from mainspring.store.runs import DEFAULT_TENANT
from mainspring.store.shards import shard_of

_BATCH = 100_000


class Stored(msgspec.Struct, frozen=True):
    """Neighbouring ids of schedules."""

    first_id: int
    count: int

    @property
    def last_id(self) -> int:
        return self.first_id + self.count - 1


class FireLag(msgspec.Struct, frozen=True):
    """How long after their nominal instants the tasks of fires started."""

    started: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    made_p99_ms: float
    """Until the run was made, which is the engine's part of it."""


async def store_schedules(
    connection: Connection, dag: DagRow, lines: Sequence[Line], begin: datetime
) -> Stored:
    """Schedules that fire from `begin` on."""
    count = sum(line.schedules for line in lines)
    first: int = await connection.fetchval(
        "select setval(seq, nextval(seq) + $1::bigint) - $1"
        " from pg_get_serial_sequence('mainspring.schedule', 'id') as seq",
        count,
    )
    made = dict.fromkeys(lines, b"")
    for line in made:
        made[line] = line.spec
    fires = {line: line.next_fire(begin) for line in made}
    before = begin - timedelta(seconds=1)
    rows = list(enumerate(interleaved(lines), first))
    for start in range(0, count, _BATCH):
        batch = rows[start : start + _BATCH]
        await _copy(
            connection,
            "schedule",
            "id tenant_id name dag_id version spec in_code",
            [(id, DEFAULT_TENANT, _name(id), dag.id, 1, made[line], False) for id, line in batch],
        )
        await _copy(
            connection,
            "schedule_version",
            "schedule_id number spec changed_by in_force_from",
            [(id, 1, made[line], "benchmark", before) for id, line in batch],
        )
        await _copy(
            connection,
            "schedule_state",
            "schedule_id tenant_id shard tracked alone next_fire_at cursor_at",
            [
                (id, DEFAULT_TENANT, shard_of(_name(id)), False, False, fires[line], before)
                for id, line in batch
            ],
        )
    for table in ("schedule", "schedule_version", "schedule_state"):
        await connection.execute(f"vacuum (analyze) mainspring.{table}")
    return Stored(first, count)


def _name(id: int) -> str:
    return f"bench-{id}"


async def _copy(
    connection: Connection, table: str, columns: str, records: list[tuple[object, ...]]
) -> None:
    await connection.copy_records_to_table(
        table, schema_name="mainspring", columns=columns.split(), records=records
    )


async def set_going(
    connection: Connection, stored: Stored, lines: Sequence[Line], begin: datetime
) -> None:
    """Let them fire from `begin` on, whatever they were to do before."""
    await fetch(
        connection,
        "update mainspring.schedule_state s"
        " set turn = s.turn + 1, next_fire_at = u.next_fire_at, cursor_at = $5"
        " from mainspring.schedule h"
        " join unnest($3::bytea[], $4::timestamptz[]) as u (spec, next_fire_at) on u.spec = h.spec"
        " where h.id = s.schedule_id and s.schedule_id between $1 and $2",
        stored.first_id,
        stored.last_id,
        [line.spec for line in lines],
        [line.next_fire(begin) for line in lines],
        begin - timedelta(seconds=1),
    )


async def are_behind(connection: Connection, stored: Stored, at: datetime) -> bool:
    """Whether some are still to fire for an instant before this one."""
    behind: bool = await connection.fetchval(
        "select exists (select 1 from mainspring.schedule_state"
        " where next_fire_at < $3 and schedule_id between $1 and $2)",
        stored.first_id,
        stored.last_id,
        at,
    )
    return behind


async def count_overdue(connection: Connection, stored: Stored, at: datetime) -> int:
    """How many were to fire before this instant, and have not."""
    count: int = await connection.fetchval(
        "select count(*) from mainspring.schedule_state"
        " where next_fire_at < $3 and schedule_id between $1 and $2",
        stored.first_id,
        stored.last_id,
        at,
    )
    return count


async def rest(connection: Connection, stored: Stored) -> None:
    """They stay, and fire no more."""
    for start in range(stored.first_id, stored.last_id + 1, _BATCH):
        await fetch(
            connection,
            "update mainspring.schedule_state set turn = turn + 1, next_fire_at = null"
            " where schedule_id between $1 and $2",
            start,
            min(start + _BATCH - 1, stored.last_id),
        )


async def count_fires(
    connection: Connection, stored: Stored, begin: datetime, end: datetime
) -> int:
    """What the ledger holds of them: those that made a run, for instants before `end`."""
    count: int = await connection.fetchval(
        "select count(*) from mainspring.fire where outcome = 'fired'"
        " and schedule_id between $1 and $2 and fire_at >= $3 and fire_at < $4",
        stored.first_id,
        stored.last_id,
        begin,
        end,
    )
    return count


async def fire_lag(
    connection: Connection, stored: Stored, begin: datetime, end: datetime
) -> FireLag | None:
    """Of those whose instants lie from `begin` up to `end`."""
    rows = await fetch(
        connection,
        "with made as materialized ("
        "  select id, created_at, fire_at from mainspring.run"
        "  where schedule_id between $1 and $2 and fire_at >= $3 and fire_at < $4"
        "  union all select id, created_at, fire_at from mainspring.run_history"
        "  where schedule_id between $1 and $2 and fire_at >= $3 and fire_at < $4)"
        " select count(*) as started,"
        "  percentile_cont(array[0.5, 0.99, 1]) within group (order by"
        "    extract(epoch from t.started_at - r.fire_at) * 1000) as lag,"
        "  percentile_cont(0.99) within group (order by"
        "    extract(epoch from r.created_at - r.fire_at) * 1000) as made"
        " from made r join mainspring.task_view t on t.run_id = r.id and t.started_at is not null",
        stored.first_id,
        stored.last_id,
        begin,
        end,
    )
    row = rows[0]
    if not row["started"]:
        return None
    p50, p99, most = (float(value) for value in row["lag"])
    return FireLag(row["started"], p50, p99, most, float(row["made"]))
